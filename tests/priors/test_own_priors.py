"""Priors of one's own: with two formulas, by name, ranked and compared beside those of the library."""

from __future__ import annotations

import numpy as np
import pytest

import localdp as ldp
from localdp import plots
from localdp.errors import FrequencyError, InvalidInputError
from localdp.priors import PRIORS, Noise, Observations, Predictive, prior_named, prior_of, rank, register
from localdp.registry import Registry

RETAIL = ldp.datasets.load("retail")


class LogNormal(ldp.ParametricFamily):
    """The logarithm of the frequencies is Gaussian. Theta: its mean, and the logarithm of its deviation."""

    name, parameter_count, first = "test-log-normal", 2, 1
    limits = ((-10.0, 20.0), (-2.0, 2.0))

    def log_shape(self, k, theta):
        return -np.log(k) - 0.5 * ((np.log(k) - theta[0]) / np.exp(theta[1])) ** 2

    def from_moments(self, observations):
        s2 = np.clip(np.log1p(observations.spread / observations.mean**2), 0.02, 50.0)
        return np.array([np.log(observations.mean) - s2 / 2, 0.5 * np.log(s2)]), ()


class PlainPowerLaw(ldp.PowerLaw):
    """The power law without its own derivatives, limits and names."""

    name = "test-plain"
    limits = ((0.0, 30.0),)
    gradient = ldp.ParametricFamily.gradient
    search = ldp.ParametricFamily.search
    describe = ldp.ParametricFamily.describe


@pytest.fixture(autouse=True)
def _registry(monkeypatch):
    """What a test registers is forgotten after it."""
    monkeypatch.setattr(ldp.priors, "_REGISTRY", Registry(ldp.Prior, set(PRIORS)))


@pytest.fixture(scope="module")
def estimate():
    return ldp.Plan(RETAIL.d, "oue", 4.0).simulate(RETAIL.frequencies, seed=1).estimate()


def test_the_defaults_find_what_formulas_find(estimate):
    by_formula, by_default = (estimate.calibrate(family, "mle").prior for family in (ldp.PowerLaw(), PlainPowerLaw()))
    assert by_default.parameters["theta0"] == pytest.approx(by_formula.parameters["alpha"], rel=1e-5)


def test_two_formulas_are_enough_and_worth_it(estimate):
    """The frequencies of Retail are closer to a log-normal distribution than to a power law."""
    own = estimate.calibrate(LogNormal(), "mle")
    paper = estimate.calibrate("power-law", "mle")
    assert ldp.metrics.estimation_error(own, RETAIL) < 0.95 * ldp.metrics.estimation_error(paper, RETAIL)
    assert estimate.goodness_of_fit(LogNormal(), replicates=9).p_value > 0.1


def test_a_registered_family_has_a_name(estimate):
    assert register(LogNormal) is LogNormal
    assert isinstance(prior_named("test-log-normal"), LogNormal)
    named, given = (estimate.calibrate(prior).frequencies for prior in ("test-log-normal", LogNormal()))
    assert np.array_equal(named, given)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (LogNormal(), "give the class LogNormal, not an object of it"),
        (ldp.Estimate, "expected a class that derives from localdp.Prior"),
        (ldp.ParametricFamily, "ParametricFamily is not complete: write from_moments, log_shape"),
        (type("Mine", (LogNormal,), {"name": "auto"}), "the name 'auto' belongs to the library: give Mine a name"),
        (type("Mine", (LogNormal,), {"name": "Log Normal"}), "Mine needs a name, such as"),
    ],
)
def test_what_cannot_be_registered_is_refused(kind, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        register(kind)


def test_a_prior_that_needs_arguments_says_so():
    class Needy(LogNormal):
        name = "test-needy"

        def __init__(self, scale):
            super().__init__()
            self.scale = scale

    register(Needy)
    for name, kind in (("test-needy", "Needy"), ("fixed", "Fixed"), ("opt-in", "OptIn")):
        with pytest.raises(InvalidInputError, match=rf"the prior '{name}' needs arguments: give {kind}\(\.\.\.\)"):
            prior_named(name)


@pytest.mark.parametrize(
    ("prior", "sentence"),
    [
        (LogNormal, r"LogNormal is a class: give an object of it, LogNormal\(\)"),
        (type("Nameless", (LogNormal,), {"name": None})(), "Nameless needs a name, such as name = "),
        (7, "a prior is a name such as 'auto', a family such as PowerLaw\\(\\) or a fitted prior, not 7"),
        ("log-normal", "there is no prior 'log-normal': choose from .*or give an object of a family of your own"),
    ],
)
def test_what_is_not_a_prior_is_refused(estimate, prior, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        prior_of(prior)
    with pytest.raises(InvalidInputError, match=sentence):
        estimate.calibrate(prior)
    with pytest.raises(InvalidInputError, match=sentence):
        estimate.rank_priors([prior])


def test_own_and_fitted_priors_are_ranked_with_the_others(estimate):
    fitted = estimate.calibrate("power-law", "mle").prior
    ranks = estimate.rank_priors([LogNormal(), "power-law", fitted, ldp.Gaussian()])
    assert [entry.name for entry in ranks] == ["test-log-normal", "power-law", "power-law", "gaussian"]
    assert ranks[1].prior is fitted
    own, known, paper = ranks[:3]
    size = np.log(RETAIL.d)
    assert own.log_likelihood - own.score == pytest.approx(size)
    assert known.log_likelihood == known.score
    assert paper.log_likelihood - paper.score == pytest.approx(0.5 * size)


def test_a_narrow_prior_of_ones_own_is_ranked_by_its_true_likelihood():
    """The same Gaussian distribution as a fitted prior of another class has the same likelihood."""
    truth = np.random.default_rng(0).normal(50_000, 30, 400).round()
    noise = Noise(100.0)
    seen = Observations(truth + np.random.default_rng(1).normal(0, 10, 400), noise, int(truth.sum()), None)
    gaussian = ldp.Gaussian().fit(seen, "mle")

    class Same(ldp.FittedPrior):
        def log_mass(self, k):
            return gaussian.log_mass(k)

        first = 0
        feature = gaussian.feature

    same = Same("same", gaussian.n)
    one, other = (entry.log_likelihood for entry in rank(seen, [gaussian, same]))
    assert one == pytest.approx(other, rel=1e-6)


def test_several_priors_are_compared_in_columns(estimate):
    table = estimate.compare([LogNormal(), "power-law", ldp.PowerLaw(mean="estimates")])
    assert list(table.columns) == [
        "item",
        "raw",
        "zeroed",
        "norm-sub",
        "test-log-normal",
        "power-law",
        "power-law 2",
    ]
    assert np.array_equal(table["power-law"], estimate.calibrate("power-law").frequencies)
    assert not np.array_equal(table["power-law"], table["power-law 2"])
    assert table.title.endswith("calibrated by test-log-normal, power-law, power-law 2")
    assert list(estimate.compare(LogNormal()).columns)[4:] == ["calibrated", "share", "low", "high"]


@pytest.mark.parametrize("method", ["compare", "rank_priors"])
@pytest.mark.parametrize(
    ("priors", "sentence"), [([], "the list of priors is empty"), (7, "priors are given as a list, not as 7")]
)
def test_a_list_that_is_none_is_refused(estimate, method, priors, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        getattr(estimate, method)(priors)


@pytest.mark.parametrize("prior", ["power-law", "gaussian", "smooth", "npmle", "monotone", "bulk", "auto", "own"])
def test_the_predicted_density_is_the_sum_over_all_frequencies(prior):
    truth = (600 / np.arange(1, 201)).astype(int)
    estimate = ldp.Plan(200, "oue", 5.0).simulate(truth, seed=1).estimate()
    calibrated = estimate.calibrate(LogNormal() if prior == "own" else prior)
    x = np.linspace(-5 * estimate.std_error, 700, 301)
    found = calibrated.predicted_density(x)
    k = np.arange(calibrated.prior.n + 1.0)
    if calibrated.prior.atoms is not None:
        k, logs = calibrated.prior.atoms
    else:
        logs = calibrated.prior.log_mass(np.maximum(k, calibrated.prior.first))
        logs[0] = calibrated.prior.zero if calibrated.prior.first else logs[0]
    variance = calibrated.noise.usable(estimate.n).variance_at(k)
    weights = np.exp(logs) / np.sqrt(2 * np.pi * variance)
    exact = np.array([weights @ np.exp(-0.5 * (point - k) ** 2 / variance) for point in x])
    assert found == pytest.approx(exact, rel=0.02, abs=1e-7)
    fine = np.arange(-8 * estimate.std_error, estimate.n, estimate.std_error / 4)
    assert np.trapezoid(calibrated.predicted_density(fine), fine) == pytest.approx(1, abs=2e-3)


def test_the_predicted_density_of_many_estimates_takes_little_memory(estimate):
    calibrated = estimate.calibrate("power-law")
    predictive = Predictive.of(calibrated.prior, calibrated.noise)
    points = np.linspace(-1_000, 60_000, 20_000)
    assert predictive.density(points)[::1_000].tolist() == predictive.density(points[::1_000]).tolist()
    assert predictive.density(np.zeros(0)).size == 0


@pytest.mark.parametrize("bad", [[np.nan], "x", [[1.0]]])
def test_a_density_is_asked_for_at_numbers(estimate, bad):
    with pytest.raises(FrequencyError, match=r"flat list|not a finite number"):
        estimate.calibrate("power-law").predicted_density(bad)


def test_the_prediction_is_drawn_over_the_estimates(estimate):
    calibrated = estimate.calibrate("power-law")
    axes = plots.plot_predicted(calibrated)
    plots.figure_of(axes).draw_without_rendering()
    (line,) = axes.lines
    assert line.get_ydata().tolist() == calibrated.predicted_density(line.get_xdata()).tolist()
    assert axes.get_legend_handles_labels()[1] == ["raw estimates", "predicted: power-law and noise"]
