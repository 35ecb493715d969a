"""Bounds on delta beside exact enumerations of all shuffled reports of a few people."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest
from enumerated_shuffles import divergence, kinds_of

from localdp.amplification import divergence as bounds
from localdp.mechanisms import CHAINS, MECHANISMS, PrivSet
from localdp.mechanisms.randomized_response import RandomizedResponse
from localdp.mechanisms.report_classes import ReportClass, from_ratio, variation
from localdp.mechanisms.set_sampling import PaddingAndSampling
from localdp.mechanisms.unary import OptimizedUnary

PLACES = 1 << 14
WIDTH = 8
SMALL = [
    *((kind, size, {}) for kind in MECHANISMS.values() for size in (2, 3)),
    *((kind, 3, {"once": 0.3}) for kind in CHAINS.values()),
    (MECHANISMS["dbit"], 4, {"answers": 1}),
    (MECHANISMS["grr"], 5, {}),
    (MECHANISMS["ss"], 5, {}),
    (MECHANISMS["llh"], 5, {}),
    (MECHANISMS["hr"], 5, {}),
]
SETS = [
    (PrivSet, {}),
    (PaddingAndSampling, {"kind": RandomizedResponse}),
    (PaddingAndSampling, {"kind": OptimizedUnary}),
]


def channel_of(mechanism):
    return kinds_of(mechanism.channel().probabilities)


def exact(classes, reference, n, e):
    """The right side of (1) in `divergence`, or of its lower twin, with fractions."""
    laws = [[getattr(one, name) for one in classes] for name in ("first", "second", reference)]
    nowhere = 1 - sum(laws[2])
    return divergence([*laws[0], Fraction(0)], [*laws[1], Fraction(0)], [[*laws[2], nowhere]] * (n - 1), e)


@pytest.mark.parametrize(("kind", "size", "options"), SMALL, ids=str)
def test_no_two_small_surveys_are_told_apart_better_than_the_bound_says(kind, size, options):
    mechanism = kind(size, 0.6, WIDTH, **options)
    rows, known = channel_of(mechanism), mechanism.shuffled()
    people = 2 if size > 3 or len(rows[0]) > 6 else 3
    for epsilon in (0.0, 0.1, 0.25):
        e = Fraction(math.exp(epsilon))
        found = max(bounds.upper(pair, people, e, PLACES) for pair in known.upper)
        worst = max(
            divergence(rows[x], rows[y], [rows[value] for value in held], e)
            for x, y in permutations(range(size), 2)
            for held in combinations_with_replacement(range(size), people - 1)
        )
        assert worst <= found + float(known.rounding * (1 + e))
        assert max(bounds.lower(pair, people, e, PLACES) for pair in known.lower) <= worst or not kind.exactly_pure


@pytest.mark.parametrize(("kind", "options"), SETS, ids=str)
@pytest.mark.parametrize("size", [1 + 1, 4])
def test_no_two_sets_are_told_apart_better_than_the_bound_says(kind, options, size):
    mechanism = kind(size, 0.6, 16, set_size=2, **options)
    sets = [(), (0,), (0, 1)] + ([(2, 3), (1, 2, 3), (0, 1, 2, 3)] if size == 4 else [])
    rows, known = kinds_of(mechanism.channel_of(sets).probabilities), mechanism.shuffled()
    e = Fraction(math.exp(0.1))
    found = max(bounds.upper(pair, 2, e, PLACES) for pair in known.upper)
    worst = max(
        divergence(rows[x], rows[y], [other], e) for x, y in permutations(range(len(sets)), 2) for other in rows
    )
    slack = float(known.rounding * (1 + e))
    assert worst <= found + slack
    assert 0 < max(bounds.lower(pair, 2, e, PLACES) for pair in known.lower) - slack <= worst


@pytest.mark.parametrize("name", [name for name, kind in MECHANISMS.items() if kind.exactly_pure])
def test_the_classes_are_those_of_the_channel(name):
    mechanism = MECHANISMS[name](3, 0.5, 16)
    (classes,) = mechanism.shuffled().lower
    rows = channel_of(mechanism)
    assert [sum(getattr(one, law) for one in classes) for law in ("first", "second", "other")] == [1, 1, 1]
    e = Fraction(11, 10)
    attack = exact(classes, "other", 3, e)
    assert attack == divergence(rows[0], rows[1], [rows[2]] * 2, e)
    pair = mechanism.p, mechanism.q
    assert variation(classes) == sum(max(one - two, 0) for one, two in zip(rows[0], rows[1], strict=True)), pair


@pytest.mark.parametrize("seed", range(24))
def test_both_bounds_agree_with_exact_sums_in_random_settings(seed):
    rng = np.random.default_rng(seed)
    names = ["grr", "sue", "oue", "ss", "llh", "hr", "dbit"]
    name = names[seed % len(names)]
    epsilon = rng.uniform(0.2, 0.69 if name == "hr" else 5.0)
    mechanism = MECHANISMS[name](int(rng.integers(2, 40)), epsilon, 16)
    (classes,) = mechanism.shuffled().lower
    n, e = int(rng.integers(1, 6 if len(classes) <= 8 else 3)), Fraction(math.exp(rng.uniform(0, epsilon)))
    above, below = exact(classes, "least", n, e), exact(classes, "other", n, e)
    assert above <= bounds.upper(classes, n, e, PLACES) <= float(above) * 1.02 + 1e-9
    assert float(below) * (1 - 1e-6) - 1e-9 <= bounds.lower(classes, n, e, PLACES) <= below


def test_bounds_on_tiny_deltas_are_as_good_as_those_on_large_ones():
    mechanism = MECHANISMS["grr"](3, 1.0, 16)
    (classes,) = mechanism.shuffled().upper
    e = Fraction(math.exp(0.9))
    above, below = exact(classes, "least", 40, e), exact(classes, "other", 40, e)
    assert above < 1e-8
    assert above <= bounds.upper(classes, 40, e, PLACES) <= float(above) * 1.01
    assert float(below) * 0.999 <= bounds.lower(classes, 40, e, PLACES) <= below


def test_any_grid_gives_a_bound():
    (classes,) = MECHANISMS["oue"](9, 2.0, 16).shuffled().upper
    e = Fraction(6, 5)
    above, below = exact(classes, "least", 4, e), exact(classes, "other", 4, e)
    for places in (8, 64, 1 << 10, 1 << 18):
        assert bounds.lower(classes, 4, e, places) <= below
        assert above <= bounds.upper(classes, 4, e, places)


@pytest.mark.parametrize("seed", range(10))
def test_the_bound_from_the_ratio_holds_for_any_mechanism(seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 5, (3, 4))
    rows = [[Fraction(int(weight), int(row.sum())) for weight in row] for row in weights]
    ratio = max(max(column) / min(column) for column in zip(*rows, strict=True))
    e = Fraction(math.exp(rng.uniform(0, 0.9)))
    for x, y in permutations(range(3), 2):
        distance = sum((max(one - two, Fraction(0)) for one, two in zip(rows[x], rows[y], strict=True)), Fraction(0))
        told = max(divergence(rows[x], rows[y], [other] * 2, e) for other in rows)
        own = tuple(ReportClass(column[x], column[y], column[0], min(column)) for column in zip(*rows, strict=True))
        bound = bounds.upper(own, 3, e, PLACES)
        by_distance = bounds.upper(from_ratio(ratio, distance), 3, e, PLACES)
        assert told <= bound <= by_distance * 1.01 + 1e-12
        assert by_distance <= bounds.upper(from_ratio(ratio), 3, e, PLACES) * 1.01 + 1e-12


@pytest.mark.parametrize("shift", [Fraction(-1, 10**17), Fraction(0), Fraction(1, 10**17)])
def test_near_the_local_epsilon_next_to_nothing_is_left(shift):
    mechanism = MECHANISMS["grr"](5, 2.0)
    (classes,) = mechanism.shuffled().upper
    e = mechanism.ratio * (1 + shift)
    assert bounds.lower(classes, 100, e, PLACES) <= exact(classes, "other", 1, e) <= 1e-15
    assert exact(classes, "least", 1, e) <= bounds.upper(classes, 1, e, PLACES) <= 1e-14
