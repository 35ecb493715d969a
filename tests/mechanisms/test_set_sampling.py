"""Users who hold sets: padding and sampling is private, unbiased, and refuses what it cannot do.

Statistical tests here would fail by chance once in a million or less.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

import localdp as ldp
from localdp.checks import CheckFailure
from localdp.checks.sets import check_sets
from localdp.errors import EmptyError, InvalidInputError, PlanError, UnknownItemError
from localdp.item_sets import ItemSets
from localdp.mechanisms import PaddingAndSampling, RandomizedResponse, create, set_base
from localdp.randomness import keystream
from localdp.randomness.thresholds import exp_below

FAST = ("grr", "oue", "llh", "ss", "sue")


def drawn_sets(users: int, items: int, largest: int, seed: int = 0) -> list[list[int]]:
    """Random sets with up to `largest` items; low numbers are more frequent."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, items + 1)
    order = np.argsort(rng.exponential(size=(users, items)) / weights, axis=1)
    return [row[:size].tolist() for row, size in zip(order, rng.integers(0, largest + 1, users), strict=True)]


def holders(sets: list[list[int]], items: int) -> np.ndarray:
    return np.bincount([item for held in sets for item in held], minlength=items)


@pytest.mark.parametrize("name", FAST)
def test_estimates_are_unbiased_for_sets_within_the_set_size(name):
    sets = drawn_sets(60_000, 20, 3)
    truth = holders(sets, 20)
    plan = ldp.Plan(20, name, 2.0, set_size=3)
    estimate = plan.aggregate(plan.privatize(sets, seed=1)).estimate()
    scores = (estimate.frequencies - truth) / estimate.std_error_at(truth)
    assert np.abs(scores).max() < 5.6  # of 20 normal numbers
    assert np.square(scores).sum() < 90  # chi-squared with 20 degrees of freedom, if they were independent
    assert estimate.total is None


def test_the_variance_is_that_of_the_counts():
    """Many repetitions of one item's estimate, for holders and for others, against the stated variance."""
    plan = ldp.Plan(6, "grr", 1.0, set_size=2)
    sets = [[0, 1]] * 150 + [[0]] * 50 + [[]] * 100
    found = [plan.aggregate(plan.privatize(sets, seed=seed)).estimate().frequencies for seed in range(3_000)]
    estimate = plan.aggregate(plan.privatize(sets, seed=1)).estimate()
    stated = estimate.std_error_at(np.array([200.0, 150.0, 0, 0, 0, 0])) ** 2
    assert np.var(found, axis=0) / stated == pytest.approx(np.ones(6), abs=5 * math.sqrt(2 / 3_000))
    assert np.mean(found, axis=0) == pytest.approx([200, 150, 0, 0, 0, 0], abs=5 * math.sqrt(stated.max() / 3_000))


def test_a_larger_set_counts_for_less_as_stated():
    """Holders of k > l items count as l/k of a holder each."""
    sets = [[0, 1, 2, 3]] * 40_000
    plan = ldp.Plan(10, "grr", 4.0, set_size=2)
    estimate = plan.aggregate(plan.privatize(sets, seed=2)).estimate()
    assert estimate.frequencies[:4] == pytest.approx(20_000, abs=5.5 * estimate.std_error_at([20_000])[0])
    assert np.abs(estimate.frequencies[4:]).max() < 5.5 * estimate.std_error


def test_calibrating_sets_reduces_the_error_and_keeps_its_intervals():
    sets = drawn_sets(50_000, 200, 4)
    truth = holders(sets, 200)
    plan = ldp.Plan(200, "oue", 1.0, set_size=4)
    estimate = plan.aggregate(plan.privatize(sets, seed=3)).estimate()
    calibrated = estimate.calibrate()
    error = ldp.metrics.estimation_error
    assert error(calibrated.frequencies, truth) < 0.3 * error(estimate.frequencies, truth)
    low, high = calibrated.interval(0.9)
    assert 0.8 < np.mean((low <= truth) & (truth <= high)) <= 1


class _OnePadding(PaddingAndSampling):
    """Wrong for `grr`: with one padding element for all places, an empty set is drawn with probability 1."""

    def drawn(self, sets, source):
        return np.minimum(super().drawn(sets, source), self.size)


class _DrawsPaddingOnlyIfNeeded(PaddingAndSampling):
    """Wrong: a short set is never padded, so its elements are drawn too often."""

    def drawn(self, sets, source):
        place = source.below(self.set_size, sets.users).astype(np.int64)
        source.integers(sets.users)
        own = np.append(sets.items, 0)[np.minimum(sets.starts + place % np.maximum(sets.sizes, 1), sets.items.size)]
        return np.where(sets.sizes > 0, own, self.size + place)


class _DrawsMoreForLargerSets(PaddingAndSampling):
    """Wrong: how many bits are drawn depends on the set."""

    def drawn(self, sets, source):
        elements = super().drawn(sets, source)
        source.integers(np.flatnonzero(sets.sizes > 1))
        return elements


@pytest.mark.parametrize(
    ("mutant", "message"),
    [
        (_OnePadding, "another probability"),
        (_DrawsPaddingOnlyIfNeeded, "another probability"),
        (_DrawsMoreForLargerSets, "does not read as many random bits for the set"),
    ],
)
def test_a_wrong_client_is_caught(mutant, message, monkeypatch):
    monkeypatch.setattr("localdp.checks.sets.PaddingAndSampling", mutant)
    with pytest.raises(CheckFailure, match=message):
        check_sets(RandomizedResponse)


def test_amplification_without_different_padding_would_leak():
    """Why the padding of `grr` is l different elements: with a single one, the ratio goes beyond e^epsilon."""
    mechanism = PaddingAndSampling(3, 1.0, set_size=2, kind=RandomizedResponse)
    inner = mechanism.inner.channel().probabilities
    empty = inner[3]  # all padding is one element
    full = tuple((a + b) / 2 for a, b in zip(inner[0], inner[1], strict=True))
    assert max(a / b for a, b in zip(empty, full, strict=True)) > exp_below(1.0)
    sets = [held for size in range(4) for held in combinations(range(3), size)]
    assert mechanism.channel_of(sets).ratio <= exp_below(1.0)


@pytest.mark.parametrize("set_size", [1, 2, 7])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 16.0])
@pytest.mark.parametrize("name", FAST)
def test_the_stated_epsilon_is_at_most_what_was_asked(name, epsilon, set_size):
    mechanism = create(name, 40, epsilon, set_size=set_size).mechanism
    assert 0.999 * epsilon < mechanism.epsilon <= epsilon
    if set_size == 1 and name != "grr":
        assert mechanism.p == mechanism.inner.p


def test_amplification_makes_grr_better_than_without():
    """With l = 4 at epsilon 1, `grr` may be as truthful as at epsilon log(4 (e - 1) + 1)."""
    mechanism = create("grr", 16, 1.0, set_size=4).mechanism
    assert float(mechanism.inner.ratio) == pytest.approx(4 * (math.e - 1) + 1)
    plain = RandomizedResponse(20, 1.0)
    assert mechanism.variance(1) < 0.2 * 16 * plain.variance(1)


def test_as_many_words_are_drawn_for_every_set():
    mechanism = create("llh", 100, 1.0, set_size=5).mechanism
    drawn = set()
    for held in ([], [3], list(range(5)), list(range(90))):
        stream = keystream.seeded(4)
        mechanism.privatize_sets(ItemSets(np.array(held, np.int64), np.array([len(held)])), stream)
        drawn.add(stream.drawn)
    assert len(drawn) == 1


@pytest.mark.parametrize("width", [5, 32, 33, 64])
def test_a_word_is_scaled_exactly(width):
    rng = np.random.default_rng(5)
    words = rng.integers(0, 2**width - 1, 50, dtype=np.uint64, endpoint=True)
    words[:2] = 0, 2**width - 1
    sizes = rng.integers(1, 2**32, 50)
    sizes[2:20] = rng.integers(1, 20, 18)
    exact = [int(word) * int(size) >> width for word, size in zip(words, sizes, strict=True)]
    assert set_base.scaled(words, sizes, width).tolist() == exact


def test_sets_are_read_in_many_forms():
    domain = ldp.Domain(["a", "b", "c"])
    for held in (["c", "a", "c"], ("a", "c"), {"a", "c"}, np.array(["c", "a"])):
        sets = ItemSets.read([held, []], domain)
        assert sets.items.tolist() == [0, 2]
        assert sets.sizes.tolist() == [2, 0]
    assert ItemSets.read(np.array([[2, 1], [1, 1]]), ldp.Domain(3)).sizes.tolist() == [2, 1]
    assert ItemSets.read([[], []], domain).users == 2


def test_items_outside_the_domain_are_the_catch_all_or_refused():
    plan = ldp.Plan(["a", "b"], "grr", 1.0, set_size=2, other="else")
    assert ItemSets.read([["x", "y", "a"]], plan.domain).items.tolist() == [0, 2]
    with pytest.raises(UnknownItemError, match="1 value not among the 2 items of the domain: 'x'"):
        ldp.Plan(["a", "b"], "grr", 1.0, set_size=2).privatize([["a"], ["x"]])


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (["a", "b"], InvalidInputError, "every user holds a set of items under this plan: .* not 'a'"),
        ("ab", InvalidInputError, "a list with one set of items for each user, not 'ab'"),
        ({"a": 1}, InvalidInputError, "a list with one set of items for each user"),
        ([None], InvalidInputError, "not None"),
        ([], EmptyError, "give one set of items for each user"),
    ],
)
def test_what_is_no_list_of_sets_is_refused(values, error, message):
    with pytest.raises(error, match=message):
        ldp.Plan(["a", "b"], "grr", 1.0, set_size=2).privatize(values)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"set_size": 0}, "set_size, the number of items that a user may hold, .* 0"),
        ({"set_size": 2.5}, "set_size"),
        ({"set_size": 2, "once": 0.5}, "set_size goes neither with once nor with dbit"),
        ({"set_size": 2, "mechanism": "dbit"}, "set_size goes neither with once nor with dbit"),
    ],
)
def test_set_sizes_that_do_not_fit_are_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        ldp.Plan(5, epsilon=1.0, **options)


def test_frequencies_do_not_say_what_people_hold_together():
    with pytest.raises(InvalidInputError, match="make the sets, and privatize them with a seed"):
        ldp.Plan(5, "oue", 1.0, set_size=2).simulate([1, 2, 3, 4, 5])


def test_a_plan_for_sets_is_read_again_and_no_other_plan(tmp_path):
    plan = ldp.Plan(["a", "b", "c"], epsilon=2.0, set_size=2)
    assert ldp.Plan.from_json(plan.to_json()) == plan
    assert plan.fingerprint != ldp.Plan(["a", "b", "c"], epsilon=2.0, set_size=3).fingerprint
    assert "sets of up to 2 of 3 items" in repr(plan)
    with pytest.raises(PlanError, match="this plan was altered"):
        ldp.Plan.from_json(plan.to_json().replace('"set_size":2', '"set_size":3'))
    aggregate = plan.aggregate(plan.privatize([["a"], ["a", "b"]]))
    aggregate.save(tmp_path / "counts.agg")
    assert ldp.Aggregate.load(tmp_path / "counts.agg") == aggregate
    assert ldp.Aggregate.load(tmp_path / "counts.agg").estimate().total is None


def test_auto_takes_the_least_noisy_mechanism_for_sets():
    few, many = ldp.Plan(10, epsilon=2.0, set_size=3), ldp.Plan(5_000, epsilon=2.0, set_size=3)
    assert few.mechanism.name == "grr"
    assert many.mechanism.name == "privset"
    assert ldp.Plan(5_000, epsilon=2.0, set_size=1).mechanism.name == "llh"
    assert ldp.Plan(3_000_000, epsilon=2.0, set_size=3).mechanism.name == "llh"  # a report would have 375,000 bytes
    assert "and sets of up to 3" in many.why


def test_a_mechanism_for_sets_can_be_given_as_an_object():
    mechanism = PaddingAndSampling(3, 1.0, set_size=2, kind=RandomizedResponse)
    assert ldp.Plan(3, mechanism) == ldp.Plan(3, "grr", 1.0, set_size=2)
