"""Intervals where the total is not known: they include the doubt about the level of the prior."""

from __future__ import annotations

import numpy as np
import pytest

import localdp as ldp
from localdp.calibrate.unknown_total import widened


def covered(items, level, deviation, total, runs=10):
    """The share of 90% intervals that hold, where all items have the same frequency, as deep in noise as asked."""
    inside = []
    for seed in range(runs):
        truth = np.full(items, float(level))
        noisy = truth + np.random.default_rng(seed).normal(size=items) * deviation
        estimate = ldp.Estimate(noisy, n=20_000, variance=deviation**2, total=total)
        low, high = estimate.calibrate(warn=False).interval(0.9)
        inside.append(np.mean((low <= truth) & (truth <= high)))
    return np.mean(inside)


@pytest.mark.parametrize(("items", "deviation"), [(20, 5_000), (200, 5_000), (200, 50_000), (2_000, 50_000)])
def test_intervals_hold_where_nothing_but_noise_is_seen(items, deviation):
    """The level is far below its own error. Without the doubt, these cells hold 0.2 to 0.75 of the time."""
    assert covered(items, 500, deviation, None) >= 0.8


def test_a_known_total_needs_no_doubt():
    estimate = ldp.Estimate(np.random.default_rng(1).normal(size=50) * 100 + 100, n=5_000, variance=1e4)
    calibrated = estimate.calibrate()
    assert not calibrated.doubts_level
    assert not estimate.calibrate(calibrated.prior).doubts_level
    unknown = ldp.Estimate(estimate.frequencies, n=5_000, variance=1e4, total=None)
    assert unknown.calibrate().doubts_level
    assert not unknown.calibrate(calibrated.prior).doubts_level  # a prior from elsewhere has its own level
    assert not unknown.calibrate(ldp.Fixed([1, 2, 3])).doubts_level


def test_items_that_stand_out_keep_their_intervals():
    means, deviations = np.array([10.0, 1_000.0]), np.array([2.0, 50.0])
    found = (np.array([5.0, 920.0]), np.array([15.0, 1_080.0]))
    low, high = widened(found, means, deviations, 50.0, 0.9, 10_000)
    assert (low[1], high[1]) == (920, 1_080)  # its slope is 1
    assert low[0] == 0
    assert high[0] == np.ceil(10 + np.hypot(5, 1.6448536 * (1 - 4 / 2_500) * 50 / np.sqrt(2)))


def test_no_end_is_beyond_what_is_possible():
    low, high = widened((np.array([1.0]), np.array([3.0])), np.array([2.0]), np.array([1.0]), 1e6, 0.9, 40)
    assert (low[0], high[0]) == (0, 40)
