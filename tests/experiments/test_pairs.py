"""Comparisons on the same trials: differences, gains, their standard errors, and when a difference is a tie."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t, ttest_rel

from localdp.experiments.claims.pairs import Paired, difference, gain
from localdp.experiments.results import Mean


def _mean(values):
    return Mean("some", "oue", 1.0, None, "a", "error", tuple(values))


def test_a_tie_is_what_the_paired_t_test_does_not_reject():
    random = np.random.default_rng(5)
    for shift in (0.0, 0.1, 0.3, 0.6, 1.0, 2.0):
        shared = random.normal(100, 20, 24)
        first, second = shared + shift + random.normal(0, 1, 24), shared
        found = difference(_mean(first), _mean(second))
        assert found.value == pytest.approx((first - second).mean())
        assert (found.sign == 0) == (ttest_rel(first, second).pvalue > 0.01)
        assert found.margin == pytest.approx(t.ppf(0.995, 23) * found.std_error)


def test_common_noise_cancels():
    shared = np.random.default_rng(1).normal(100, 30, 24)
    assert difference(_mean(shared + 0.5), _mean(shared)).sign == 1
    assert gain(_mean(1.02 * shared), _mean(shared)).std_error == pytest.approx(0.0, abs=1e-12)
    assert gain(_mean(1.02 * shared), _mean(shared)).value == pytest.approx(0.02)


def test_the_standard_error_of_a_gain_is_that_of_simulation():
    # 2,000 runs of 24 trials: the deviation of their gains is known within 1.6%, and five of those is 8%.
    random = np.random.default_rng(3)
    gains = []
    for _ in range(2_000):
        shared = random.normal(0, 5, 24)
        worse, better = 150 + shared + random.normal(0, 4, 24), 100 + shared
        gains.append(gain(_mean(worse), _mean(better)))
    spread = np.std([each.value for each in gains])
    assert np.mean([each.std_error for each in gains]) == pytest.approx(spread, rel=0.1)


def test_trials_that_could_not_measure_are_left_out():
    found = difference(_mean([1.0, math.nan, 5.0]), _mean([0.0, 9.0, 2.0]))
    assert (found.value, found.trials) == (2.0, 2)
    assert math.isnan(difference(_mean([math.nan]), _mean([1.0])).value)


def test_one_trial_is_always_a_tie():
    assert Paired(1e9, 0.0, 1).sign == 0
    assert Paired(0.0, 0.0, 24).sign == 0
    assert Paired(-2.0, 0.1, 24).sign == -1
