"""Thresholds: the exact one is the exact quantile of the count, and what it promises happens.

Simulations are seeded. They count events among many independent trials, and allow five deviations and more, which
another seed would exceed with a probability below 1e-6.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, norm

import localdp as ldp
from localdp.errors import InvalidInputError
from localdp.estimate import frequencies, thresholds
from localdp.estimate.thresholds import (
    approximate_chances,
    chance_above,
    count_threshold,
    exact_threshold,
    significance_threshold,
    smallest_detected,
    smallest_true,
)
from localdp.mechanisms import create

SIZES = [
    (1, 2, 6.0),
    (10, 3, 1.0),
    (1_000, 10_000, 6.0),
    (1_000, 50, 0.5),
    (10**7, 10**5, 2.0),
    (3 * 10**10, 10**6, 16.0),
]


def gaussian(mechanism, n, items):
    return significance_threshold(math.sqrt(mechanism.variance(n)), items)


@pytest.mark.parametrize(("n", "items", "epsilon"), SIZES)
@pytest.mark.parametrize("name", ["grr", "oue", "llh"])
def test_the_count_is_the_smallest_that_is_rarely_exceeded(name, n, items, epsilon):
    q, level = create(name, items, epsilon).mechanism.q_star, 0.05 / items
    count = count_threshold(n, q, level)
    assert binom.sf(count, n, q) <= level * (1 + 1e-8)
    assert count == 0 or binom.sf(count - 1, n, q) > level * (1 - 1e-8)


@pytest.mark.parametrize(("n", "items", "epsilon"), SIZES)
def test_the_threshold_lies_between_two_possible_estimates(n, items, epsilon):
    mechanism = create("auto", items, epsilon).mechanism
    count = count_threshold(n, mechanism.q_star, 0.05 / items)
    below, above = mechanism.estimate(np.array([count, count + 1]), n)
    threshold = exact_threshold(n, mechanism.p, mechanism.q, items)
    assert below < threshold < above
    assert threshold == pytest.approx((below + above) / 2)
    assert exact_threshold(n, mechanism.p_star, mechanism.q_star, items) == pytest.approx(threshold, rel=1e-4)


def test_it_is_the_gaussian_one_for_many_users_and_higher_for_few():
    for epsilon in (0.5, 1.0, 4.0):
        mechanism = create("oue", 1_000, epsilon).mechanism
        exact = exact_threshold(10**9, mechanism.p, mechanism.q, 1_000)
        assert exact == pytest.approx(gaussian(mechanism, 10**9, 1_000), rel=1e-3)
    mechanism = create("oue", 10_000, 6.0).mechanism
    assert exact_threshold(1_000, mechanism.p, mechanism.q, 10_000) > 1.4 * gaussian(mechanism, 1_000, 10_000)


def test_without_holders_the_exact_threshold_holds_where_the_gaussian_one_fails():
    """2,000 collections of 10,000 items from 1,000 users: 5% of them is 100, give or take 10."""
    mechanism = create("oue", 10_000, 6.0).mechanism
    highest = np.random.default_rng(5).binomial(1_000, mechanism.q_star, (2_000, 10_000)).max(axis=1)
    largest = mechanism.estimate(highest, 1_000)
    assert np.mean(largest > exact_threshold(1_000, mechanism.p, mechanism.q, 10_000)) < 0.05
    assert np.mean(largest > gaussian(mechanism, 1_000, 10_000)) > 0.5


@pytest.mark.parametrize(
    ("limit", "holders", "n", "p", "q"),
    [(3, 4, 9, 0.7, 0.2), (0, 9, 9, 0.3, 0.1), (8, 0, 60, 1.0, 0.1), (5, 7, 30, 1.0, 0.0)],
)
def test_the_chance_is_that_of_the_sum_of_two_binomials(limit, holders, n, p, q):
    law = np.convolve(
        binom.pmf(np.arange(holders + 1), holders, p), binom.pmf(np.arange(n - holders + 1), n - holders, q)
    )
    assert chance_above(limit, holders, n, p, q) == pytest.approx(law[limit + 1 :].sum(), abs=1e-12)


@pytest.mark.parametrize(("p", "q", "n"), [(0.5, 0.02, 100_000), (0.3, 0.2, 15_000), (0.9, 0.001, 10**7)])
def test_the_approximation_is_as_good_as_it_says_where_it_begins(p, q, n, monkeypatch):
    holders = round((2_500 - n * q * (1 - q)) / (p * (1 - p) - q * (1 - q))) + 1 if n * q < 2_500 else 700
    mean, deviation = holders * p + (n - holders) * q, 50.0
    limits = [round(mean + z * deviation) for z in (-2, -1.3, 0, 1, 2)]
    approximate = [approximate_chances(limit, np.array([float(holders)]), n, p, q)[0] for limit in limits]
    monkeypatch.setattr(thresholds, "_EXACT_VARIANCE", 1e9)
    exact = [chance_above(limit, holders, n, p, q) for limit in limits]
    assert approximate == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize(
    ("n", "items", "epsilon"), [(1_000, 10_000, 6.0), (1_000, 50, 1.0), (40, 10, 4.0), (10**6, 1_000, 1.0)]
)
@pytest.mark.parametrize("name", ["grr", "oue", "llh"])
def test_the_smallest_number_of_holders_is_detected_and_one_fewer_is_not(name, n, items, epsilon):
    mechanism = create(name, items, epsilon).mechanism
    p, q = mechanism.p_star, mechanism.q_star
    found, limit = smallest_detected(n, mechanism.p, mechanism.q, items), count_threshold(n, q, 0.05 / items)
    if found > n:
        assert chance_above(limit, n, n, p, q) < 0.9
    else:
        assert chance_above(limit, found, n, p, q) >= 0.9 > chance_above(limit, found - 1, n, p, q)


def test_holders_are_seen_as_often_as_is_promised():
    """20,000 collections from 1,000 users: the share varies by 0.2%, and the chance is at most 2.5% above 90%."""
    mechanism = create("oue", 10_000, 6.0).mechanism
    held = smallest_detected(1_000, mechanism.p, mechanism.q, 10_000)
    rng = np.random.default_rng(6)
    counts = rng.binomial(held, mechanism.p_star, 20_000) + rng.binomial(1_000 - held, mechanism.q_star, 20_000)
    seen = mechanism.estimate(counts, 1_000) > exact_threshold(1_000, mechanism.p, mechanism.q, 10_000)
    assert 0.89 < seen.mean() < 0.935


def test_without_noise_one_holder_is_enough_and_everybody_may_be_too_few():
    assert exact_threshold(100, 1, 0, items=10) == 0.5
    assert smallest_detected(100, 1, 0, items=10) == 1
    assert smallest_detected(10, Fraction(6, 10), Fraction(4, 10), items=1_000) == 11


def test_the_gaussian_threshold_is_the_papers_and_is_still_found_where_it_was():
    assert significance_threshold(4.0, 1_000) == pytest.approx(norm.isf(0.05 / 1_000) * 4.0)
    assert frequencies.significance_threshold is significance_threshold
    assert ldp.Estimate([1.0, 2.0], n=3, variance=4.0).significance_threshold() == significance_threshold(2.0, 2)


def test_the_search_finds_every_place_from_every_guess():
    for high in (0, 1, 2, 7, 30):
        for answer in range(high + 1):
            for guess in (-5.0, 0.0, 1.4, 6.0, 29.0, 1e300):
                assert smallest_true(lambda k, answer=answer: k >= answer, 0, high, guess) == answer


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((0, 0.5, 0.1, 10), "no users"),
        ((1.5, 0.5, 0.1, 10), "a whole number"),
        ((10, 0.1, 0.5, 10), r"p\* must be larger than q\*"),
        ((10, 0.5, 0.5, 10), r"p\* must be larger than q\*"),
        ((10, 2.0, 0.5, 10), "are probabilities"),
        ((10, float("nan"), 0.5, 10), "are probabilities"),
        ((10, 0.5, None, 10), "without one p"),
        ((10, 0.5, 0.1, 0), "number of items"),
        ((10, 0.5, 0.1, 2.5), "number of items"),
        ((10, 0.5, 0.1, 10, 0), "beta is a probability"),
        ((10, 0.5, 0.1, 10, 5e-324), "too small to compute with"),
    ],
)
def test_what_cannot_be_a_survey_is_refused(arguments, sentence):
    for function in (exact_threshold, smallest_detected):
        with pytest.raises(ldp.LocalDPError, match=sentence):
            function(*arguments)


def test_a_chance_is_between_0_and_1():
    with pytest.raises(InvalidInputError, match="a chance of detection is a probability"):
        smallest_detected(10, 0.5, 0.1, 10, chance=1.0)
