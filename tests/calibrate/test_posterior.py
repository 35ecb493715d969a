"""Calibrated frequencies: what the posterior gives, and that no input breaks it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import localdp as ldp
from localdp.calibrate.posterior import Posterior
from localdp.errors import FrequencyError, InvalidInputError
from localdp.priors import Noise

RETAIL = ldp.datasets.load("retail").frequencies
PRIORS = ("power-law", "gaussian", "laplace", "poisson", "smooth", "bulk", "monotone", "npmle", "auto")

# Made-up estimates contradict their total or their noise. They are computed with all the same.
doubtful = pytest.mark.filterwarnings("ignore::localdp.errors.DoubtfulEstimateWarning")


@pytest.fixture(scope="module")
def estimate():
    return ldp.Plan(RETAIL.size, "oue", 4.0).simulate(RETAIL, seed=1).estimate()


@pytest.fixture(scope="module")
def calibrated(estimate):
    return estimate.calibrate()


def test_a_fitted_prior_is_used_as_it_is(estimate, calibrated):
    again = estimate.calibrate(calibrated.prior)
    assert again.prior is calibrated.prior
    assert np.array_equal(again.frequencies, calibrated.frequencies)


def test_posterior_is_that_of_a_tiny_case_by_hand():
    """Two atoms, Gaussian noise: Bayes' rule in one line."""
    estimate = ldp.Estimate([30.0, 60.0], n=100, variance=400.0)
    found = estimate.calibrate(ldp.Fixed([20, 80], probabilities=[0.75, 0.25]))
    weights = np.array([[0.75, 0.25]]) * np.exp(-((np.array([[30.0], [60.0]]) - [20, 80]) ** 2) / 800)
    weights /= weights.sum(axis=1, keepdims=True)
    assert found.frequencies == pytest.approx(weights @ [20, 80])
    assert found.std == pytest.approx(60 * np.sqrt(weights[:, 0] * weights[:, 1]))
    assert found.probability_above(20) == pytest.approx(weights[:, 1])
    assert found.probability_above(19) == pytest.approx([1, 1])
    assert found.probability_above(80) == pytest.approx([0, 0])
    assert found.quantile(0.999999).tolist() == [80, 80]


def test_intervals_cover_and_deviations_are_those_of_the_errors(calibrated):
    low, high = calibrated.interval(0.9)
    assert 0.86 <= np.mean((low <= RETAIL) & (high >= RETAIL)) <= 0.94
    assert (low <= high).all()
    standard = (calibrated.frequencies - RETAIL) / np.maximum(calibrated.std, 1e-9)
    assert np.sqrt(np.mean(standard**2)) == pytest.approx(1, abs=0.15)
    wider_low, wider_high = calibrated.interval(0.99)
    assert (wider_high - wider_low >= high - low - 1).all()


def test_probabilities_mean_what_they_say(calibrated):
    """Among items given 20 to 80% to be above 150, that share is; and probabilities fall with the threshold."""
    probability = calibrated.probability_above(150)
    assert (probability >= calibrated.probability_above(300) - 1e-9).all()
    for low, high in ((0.2, 0.5), (0.5, 0.8), (0.8, 1.0)):
        some = (probability >= low) & (probability < high)
        assert np.mean(RETAIL[some] > 150) == pytest.approx(probability[some].mean(), abs=0.12)


@doubtful
@pytest.mark.parametrize("deviation", [2.2, 4.0, 20.0])
@pytest.mark.parametrize("centre", [2000, 3000, 50_000])
def test_probabilities_of_large_frequencies_are_those_of_the_plain_sum(centre, deviation):
    """Far out, nodes are no whole numbers: those between the limit and the next one belong to neither side."""
    n, estimates = 100_000, np.array([centre - deviation, centre + 0.3, centre + deviation])
    prior = ldp.Estimate(estimates, n=n, variance=deviation**2, total=None).calibrate("power-law").prior
    found = Posterior(prior, Noise(deviation**2), estimates).probability_above(centre)
    k = np.arange(max(1, centre - 400), min(n, centre + 400))
    logs = prior.log_mass(k.astype(float)) - (estimates[:, None] - k) ** 2 / (2 * deviation**2)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    expected = (weights * (k > centre)).sum(axis=1) / weights.sum(axis=1)
    steepest = 0.242 / deviation**2  # of a normal density; a sum up to a whole number is not quite the integral
    assert found == pytest.approx(expected, abs=2e-4 + steepest / 24)


def test_quantiles_are_ordered(calibrated):
    low, middle, high = (calibrated.quantile(level) for level in (0.1, 0.5, 0.9))
    assert (low <= middle).all()
    assert (middle <= high).all()


@pytest.mark.parametrize("level", [0, 1, -0.5, 2, float("nan"), "x"])
def test_levels_are_probabilities(calibrated, level):
    for ask in (calibrated.interval, calibrated.quantile):
        with pytest.raises(InvalidInputError, match="a level is a probability between 0 and 1"):
            ask(level)


@pytest.mark.parametrize("threshold", [float("nan"), "x", None])
def test_thresholds_are_numbers(calibrated, threshold):
    with pytest.raises(InvalidInputError, match="a threshold is a number of users"):
        calibrated.probability_above(threshold)


def test_results_cannot_be_changed_and_say_what_they_are(calibrated):
    with pytest.raises(ValueError, match="read-only"):
        calibrated.frequencies[0] = 1
    with pytest.raises(AttributeError, match="cannot assign to field 'n'"):
        calibrated.n = 1
    assert "smooth" in repr(calibrated)


def test_appended_to_other_software(estimate):
    theirs = ldp.Estimate(estimate.frequencies, n=estimate.n, variance=estimate.variance)
    error = np.mean((theirs.calibrate().frequencies - RETAIL) ** 2)
    assert error < 0.2 * np.mean((theirs.frequencies - RETAIL) ** 2)


def test_not_a_number_is_refused_by_name():
    with pytest.raises(FrequencyError, match="item 2"):
        ldp.Estimate([1.0, 2.0, float("nan")], n=5, variance=1.0)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("epsilon", [1e-3, 12.0])
def test_extreme_budgets(prior, epsilon):
    truth = np.random.default_rng(0).zipf(1.5, 300).clip(0, 10_000)
    found = ldp.Plan(300, "oue", epsilon).simulate(truth, seed=1).estimate().calibrate(prior)
    _check(found)


CASES = {
    "all negative": (np.full(50, -30.0), 100, 25.0),
    "far below zero": (np.full(50, -1e6), 100, 25.0),
    "beyond n": (np.linspace(0, 1e7, 50), 100, 25.0),
    "mean below 1": (np.linspace(-20, 20, 50), 10, 25.0),
    "no noise": (np.arange(50.0), 1225, 0.0),
    "denormal noise": (np.arange(50.0), 1225, 5e-324),
    "boundless noise": (np.arange(50.0), 1225, np.inf),
    "enormous noise": (np.arange(50.0), 1225, 1e300),
    "more items than users": (np.linspace(-3, 6, 50), 20, 9.0),
    "two items": (np.array([3.0, 40.0]), 43, 9.0),
    "one user": (np.array([3.0, 40.0]), 1, 9.0),
    "one item holds everyone": (np.append(np.zeros(49), 1e6), 10**6, 1e4),
    "all equal": (np.full(50, 7.0), 350, 4.0),
    "huge n": (np.arange(50.0), 2**53 - 1, 1e15),
    "tiny noise, wide range": (np.linspace(0, 1e5, 50), 10**6, 1e-3),
}


@doubtful
@pytest.mark.parametrize("total", ["n", None], ids=["known total", "unknown total"])
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("case", CASES)
def test_edges(prior, case, total):
    values, n, variance = CASES[case]
    _check(ldp.Estimate(values, n=n, variance=variance, total=total).calibrate(prior))


@doubtful
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=40),
    st.integers(1, 10**7),
    st.one_of(st.floats(0, 1e12), st.sampled_from([0.0, 5e-324, np.inf])),
    st.floats(-0.5, 3),
    st.sampled_from(PRIORS),
)
def test_nothing_breaks_calibrate(values, n, variance, excess, prior):
    _check(ldp.Estimate(values, n=n, variance=variance, excess_variance=excess).calibrate(prior))


def _check(found):
    low, high = found.interval(0.9)
    for values in (found.frequencies, found.std, low, high, found.probability_above(5), found.quantile(0.5)):
        assert np.isfinite(values).all()
        assert (values >= 0).all()
    assert (found.frequencies <= found.prior.n * (1 + 1e-9)).all()
    assert (low <= high).all()
    rises = np.diff(found.frequencies[np.argsort(found.estimates)])
    assert (rises >= -1e-3 * max(1.0, found.frequencies.max())).all()


@pytest.mark.parametrize("alpha", [2.0, 12.0, 30.0])
def test_steep_priors_pull_from_far_away(alpha):
    """At 13 deviations a steep power law still says 1; whichever other items are asked about at the same time."""
    n = 30_000
    prior = ldp.PowerLaw().member(np.array([alpha]), n)
    k = np.arange(1.0, n + 1)
    for x in (13 * 300.0, 5 * 300.0):
        logs = prior.log_mass(k) - 0.5 * ((x - k) / 300) ** 2
        weights = np.exp(logs - logs.max())
        found = Posterior(prior, Noise(300.0**2), np.array([x, x])).means()
        assert found == pytest.approx((weights @ k) / weights.sum(), rel=1e-6)


@doubtful
@pytest.mark.parametrize("prior", ["smooth", "bulk", "monotone", "npmle", "auto"])
def test_growing_noise_never_makes_a_negative_estimate_frequent(prior):
    truth = np.random.default_rng(0).zipf(1.7, 400).clip(0, 2000)
    values = np.append(truth + np.random.default_rng(1).normal(0, 1, 400), [-5.0, -10.0, -20.0, -50.0])
    found = ldp.Estimate(values, n=20_000, variance=1.0, excess_variance=1.0).calibrate(prior)
    order = np.argsort(values)
    assert (np.diff(found.frequencies[order]) > -1e-3).all()


def test_noise_of_frequent_items_alone_is_noise_too():
    """Variance 0 for items nobody holds, f for the others: binomial thinning."""
    truth = np.random.default_rng(0).zipf(1.6, 2000).clip(0, 5000)
    counts = np.random.default_rng(1).binomial(truth, 0.5)
    found = ldp.Estimate.from_counts(counts, n=int(truth.sum()), p_star=0.5, q_star=0.0).calibrate()
    assert found.std.max() > 1
    low, high = found.interval(0.9)
    assert np.mean((low <= truth) & (truth <= high)) > 0.8


def test_deviations_do_not_cancel():
    truth = np.array([1e9, 5e8, 3e8])
    values = np.append(truth, np.zeros(50))
    found = ldp.Estimate(values, n=2 * 10**9, variance=4.0, total=None).calibrate("smooth")
    assert found.std[:3] == pytest.approx([2, 2, 2], rel=0.05)


@pytest.mark.parametrize("prior", ["power-law", "smooth", "bulk", "npmle", "monotone", "auto"])
@pytest.mark.parametrize("size", [40, 5000])
def test_quantiles_and_intervals_are_those_of_the_plain_sum(prior, size):
    n, deviation = 3000, 120.0
    rng = np.random.default_rng(0)
    truth = (rng.pareto(1.0, size) * 10).clip(0, 2900).round()
    values = truth + rng.normal(0, deviation, size)
    found = ldp.Estimate(values, n=n, variance=deviation**2, total=None).calibrate(prior)
    fitted, k = found.prior, np.arange(n + 1.0)
    logs = fitted.log_mass(k) if fitted.atoms is not None else fitted.log_mass(np.maximum(k, fitted.first))
    if fitted.atoms is None and fitted.first > 0:
        logs[0] = fitted.zero
    some = rng.choice(size, 40, replace=False)
    logs = logs - 0.5 * ((values[some, None] - k) / deviation) ** 2
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    totals = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    low, high = (side[some].astype(int) for side in found.interval(0.9))
    held = totals[np.arange(40), high] - np.where(low > 0, totals[np.arange(40), np.maximum(low - 1, 0)], 0)
    assert held.min() > 0.87
    quantiles = found.quantile(0.7)[some].astype(int)
    reached = totals[np.arange(40), np.minimum(quantiles + 6, n)]
    before = np.where(quantiles >= 6, totals[np.arange(40), np.maximum(quantiles - 6, 0)], 0)
    assert (reached >= 0.7 - 1e-6).all()
    if fitted.atoms is None:
        assert (before <= 0.72).all()


@pytest.mark.parametrize("prior", [None, ldp.Fixed([0, 40])])
def test_no_bound_is_a_negative_zero(prior):
    """It would be printed as -0. Rounding up a number just below 0, or rounding -0.3, gives one."""
    estimate = ldp.Estimate([-0.3, -3.0, 40.0], n=40, variance=4.0)
    found = estimate if prior is None else estimate.calibrate(prior)
    for bounds in (*found.interval(0.9), found.quantile(0.3), found.quantile(0.5), found.quantile(0.7)):
        assert not np.signbit(bounds).any()
    assert found.quantile(0.5)[:2].tolist() == [0.0, 0.0]


@doubtful
def test_estimates_beyond_n_stay_inside():
    values = np.append(np.zeros(300), [6_000.0, 1e12])
    for prior in PRIORS:
        found = ldp.Estimate(values, n=3000, variance=2500.0).calibrate(prior)
        assert found.frequencies.max() <= 3000


def test_fitted_priors_cannot_be_changed(calibrated, estimate):
    for prior in (calibrated.prior, estimate.calibrate("npmle").prior):
        arrays = [value for value in vars(prior).values() if isinstance(value, np.ndarray)]
        assert arrays
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array.flat[0] = 7


def test_opted_in_users_must_fit_the_population():
    estimate = ldp.Estimate([5.0, 6.0, 4.0], n=15, variance=1.0)
    for counts in ([1] * 8, [400, 1, 0]):
        with pytest.raises(FrequencyError, match="opted-in"):
            estimate.calibrate(ldp.OptIn(counts))


def test_only_a_lower_end_of_one_becomes_zero():
    """Where noise is small, items with four holders are told from items with none, and their intervals say so."""
    estimates = np.append(np.zeros(60), np.full(60, 4.0))
    low, high = ldp.Estimate(estimates, n=1_000, variance=0.3, total=None).calibrate("npmle").interval(0.9)
    assert (low[:60] == 0).all()
    assert ((low[60:] >= 2) & (low[60:] <= 4)).all()
    assert (high[60:] <= 6).all()
