"""The goodness-of-fit test: predictions against plain sums, false alarms under a true family, and power."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom

import localdp as ldp
from localdp.errors import InvalidInputError
from localdp.priors import Noise, Observations
from localdp.priors.fitting.predictive import Predictive

NOISE = Noise(40.0**2, 0.5)
N = 20_000
TRUE = {
    "power-law": ldp.PowerLaw().member(np.array([1.8]), N),
    "poisson": ldp.Poisson().member(np.array([np.log(100.0)]), N),
    "gaussian": ldp.Gaussian().member(np.array([-50.0, np.log(120.0)]), N),
    "laplace": ldp.Laplace().member(np.array([80.0, np.log(50.0)]), N),
}


def _survey(name, d, seed):
    frequencies, estimates = Predictive.of(TRUE[name], NOISE).draw(d, np.random.default_rng(seed))
    n = int(frequencies.sum())
    return ldp.Estimate(estimates, n=n, variance=NOISE.variance, excess_variance=NOISE.excess)


def _every_mass(prior):
    k = np.arange(prior.n + 1.0)
    if prior.atoms is not None:
        return k, np.exp(prior.log_mass(k))
    mass = np.exp(prior.log_mass(np.maximum(k, prior.first)))
    if prior.first > 0:
        mass[0] = np.exp(prior.zero)
    return k, mass


def _fitted(name):
    truth = np.minimum(np.random.default_rng(0).zipf(1.7, 800), N // 4)
    estimates = truth + np.random.default_rng(1).normal(0, 20, truth.size)
    return ldp.priors.prior_named(name).fit(Observations.usable(estimates, Noise(400.0), N, N))


@pytest.mark.parametrize("deviation", [0.5, 20.0, 300.0])
@pytest.mark.parametrize("name", [*TRUE, "smooth", "monotone", "npmle"])
def test_predicted_distribution_is_the_plain_sum(name, deviation):
    prior = TRUE.get(name) or _fitted(name)
    noise = Noise(deviation**2, 0.5)
    k, mass = _every_mass(prior)
    x = np.quantile(Predictive.of(prior, noise).draw(2_000, np.random.default_rng(2))[1], np.linspace(0.01, 0.99, 25))
    exact = np.array([mass @ ndtr((at - k) / np.sqrt(noise.variance_at(k))) for at in x])
    assert Predictive.of(prior, noise).cdf(x) == pytest.approx(exact, abs=1e-4 if deviation > 1 else 3e-4)


@pytest.mark.parametrize("name", [*TRUE, "smooth", "npmle"])
def test_drawn_frequencies_have_the_prior_as_their_distribution(name):
    """Shares of 100,000 draws in ten ranges, within five standard errors: false alarm about 1e-5 in 60 comparisons."""
    prior = TRUE.get(name) or _fitted(name)
    k, mass = _every_mass(prior)
    drawn, estimates = Predictive.of(prior, NOISE).draw(100_000, np.random.default_rng(3))
    assert (drawn == np.round(drawn)).all()
    total = np.cumsum(mass)
    for level in np.linspace(0.05, 0.95, 10):
        limit = k[np.searchsorted(total, level)]
        share = total[int(limit)]
        assert np.mean(drawn <= limit) == pytest.approx(share, abs=5 * np.sqrt(share * (1 - share) / 1e5) + 2e-4)
    standard = (estimates - drawn) / np.sqrt(NOISE.variance_at(drawn))
    assert standard.std() == pytest.approx(1, abs=5 / np.sqrt(2e5))


def _shares(name, method, surveys, d=300, replicates=19):
    """How many of the p-values under a true family are at most 0.2, and at most 0.5."""
    family = ldp.priors.prior_named(name)
    found = [
        _survey(name, d, 100 + seed).goodness_of_fit(family, method, replicates=replicates, seed=seed).p_value
        for seed in range(surveys)
    ]
    return [sum(value <= limit + 1e-9 for value in found) for limit in (0.2, 0.5)]


@pytest.mark.parametrize(
    ("name", "method", "surveys"),
    [
        ("power-law", "mean-variance", 40),
        ("poisson", "mean-variance", 40),
        pytest.param("gaussian", "mean-variance", 60, marks=pytest.mark.slow),
        pytest.param("laplace", "mean-variance", 60, marks=pytest.mark.slow),
        pytest.param("power-law", "mle", 40, marks=pytest.mark.slow),
    ],
)
def test_p_values_are_uniform_under_a_true_family(name, method, surveys):
    """With 19 replicates exactly a fifth and a half of the p-values are expected at or below 0.2 and 0.5.

    The counts are binomial; each is allowed what has a probability of 1e-6 on either side.
    """
    for count, level in zip(_shares(name, method, surveys), (0.2, 0.5), strict=True):
        assert binom.ppf(1e-6, surveys, level) <= count <= binom.ppf(1 - 1e-6, surveys, level)


@pytest.mark.parametrize(
    ("true", "wrong"),
    [("power-law", "poisson"), ("power-law", "gaussian"), ("power-law", "laplace"), ("gaussian", "power-law")],
)
def test_a_wrong_family_is_rejected(true, wrong):
    found = _survey(true, 3_000, 5).goodness_of_fit(wrong, replicates=19)
    assert found.p_value == pytest.approx(0.05)
    assert found.family == wrong
    assert "does not explain the estimates" in str(found)
    assert "0 of 19 simulated surveys" in str(found)


def test_retail_is_no_poisson_at_epsilon_one_and_no_power_law_at_epsilon_four():
    """At epsilon 1 only the largest items tell: the rest of the estimates are as good as noise alone."""
    retail = ldp.datasets.load("retail")
    for epsilon, wrong in ((1.0, "poisson"), (4.0, "power-law")):
        estimate = ldp.Plan(retail.d, "oue", epsilon).simulate(retail.frequencies, seed=1).estimate()
        assert estimate.goodness_of_fit(wrong, replicates=19).p_value == pytest.approx(0.05)
        assert estimate.goodness_of_fit(ldp.Fixed(retail.frequencies), replicates=19).p_value > 0.05


def test_a_true_prior_that_was_known_is_accepted_and_a_known_wrong_one_rejected():
    survey = _survey("poisson", 2_000, 7)
    assert survey.goodness_of_fit(TRUE["poisson"], replicates=39).p_value > 0.05
    shifted = ldp.Poisson().member(np.array([np.log(110.0)]), N)
    assert survey.goodness_of_fit(shifted, replicates=39).p_value == pytest.approx(1 / 40)


def test_the_result_is_reproducible_and_progress_is_told():
    survey, seen = _survey("poisson", 400, 8), []
    once = survey.goodness_of_fit(
        "poisson", seed=3, replicates=9, progress=lambda done, total: seen.append((done, total))
    )
    again = survey.goodness_of_fit("poisson", seed=3, replicates=9)
    assert (once.statistic, once.p_value) == (again.statistic, again.p_value)
    assert seen == [(done, 9) for done in range(1, 10)]
    assert "poisson (mean-variance) does not contradict the estimates" in str(once)


def test_every_simulated_survey_is_fitted_anew_with_its_own_users():
    seen = []

    class Watched(ldp.Poisson):
        def fit_observations(self, observations, method):
            seen.append((observations.n, method))
            return super().fit_observations(observations, method)

    survey = _survey("poisson", 400, 10)
    survey.goodness_of_fit(Watched(), "mle", replicates=9)
    assert len(seen) == 10
    assert seen[0] == (survey.n, "mle")
    assert len(set(seen)) > 5  # the simulated surveys have other numbers of users


def test_what_cannot_be_tested_is_refused():
    survey = _survey("poisson", 400, 9)
    with pytest.raises(InvalidInputError, match="test the unbiased estimates"):
        survey.zeroed().goodness_of_fit("poisson")
    with pytest.raises(InvalidInputError, match="it takes no method"):
        survey.goodness_of_fit(TRUE["poisson"], "mle")
    with pytest.raises(InvalidInputError, match="the number of simulated surveys must be a whole number from 1"):
        survey.goodness_of_fit("poisson", replicates=0)
    with pytest.raises(InvalidInputError, match="a prior is a name"):
        survey.goodness_of_fit(3)


def test_power_is_high_against_what_is_far_away_and_the_level_against_itself():
    """Of 79 surveys, 16 or more are rejected at 5% with a probability below 1e-6."""
    survey = _survey("poisson", 300, 1)
    far = survey.goodness_of_fit("poisson", against="power-law", replicates=79)
    assert far.power == 1.0
    assert str(far).endswith("; it would notice power-law in 100% of such surveys")
    same = survey.goodness_of_fit("poisson", against="poisson", replicates=79)
    assert same.power < 16 / 79
    assert same.p_value == far.p_value == survey.goodness_of_fit("poisson", replicates=79).p_value
