"""What a survey of sets lists, beside the formulas of its docstring."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

import localdp as ldp
from localdp.sets.found import LEAST_CHANCE, found
from localdp.sets.sizes import SizeClasses, SizeLaw

ITEMS = ["tea", "milk", "bread", "rice", "soap", "beer"]
PLAN = ldp.Plan(ITEMS, epsilon=4.0, set_size=2)
AGGREGATE = PLAN.aggregate(PLAN.privatize([["tea", "milk"], ["milk", "rice"], ["tea"], ["milk"]] * 1_000, seed=3))
CANDIDATES = tuple((item,) for item in range(6))


def made(users=4_000, doubt=0.0):
    return found(PLAN.domain, CANDIDATES, AGGREGATE, 1.0, doubt, users, 3)


def test_a_group_of_everybody_has_no_luck_of_the_draw():
    measured = AGGREGATE.estimate()
    plain = ldp.Estimate(
        measured.frequencies,
        n=4_000,
        variance=PLAN.mechanism.variance(4_000),
        excess_variance=measured.excess_variance,
        total=None,
    )
    assert np.allclose(made().calibrated.frequencies, plain.calibrate().frequencies, rtol=1e-9)


def test_the_luck_of_the_draw_is_that_of_the_formula():
    """Of 12,000 users 4,000 were asked, so the factor of f grows by 2."""
    mechanism, measured = PLAN.mechanism, AGGREGATE.estimate()
    plain = ldp.Estimate(
        3 * measured.frequencies,
        n=12_000,
        variance=9 * mechanism.variance(4_000),
        excess_variance=3 * measured.excess_variance + 2,
        total=None,
    )
    assert np.allclose(made(12_000).calibrated.frequencies, plain.calibrate().frequencies, rtol=1e-9)


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_doubt_widens_both_ends_by_squares(level):
    sure, unsure = made(), made(doubt=0.1)
    frequencies = sure.frequencies
    assert np.array_equal(unsure.frequencies, frequencies)
    more = float(ndtri((1 + level) / 2)) * 0.1 * frequencies
    for end, other in zip(sure.interval(level), unsure.interval(level), strict=True):
        assert np.allclose(np.abs(other - frequencies), np.hypot(np.abs(end - frequencies), more), rtol=1e-9)
    assert (unsure.interval(level)[0] < sure.interval(level)[0]).all()


def test_the_last_class_of_sizes_ends_at_half_more_than_its_smallest():
    classes = SizeClasses.up_to(10)
    assert classes.smallest[-2:] == (6, 8)
    assert classes.typical[-2:].tolist() == [6.5, 10.0]


def test_only_the_part_of_the_top_that_was_kept_is_promised():
    """If a third of the true top 3 is expected among the candidates, chances are those of the top 1."""
    one = found(PLAN.domain, CANDIDATES, AGGREGATE, 1.0, 0.0, 4_000, 3, kept=1 / 3)
    assert one.probabilities.sum() == pytest.approx(1.0, abs=0.02)
    assert made().probabilities.sum() == pytest.approx(3.0, abs=0.02)
    assert (one.probabilities >= LEAST_CHANCE).all()


def test_the_bias_is_half_of_what_is_not_seen():
    law = SizeLaw(np.array([1.0, 4.0]), np.array([0.5, 0.5]), 0.0)
    assert law.seen(2) == pytest.approx(3 / 5)
    assert law.bias(2) == pytest.approx(1 / 5)
