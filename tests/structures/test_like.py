"""An earlier release as the start, and the refusal of noise that is seen twice."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import localdp as ldp
from localdp.errors import DomainError
from localdp.structures.like import shares_noise


def release(shares, n, seed, epsilon=1.0):
    rng = np.random.default_rng(seed)
    truth = rng.multinomial(n, shares / shares.sum())
    plan = ldp.Plan(shares.size, mechanism="oue", epsilon=epsilon)
    return truth, plan.simulate(truth, seed=seed).estimate()


SHARES = np.random.default_rng(0).permutation(1 / np.arange(1, 101.0))


def error(result, truth):
    return float(np.mean((result.frequencies - truth) ** 2))


@pytest.mark.parametrize("kind", ["calibrated", "estimate", "shares", "counts"])
def test_an_earlier_release_helps_in_every_form(kind):
    earlier_truth, earlier = release(SHARES, 500_000, 1)
    truth, estimate = release(SHARES, 50_000, 2)
    previous = {
        "calibrated": earlier.calibrate,
        "estimate": lambda: earlier,
        "shares": lambda: earlier_truth / 500_000,
        "counts": lambda: earlier_truth,
    }[kind]()
    found = estimate.calibrate(structure=ldp.Like(previous))
    assert error(found, truth) < 0.6 * error(estimate.calibrate(), truth)


def test_another_population_costs_next_to_nothing():
    _, earlier = release(np.random.default_rng(9).permutation(SHARES), 500_000, 1)
    truth, estimate = release(SHARES, 50_000, 2)
    found = estimate.calibrate(structure=ldp.Like(earlier))
    assert error(found, truth) < 1.03 * error(estimate.calibrate(), truth)
    assert found.structured.share < 0.05


def test_the_noise_of_the_earlier_release_counts():
    """An earlier release of few people is trusted less than one of many."""
    truth, estimate = release(SHARES, 50_000, 2)
    errors = [
        error(estimate.calibrate(structure=ldp.Like(release(SHARES, n, 4)[1])), truth) for n in (20_000, 2_000_000)
    ]
    assert errors[1] < errors[0] < 1.03 * error(estimate.calibrate(), truth)


def test_the_same_reports_are_refused():
    _, estimate = release(SHARES, 50_000, 2)
    for same in (estimate, estimate.calibrate(), estimate.calibrate(structure=ldp.Ordered())):
        with pytest.raises(ldp.LocalDPError, match="shares noise"):
            estimate.calibrate(structure=ldp.Like(same))


def test_a_release_that_contains_the_earlier_one_is_refused_if_there_are_many_items():
    shares = 1 / np.arange(1, 1001.0)
    plan = ldp.Plan(1000, mechanism="oue", epsilon=1.0)
    rng = np.random.default_rng(3)
    first = plan.simulate(rng.multinomial(50_000, shares / shares.sum()), seed=1)
    second = plan.simulate(rng.multinomial(50_000, shares / shares.sum()), seed=2)
    earlier, apart = first.estimate(), second.estimate()
    first.merge(second)
    apart.calibrate(structure=ldp.Like(earlier))
    with pytest.raises(ldp.LocalDPError, match="shares noise"):
        first.estimate().calibrate(structure=ldp.Like(earlier))


def test_independent_noise_is_hardly_ever_refused():
    """2,000 pairs of releases that share their frequencies, and no noise: none is refused."""
    rng = np.random.default_rng(1)
    for size in (200, 1000):
        for spread in (0.0, 0.3, 1.0, 3.0):
            for _ in range(250):
                f = rng.normal(0, spread, size)
                assert not shares_noise(f + rng.normal(size=size), f + rng.normal(size=size))


def test_other_items_and_bad_releases_are_refused():
    _, estimate = release(SHARES, 50_000, 2)
    other = ldp.Estimate(np.ones(100), n=100, variance=4.0, domain=[f"item {k}" for k in range(100)])
    with pytest.raises(ldp.LocalDPError, match="other items"):
        estimate.calibrate(structure=ldp.Like(other))
    for bad in ("last month", [1.0, -2.0], [0.0, 0.0], [[1.0, 2.0]], [1.0, np.nan]):
        with pytest.raises(ldp.LocalDPError):
            ldp.Like(bad)


def test_an_earlier_release_with_labels_must_have_the_same_items_in_the_same_order():
    """A pandas Series was taken in its own order, whatever its labels."""
    now = ldp.Plan(["tea", "coffee", "water"], epsilon=2.0).simulate([5_000, 3_000, 2_000], seed=1).estimate()
    expected = now.calibrate(structure=ldp.Like([5, 3, 2])).frequencies
    same = {"tea": 5, "coffee": 3, "water": 2}
    for previous in (same, pd.Series(same), pd.Series([5, 3, 2])):
        np.testing.assert_array_equal(now.calibrate(structure=ldp.Like(previous)).frequencies, expected)
    other = {"water": 2, "tea": 5, "coffee": 3}
    for previous in (other, pd.Series(other)):
        with pytest.raises(DomainError, match="another order"):
            now.calibrate(structure=ldp.Like(previous))
