"""Opted-in users and private answers combined: no bias, the stated variance, and better than either part alone."""

from __future__ import annotations

import numpy as np
import pytest

import localdp as ldp
from localdp.errors import FrequencyError, InvalidInputError
from localdp.estimate.combined import Combined
from localdp.priors import Noise
from localdp.priors.hybrid import Hybrid

TRIALS = 100_000
SETTINGS = {"much noise": (3.3e6, 0.1), "some noise": (69_000.0, 0.5), "little noise": (900.0, -0.2)}


def _trials(f, hybrid, seed=0):
    """Combined estimates of an item with the frequency f, in many surveys with other users who opt in."""
    rng = np.random.default_rng(seed)
    counts = rng.hypergeometric(f, hybrid.total - f, hybrid.m, TRIALS).astype(float)
    deviation = np.sqrt(hybrid.noise.variance_at(f - counts))
    return counts, hybrid.combine(counts, f - counts + deviation * rng.standard_normal(TRIALS))


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("unseen", [0.5, 0.1])
@pytest.mark.parametrize("f", [1, 30, 1_000, 40_000])
def test_there_is_no_bias_and_the_variance_is_the_stated_one(setting, unseen, f):
    """Five standard errors for the mean (false alarm 6e-7 each); the variance within 8%, since its tails are heavy."""
    hybrid = Hybrid(891_000, 9_000, Noise(*SETTINGS[setting]), unseen)
    _, found = _trials(f, hybrid)
    assert found.mean() == pytest.approx(f, abs=5 * found.std() / np.sqrt(TRIALS))
    assert hybrid.variance(f) == pytest.approx(found.var(), rel=0.08)
    assert hybrid.combined_noise().variance_at(np.array(float(f))) == pytest.approx(found.var(), rel=0.1)


def test_weights_from_the_items_own_count_would_be_biased():
    """What the leave-one-out weights avoid: with the plain weight w(c), the same frequency is underestimated."""
    hybrid, f = Hybrid(891_000, 9_000, Noise(3_000.0)), 300
    counts, found = _trials(f, hybrid)
    private = (found - counts - hybrid.weight(np.maximum(counts - 1, 0)) * hybrid.n * counts / hybrid.m) / (
        1 - hybrid._mean_weight(counts)
    )
    weight = hybrid.weight(counts)
    plain = counts + (1 - weight) * private + weight * hybrid.n * counts / hybrid.m
    error = found.std() / np.sqrt(TRIALS)
    assert found.mean() == pytest.approx(f, abs=5 * error)
    assert plain.mean() < f - 20 * error


@pytest.mark.parametrize("f", [300, 1_000, 10_000])
def test_the_variance_is_below_that_of_either_part(f):
    hybrid = Hybrid(891_000, 9_000, Noise(69_000.0), 0.1)
    counts, found = _trials(f, hybrid)
    sample = counts * hybrid.total / hybrid.m
    assert found.var() < 0.99 * sample.var()
    assert found.var() < 0.99 * hybrid.noise.variance
    ideal = 1 / (1 / sample.var() + 1 / hybrid.noise.variance)
    assert found.var() < 1.1 * ideal


def _retail(epsilon, share=0.01, seed=1):
    retail = ldp.datasets.load("retail")
    rng = np.random.default_rng(seed)
    counts = rng.multivariate_hypergeometric(retail.frequencies, int(share * retail.n), method="marginals")
    plan = ldp.Plan(retail.d, "oue", epsilon)
    return retail, counts, plan.simulate(retail.frequencies - counts, seed=seed).estimate()


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_retail_is_estimated_better_than_by_either_part_and_intervals_cover(epsilon):
    retail, counts, private = _retail(epsilon)
    both = private.combine(counts)
    assert both.n == retail.n

    def error(found):
        return ldp.metrics.estimation_error(found, retail.frequencies)

    assert error(both.frequencies) < 0.99 * error(counts * retail.n / counts.sum())
    assert error(both.frequencies) < 0.5 * error(private.frequencies + counts)
    calibrated = both.calibrate()
    assert error(calibrated.frequencies) < 0.9 * error(both.frequencies)
    assert error(calibrated.frequencies) < 0.6 * error(private.calibrate().frequencies)
    low, high = calibrated.interval(0.9)
    assert np.mean((low <= retail.frequencies) & (retail.frequencies <= high)) == pytest.approx(0.9, abs=0.03)


def test_other_priors_are_fitted_to_the_private_answers():
    _, counts, private = _retail(4.0)
    both = private.combine(counts)
    shifted = ldp.Estimate(
        private.frequencies + counts, n=both.n, variance=private.variance, excess_variance=private.excess_variance
    )
    assert both.calibrate().prior.name == "opt-in"
    for prior, method in (("power-law", "mle"), ("laplace", None), ("smooth", None)):
        found, expected = (one.calibrate(prior, method).prior for one in (both, shifted))
        assert found.parameters == expected.parameters
    again = both.calibrate(both.calibrate("power-law").prior)
    assert again.prior.name == "power-law"
    assert both.goodness_of_fit("poisson", replicates=9).p_value == pytest.approx(0.1)


def test_without_noise_the_private_answers_decide_and_with_infinite_noise_the_others():
    counts = np.array([10, 0, 30])
    exact = ldp.Estimate([100.0, 5.0, 295.0], n=400, variance=0.0).combine(counts)
    assert exact.frequencies == pytest.approx([110, 5, 325])
    for variance in (1e300, np.inf):
        blind = ldp.Estimate([900.0, -900.0, 400.0], n=400, variance=variance).combine(counts)
        assert blind.frequencies == pytest.approx([110, 0, 330], abs=1e-3)
        assert np.isfinite(blind.calibrate().frequencies).all()


def test_noise_that_only_frequent_items_have_is_not_neglected():
    both = ldp.Estimate([5e5, 3e5, 2e5], n=10**6, variance=0.0, excess_variance=1.0).combine([5, 4, 3])
    calibrated = both.calibrate()
    assert calibrated.std == pytest.approx(both.std_error_at(both.frequencies), rel=0.05)


def test_intervals_and_processing_use_the_combined_uncertainty():
    _, counts, private = _retail(4.0)
    both = private.combine(counts)
    low, high = both.interval(0.9)
    largest = int(np.argmax(both.frequencies))
    assert high[largest] - low[largest] < 4 * both.std_error_at(both.frequencies[largest])
    assert both.std_error_at([0.0])[0] == pytest.approx(both.std_error)
    zeroed = both.zeroed()
    assert isinstance(zeroed, Combined)
    assert (zeroed.frequencies >= 0).all()
    with pytest.raises(InvalidInputError, match="no longer frequencies plus noise"):
        zeroed.calibrate()
    assert repr(both).endswith("9085 of whom opted in>")


def test_what_cannot_be_combined_is_refused():
    estimate = ldp.Estimate([100.0, 5.0, 295.0], n=400, variance=25.0)
    with pytest.raises(FrequencyError, match="2 counts of opted-in users were given for 3 items"):
        estimate.combine([1, 2])
    with pytest.raises(FrequencyError, match="one count of opted-in users for each item"):
        estimate.combine([1, -2, 3])
    with pytest.raises(InvalidInputError, match="only unbiased estimates of private answers"):
        estimate.zeroed().combine([1, 2, 3])
    with pytest.raises(InvalidInputError, match="only unbiased estimates of private answers"):
        estimate.combine([1, 2, 3]).combine([1, 2, 3])
