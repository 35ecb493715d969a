"""Weighted sums of frequencies: groups that have to do with popularity, and those that do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import localdp as ldp
from localdp.calibrate.posterior import Posterior
from localdp.calibrate.sums import classes_of, combined
from localdp.calibrate.two_levels import Block, TwoLevels
from localdp.priors import CellPrior, Cells, Noise

D, N = 300, 100_000


def _truth(rng):
    weights = 1 / np.arange(1, D + 1) ** 0.8
    return rng.multinomial(N, weights / weights.sum())


def _members(kind, rng):
    """Groups of about 40% of the items; the items are in descending order of frequency."""
    rank = np.arange(D) / D
    chances = {"random": 0.4 + 0 * rank, "mild": 0.6 - 0.4 * rank, "strong": np.where(rank < 0.3, 0.85, 0.2)}
    chances["rare"] = np.where(rank < 0.3, 0.06, 0.54)
    return np.flatnonzero(rng.random(D) < chances[kind])


@pytest.mark.parametrize("known", [True, False], ids=["known total", "unknown total"])
@pytest.mark.parametrize("kind", ["random", "mild", "strong", "rare"])
def test_groups_hold_the_truth_and_are_no_worse_than_raw_sums(kind, known):
    """60 surveys. At 90% the number of misses is binomial with mean 6; 22 or more happen once in 4 million times.

    A mean of 60 squared errors over raw's variance is 1 for raw sums; sums that trust the prior have 2.5 to 15 in the
    three kinds that are not random.
    """
    rng, held, errors = np.random.default_rng(5), 0, []
    plan = ldp.Plan(D, "oue", 1.0)
    for seed in range(60):
        truth = _truth(rng)
        estimate = plan.simulate(truth, seed=seed).estimate()
        estimate = estimate if known else replace(estimate, total=None)
        members = _members(kind, rng)
        found, right = estimate.calibrate("smooth").group({"some": members}), truth[members].sum()
        held += found["low"][0] <= right <= found["high"][0]
        share = members.size / D
        variance = members.size * estimate.variance * (1 - share if known else 1)
        errors.append((found["frequency"][0] - right) ** 2 / variance)
    assert held >= 60 - 22
    assert np.mean(errors) < (0.9 if kind == "random" else 1.6)


def test_with_all_classes_alike_the_sums_are_those_of_the_posteriors():
    """b = 0: the mean and the variances of the two sums are sums over independent posteriors."""
    cells = Cells(np.arange(101.0))
    masses = np.exp(-np.arange(101) / 20)
    prior = CellPrior("falling", 100, cells=cells, log_masses=np.log(masses / masses.sum()))
    x, noise = np.linspace(-10, 60, 40), Noise(49.0)
    posterior = Posterior(prior, noise, x)
    weights = np.where(np.arange(40) % 3, 0.0, 2.0)
    levels = TwoLevels([posterior.block(weights, classes_of(weights)[0])], 2)
    mean, covariance = levels._sums_at(np.zeros(2))
    means, variances = posterior.moments()
    assert mean == pytest.approx([weights @ means, means.sum()], rel=1e-3)
    expected = [[weights**2 @ variances, weights @ variances], [weights @ variances, variances.sum()]]
    assert covariance == pytest.approx(np.array(expected), rel=1e-2)


def test_the_slope_of_the_likelihood_is_its_difference_quotient():
    rng = np.random.default_rng(1)
    k, x = np.arange(0.0, 200.0), rng.normal(40, 30, 80)
    block = Block(Noise(100.0), x, (np.arange(80) % 3).astype(np.intp), np.ones(80), k, -0.02 * k)
    levels, b, step = TwoLevels([block], 3), np.array([0.4, -0.3]), 1e-5
    _, slope = levels._value(b, 2.0)
    for axis, expected in zip(np.eye(2), slope, strict=True):
        rise = levels._value(b + step * axis, 2.0)[0] - levels._value(b - step * axis, 2.0)[0]
        assert rise / (2 * step) == pytest.approx(expected, rel=1e-4)


def test_a_group_of_all_items_is_the_total_and_weights_scale():
    rng = np.random.default_rng(2)
    estimate = ldp.Plan(D, "oue", 1.0).simulate(_truth(rng), seed=1).estimate()
    posterior = estimate.calibrate("smooth")._posterior
    everything = posterior.linear(np.full(D, 3.0), 0.9)
    assert (everything.value, everything.low, everything.high) == pytest.approx((3 * N, 3 * N, 3 * N))
    half = (np.arange(D) % 2).astype(float)
    once, twice = posterior.linear(half, 0.9), posterior.linear(2 * half, 0.9)
    assert (twice.value, twice.low, twice.high) == pytest.approx((2 * once.value, 2 * once.low, 2 * once.high))
    others = posterior.linear(1 - half, 0.9)
    assert once.value + others.value == pytest.approx(N, rel=0.01)


def test_many_different_weights_hold_too():
    """60 surveys with weights that grow with popularity; 22 misses or more happen once in 4 million times."""
    rng, held, plan = np.random.default_rng(3), 0, ldp.Plan(D, "oue", 1.0)
    for seed in range(60):
        truth = _truth(rng)
        weights = rng.gamma(2.0, 1.0, D) * (2 - np.arange(D) / D)
        found = plan.simulate(truth, seed=seed).estimate().calibrate("smooth")._posterior.linear(weights, 0.9)
        held += found.low <= weights @ truth <= found.high
    assert held >= 60 - 22


def test_classes_are_the_values_of_the_weights_or_ranges_of_them():
    assert classes_of(np.array([2.0, 0.0, 2.0, 1.0]))[0].tolist() == [2, 0, 2, 1]
    places, count = classes_of(np.arange(1_000.0))
    assert count == 8
    assert (np.diff(places) >= 0).all()
    assert np.bincount(places).tolist() == pytest.approx([125] * 8, abs=1)


def test_a_combination_lies_between_its_parts():
    for raw in (90.0, 100.0, 130.0, 1e4):
        found = combined(100.0, 25.0, raw, 100.0, 0.9)
        assert min(100.0, raw) <= found.value <= max(100.0, raw)
        assert found.low < found.value < found.high
    near, far = combined(100.0, 25.0, 100.0, 100.0, 0.9), combined(100.0, 25.0, 1e4, 100.0, 0.9)
    assert near.high - near.low < 2 * 1.645 * 8
    assert far.high - far.low == pytest.approx(2 * 1.645 * 10, rel=0.02)


def test_items_with_different_noise_are_added_up():
    """60 surveys with half of the items four times as noisy; 22 misses or more happen once in 4 million times."""
    rng, held = np.random.default_rng(4), 0
    variances = np.where(np.arange(D) % 2, 4e4, 1e4)
    for _ in range(60):
        truth, members = _truth(rng), _members("strong", rng)
        estimate = ldp.Estimate(truth + rng.normal(0, np.sqrt(variances)), n=N, variance=variances)
        found = estimate.calibrate("smooth", warn=False).group({"some": members})
        held += found["low"][0] <= truth[members].sum() <= found["high"][0]
    assert held >= 60 - 22


def test_calibrated_groups_hold_a_possible_number_of_people():
    """Combined with raw sums, a group of two had -4,154 of 10,000 people, with an interval from 0."""
    held = np.append(10_000, np.zeros(30, int))
    found = ldp.Plan(31, "oue", 0.01).simulate(held, seed=1).estimate().calibrate(warn=False)
    groups = found.group({"one": [0], "two": [0, 1], "another": [3]}).columns
    assert (groups["frequency"] >= groups["low"]).all()
    assert (groups["frequency"] <= groups["high"]).all()
    assert 0 in groups["frequency"]
