"""How large sets are: the law that a small group gives, and the set sizes that follow from it."""

from __future__ import annotations

import numpy as np
import pytest

import localdp as ldp
from localdp.sets.sizes import SizeClasses, SizeLaw


def law_of(sizes, error=0.0):
    values, counts = np.unique(np.asarray(sizes, float), return_counts=True)
    return SizeLaw(values, counts / counts.sum(), error)


def test_every_size_has_a_class_and_classes_begin_where_they_say():
    classes = SizeClasses.up_to(1_000)
    sizes = np.arange(1_001)
    found = classes.of(sizes)
    assert (np.array(classes.smallest)[found] <= sizes).all()
    assert (np.diff(found) >= 0).all()
    assert sorted(set(found.tolist())) == list(range(len(classes.smallest)))
    assert (classes.of(np.array(classes.smallest)) == np.arange(len(classes.smallest))).all()
    assert (classes.typical >= classes.smallest).all()


@pytest.mark.parametrize("most", [1, 2, 3])
def test_few_items_have_few_classes(most):
    assert SizeClasses.up_to(most).smallest == tuple(range(most + 1))


def test_seen_is_the_share_of_holdings_that_are_drawn():
    law = law_of([1, 1, 4, 10])
    assert law.seen(1) == pytest.approx(4 / 16)
    assert law.seen(4) == pytest.approx(10 / 16)
    assert law.seen(10) == pytest.approx(1)
    assert law.doubt(10) == 0
    assert law.doubt(4) == pytest.approx((1 - 10 / 16) / 2)


def test_the_error_of_the_shares_adds_to_the_doubt():
    """By the delta method: a numerical derivative of seen by each share."""
    law, m = law_of([1, 2, 2, 8], error=0.01), 2
    slopes = []
    for place in range(3):
        shares = law.shares.copy()
        shares[place] += 1e-6
        slopes.append((SizeLaw(law.sizes, shares, 0.0).seen(m) - law.seen(m)) / 1e-6)
    variance = 0.01**2 * np.sum(np.square(slopes))
    assert law.doubt(m) ** 2 == pytest.approx(((1 - law.seen(m)) / 2) ** 2 + variance / law.seen(m) ** 2, rel=1e-4)


def test_classes_that_were_left_out_may_hold_what_their_limit_hides():
    classes = SizeClasses.up_to(40)
    estimate = ldp.Estimate([500.0, 8_000.0, 1_500.0, *[10.0] * 9], n=10_000, variance=50.0**2)
    law = classes.law(estimate)
    assert law.shares[3:].tolist() == [0.0] * 4
    assert np.allclose(law.errors, [0.005] * 3 + [0.01] * 4)


def test_users_who_hold_nothing_are_no_error():
    law = law_of([0, 0, 0])
    assert law.seen(3) == 1
    assert law.to_find(100, 1.0) >= 1
    assert law.to_count(100, 1.0, 1_000, 0.1) >= 1


def test_larger_sets_ask_for_a_larger_set_size():
    small, large = law_of([1] * 10), law_of([20] * 10)
    assert small.to_find(5_000, 2.0) == 1
    assert large.to_find(5_000, 2.0) >= 16
    assert small.to_count(100, 2.0, 10_000, 0.1) == 1
    assert large.to_count(100, 2.0, 10_000_000, 0.1) >= 20


def test_more_noise_asks_for_a_smaller_set_size_when_counting():
    law = law_of([1] * 98 + [64] * 2)
    sizes = [law.to_count(100, 2.0, users, 0.05) for users in (100, 10_000, 10_000_000)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_the_law_of_a_group_is_near_the_truth(epsilon):
    """5,000 users whose sets have geometric sizes; seen(m) within four of its stated errors (false alarms: 1e-3).

    The law is seeded, so it fails only if the code changes.
    """
    rng = np.random.default_rng(1)
    sizes = rng.geometric(0.3, 5_000) - 1
    classes = SizeClasses.up_to(1_000)
    plan = ldp.Plan(len(classes.smallest), "auto", epsilon)
    counts = np.bincount(classes.of(sizes), minlength=len(classes.smallest))
    law = classes.law(plan.simulate(counts, seed=3).estimate())
    for m in (1, 2, 4):
        truth = np.minimum(sizes, m).sum() / sizes.sum()
        assert abs(law.seen(m) / truth - 1) < 4 * max(0.02, law.doubt(m))
    assert law.sizes.size < len(classes.smallest)  # the largest classes hold nothing but noise


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_noise_in_the_largest_classes_is_not_taken_for_large_sets(epsilon):
    """4,400 users with one item each, 200 seeds: a class of large sets that is kept would halve what is seen.

    A class is sure by chance with a probability of 3e-5, and the rest is left out in about 19 of 20 runs. Where it is
    not, it is small. The runs are seeded, so this fails only if the code changes.
    """
    classes = SizeClasses.up_to(10_000)
    plan = ldp.Plan(len(classes.smallest), "auto", epsilon)
    counts = np.bincount(classes.of(np.ones(4_400, int)), minlength=len(classes.smallest))
    seen = [classes.law(plan.simulate(counts, seed=seed).estimate()).seen(1) for seed in range(200)]
    assert np.mean(np.array(seen) > 0.99) > 0.85
    assert np.mean(np.array(seen) < 0.67) < 0.05


def test_shares_beyond_the_last_sure_class_fall():
    classes = SizeClasses.up_to(100)
    frequencies = np.array([0, 500, 300, 100, 5, 40, 15, 0, 0, 30, -20, 10, 5], float)
    law = classes.law(ldp.Estimate(frequencies, n=1_000, variance=100.0))
    assert (np.diff(law.shares[3:]) <= 1e-12).all()
    assert law.shares[4] == pytest.approx(law.shares[5])
