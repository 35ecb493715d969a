"""Estimates with a variance for each item: what is checked, what they answer, and that the answers are right."""

from __future__ import annotations

import numpy as np
import pytest

import localdp as ldp
from localdp import plots
from localdp.errors import DoubtfulEstimateWarning, InvalidInputError
from localdp.estimate.thresholds import shared_threshold, significance_threshold
from localdp.priors import PowerLaw

N = 20_000
FAMILIES = ("power-law", "gaussian", "laplace", "poisson", "smooth", "bulk", "monotone", "npmle", "auto")


def _survey(seed, d=400, kind="two"):
    """Frequencies of a power law, the variances of their noise, and their estimates."""
    rng = np.random.default_rng(seed)
    mass = np.arange(1, N + 1) ** -1.7
    truth = rng.choice(np.arange(1, N + 1), d, p=mass / mass.sum())
    variances = np.array([25.0, 10_000.0])[rng.integers(0, 2, d)] if kind == "two" else np.exp(rng.normal(6, 1, d))
    return truth, variances, truth + rng.normal(0, np.sqrt(variances))


def _answers(estimate, prior):
    found = estimate.calibrate(prior)
    hits, best = found.heavy_hitters(40, fdr=0.1), found.top(5)
    return [
        found.frequencies,
        found.std,
        *found.interval(0.8),
        found.quantile(0.3),
        found.probability_above(30),
        hits.indices,
        best.probabilities,
        np.array(found.group({"some": [0, 1, 2]}).columns["high"]),
        found.zeroed().frequencies,
    ]


@pytest.mark.parametrize("prior", FAMILIES)
def test_equal_variances_give_exactly_what_one_variance_gives(prior):
    truth, _, _ = _survey(1)
    estimates = truth + np.random.default_rng(2).normal(0, 12.0, truth.size)
    n = int(truth.sum())
    one = ldp.Estimate(estimates, n=n, variance=144.1, excess_variance=0.3)
    each = ldp.Estimate(estimates, n=n, variance=np.full(truth.size, 144.1), excess_variance=0.3)
    for alone, array in zip(_answers(one, prior), _answers(each, prior), strict=True):
        assert np.array_equal(alone, array)


def test_raw_answers_use_the_noise_of_every_item():
    est = ldp.Estimate([30.0, 30.0, -40.0], n=100, variance=[4.0, 100.0, 900.0], excess_variance=0.5, total=None)
    assert est.std_errors.tolist() == [2, 10, 30]
    assert est.std_error == pytest.approx(np.sqrt(1004 / 3))
    assert est.std_error_at([0, 10, 20]) == pytest.approx(np.sqrt([4, 105, 910]))
    assert est.std_error_at(8) == pytest.approx(np.sqrt([8, 104, 904]))
    low, high = est.interval(0.9)
    reach = 1.6449 * np.sqrt([19, 115, 900])
    assert low == pytest.approx(np.maximum(est.frequencies - reach, 0).round())
    assert high == pytest.approx(np.clip(est.frequencies + reach, 0, 100).round())
    # Phi of the distance from 25.5 over the deviations of items with 25.5 holders.
    assert est.probability_above(25) == pytest.approx([0.8642, 0.6641, 0.0151], abs=2e-4)
    assert est.group({"two": [0, 1]}).columns["high"][0] == pytest.approx(60 + 1.6449 * np.sqrt(134), abs=1)
    assert repr(est) == "<Estimate of 3 items among 100 users, standard errors from 2 to 30>"
    with pytest.raises(ValueError, match="read-only"):
        est.variance[0] = 1.0


def test_thresholds_of_items_and_the_one_that_all_share():
    est = ldp.Estimate(np.zeros(100), n=1_000, variance=np.repeat([1.0, 36.0], 50), total=None)
    shared = est.significance_threshold(0.05)
    assert shared == pytest.approx(significance_threshold(6.0, 50, 0.05))  # the exact items count for nothing there
    fives = ldp.Estimate(np.full(100, 5.0), n=1_000, variance=est.variance, total=None)
    assert np.array_equal(fives.zeroed().frequencies, np.repeat([5.0, 0.0], 50))
    assert np.array_equal(fives.project("base-cut").frequencies, np.repeat([5.0, 0.0], 50))
    assert fives.heavy_hitters().threshold == shared
    similar = shared_threshold(np.repeat([5.0, 6.0], 50), 100)
    assert significance_threshold(6.0, 50) < similar < significance_threshold(6.0, 100)
    assert shared_threshold(np.full(100, 3.0), 100) == pytest.approx(significance_threshold(3.0, 100), rel=1e-12)
    assert shared_threshold(np.array([5.0, 5e-9]), 2, 0.1) == pytest.approx(5 * 1.28155, rel=1e-5)


def test_items_without_holders_stay_below_the_threshold_as_often_as_stated():
    """2,000 surveys with at most 5% above: five deviations of 0.5%."""
    deviations = np.exp(np.random.default_rng(3).normal(0, 1, 200))
    limit = shared_threshold(deviations, 200, 0.05)
    noise = np.random.default_rng(4).normal(0, deviations, (2_000, 200))
    assert 0.05 * 0.97 - 0.025 < np.mean((noise > limit).any(axis=1)) < 0.05 + 0.025
    own = significance_threshold(1.0, 200, 0.05) * deviations
    assert np.mean((noise > own).any(axis=1)) < 0.05 + 0.025


@pytest.mark.parametrize(
    ("variance", "reason"),
    [
        ([1.0, 2.0], "one for each of the 3 items, but 2 were given"),
        (np.ones((3, 1)), r"but an array of shape \(3, 1\) was given"),
        ([], "but 0 were given"),
        ([1.0, 0.0, 2.0], "the variance of item 1 is 0.0: every item needs a finite variance above 0"),
        ([1.0, -2.0, 2.0], "item 1 is -2.0"),
        ([np.inf, 1.0, 2.0], "item 0 is inf"),
        ((1.0, 1.0, float("nan")), "item 2 is nan"),
        ([1.0, "much", 2.0], "one number for all items, or a flat list"),
        ([[1.0], [1.0, 2.0], 3.0], "one number for all items, or a flat list"),
        (["estimate"] * 3, "one number for all items, or a flat list"),
        ("much", "one number for all items, or a list with one for each, not 'much'"),
    ],
)
def test_wrong_variances_are_refused(variance, reason):
    with pytest.raises(InvalidInputError, match=reason):
        ldp.Estimate([1.0, 2.0, 3.0], n=6, variance=variance)


def test_what_needs_one_variance_says_so():
    est = ldp.Estimate([10.0, 20.0, 30.0], n=60, variance=[1.0, 2.0, 3.0])
    with pytest.raises(InvalidInputError, match="with a variance for each item cannot be combined with opted-in users"):
        est.combine([1, 2, 3])
    with pytest.raises(InvalidInputError, match="give either the probabilities or a variance for each"):
        ldp.Estimate([1.0, 2.0], n=6, variance=[1.0, 2.0], probabilities=(0.5, 0.1))


@pytest.mark.parametrize("prior", FAMILIES)
@pytest.mark.parametrize("kind", ["two", "lognormal"])
def test_every_prior_works_and_everything_after_it(prior, kind):
    truth, variances, estimates = _survey(5, d=60, kind=kind)
    est = ldp.Estimate(estimates, n=int(truth.sum()), variance=variances)
    for answer in _answers(est, prior):
        assert np.isfinite(answer).all()
    found = est.calibrate(prior)
    assert found.std_errors == pytest.approx(np.sqrt(variances))
    low, high = found.interval()
    assert (low <= high).all()
    assert est.project("norm-sub").frequencies.sum() == pytest.approx(truth.sum())
    assert found.project("norm-sub").frequencies.min() >= 0
    assert len(found.heavy_hitters()) <= 60
    assert est.compare(prior).columns["calibrated"] == pytest.approx(found.frequencies)
    plots.plot_calibration(found)


def test_families_are_ranked_and_tested_under_mixed_noise():
    """One of 20 true families is rejected at 0.05; a wrong one that is far away always is."""
    truth, variances, estimates = _survey(6, d=500)
    est = ldp.Estimate(estimates, n=int(truth.sum()), variance=variances)
    assert est.rank_priors()[-1].name in ("poisson", "gaussian", "laplace")
    assert est.goodness_of_fit("power-law", "mle", replicates=19).p_value > 0.05
    assert est.goodness_of_fit("poisson", replicates=19).p_value == 0.05
    # With one variance for all, the same estimates contradict the family that they come from.
    mean = ldp.Estimate(estimates, n=int(truth.sum()), variance=variances.mean())
    assert mean.goodness_of_fit("power-law", "mle", replicates=19).p_value == 0.05


@pytest.mark.parametrize("kind", ["two", "lognormal"])
def test_intervals_cover_each_class_as_they_say(kind):
    """20,000 items in all, each covered with at least 90% under the true prior: five deviations of 0.21% or 0.3%."""
    truth, variances, estimates = _survey(7, d=20_000, kind=kind)
    prior = PowerLaw().member(np.array([1.7]), N)
    est = ldp.Estimate(estimates, n=N, variance=variances, total=None)
    low, high = est.calibrate(prior).interval(0.9)
    covered = (low <= truth) & (truth <= high)
    # Intervals of whole numbers hold 90% or more.
    assert covered.mean() > 0.9 - 0.011
    noisy = variances > np.exp(np.log(variances).mean())
    assert covered[noisy].mean() > 0.9 - 0.015
    assert covered[~noisy].mean() > 0.9 - 0.015


@pytest.mark.parametrize("kind", ["two", "lognormal"])
def test_auto_covers_and_has_a_smaller_error_than_with_the_mean_variance(kind):
    """4,000 items: 90% less five deviations of 0.5%, and less 1% because the prior is learnt."""
    truth, variances, estimates = _survey(8, d=4_000, kind=kind)
    n = int(truth.sum())
    found = ldp.Estimate(estimates, n=n, variance=variances).calibrate()
    with pytest.warns(DoubtfulEstimateWarning, match="below zero"):
        mean = ldp.Estimate(estimates, n=n, variance=variances.mean()).calibrate()
    oracle = ldp.Estimate(estimates, n=n, variance=variances).calibrate(ldp.Fixed(truth))
    low, high = found.interval(0.9)
    assert np.mean((low <= truth) & (truth <= high)) > 0.9 - 0.034

    def error(frequencies):
        return np.mean((frequencies - truth) ** 2)

    assert error(found.frequencies) < 0.8 * error(mean.frequencies)
    assert error(found.frequencies) < 1.1 * error(oracle.frequencies)


def test_noise_larger_than_stated_is_doubted_and_right_noise_is_not():
    _, variances, _ = _survey(9, d=2_000, kind="lognormal")
    noise = np.random.default_rng(10).normal(0, np.sqrt(variances))
    assert ldp.Estimate(noise, n=100, variance=variances, total=None).notes == ()
    (note,) = ldp.Estimate(noise, n=100, variance=variances / 4, total=None).notes
    assert "the noise is larger than stated (the estimates suggest deviations 1.96 times as large)" in note


def test_estimates_that_add_up_by_themselves_are_calibrated():
    truth, variances, estimates = _survey(11, d=300)
    n = int(truth.sum())
    moved = estimates - variances / variances.sum() * (estimates.sum() - n)
    found = ldp.Estimate(moved, n=n, variance=variances).calibrate()
    assert found.frequencies.sum() == pytest.approx(n, rel=0.01)
    everything = found.group({"all": range(300)})
    assert everything.columns["high"][0] - everything.columns["low"][0] < 0.02 * n
