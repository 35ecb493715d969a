"""PrivSet: exactly private for every set, unbiased, as good as its formula says, and refusing what it cannot do.

Statistical tests here would fail by chance once in a million or less.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import localdp as ldp
from localdp.checks import MECHANISM_CHECKS, CheckFailure
from localdp.checks.sets import check_sets
from localdp.errors import EpsilonError, FrequencyError, InvalidInputError, WireError
from localdp.item_sets import ItemSets
from localdp.kernels import dispatch
from localdp.kernels.subsets import draw_bitmaps, swap_bits
from localdp.mechanisms import PrivSet, SubsetSelection, create
from localdp.mechanisms.privset import SubsetLaw
from localdp.randomness import keystream
from localdp.randomness.thresholds import exp_below


def one(held):
    return ItemSets(np.array(sorted(held), np.int64), np.array([len(held)]))


@pytest.mark.parametrize("check", MECHANISM_CHECKS, ids=lambda check: check.__name__)
def test_it_passes_the_public_checks(check):
    check(PrivSet, 0)


@pytest.mark.parametrize("set_size", [1, 2, 7, 60, 256])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 4.0, 16.0])
@pytest.mark.parametrize("size", [2, 40, 100_000])
def test_the_stated_epsilon_is_at_most_what_was_asked(size, epsilon, set_size):
    mechanism = PrivSet(size, epsilon, set_size=set_size)
    assert mechanism.ratio <= exp_below(epsilon)
    assert 0.999 * epsilon < mechanism.epsilon <= epsilon
    assert 0 < mechanism.q_star < mechanism.p_star < 1
    assert sum(mechanism.hits) < 2**64


def test_all_subsets_with_as_much_in_common_are_equally_likely_and_add_up_to_one():
    mechanism = PrivSet(5, 1.0, set_size=2)
    for held in [(), (0,), (1, 3), (0, 2, 4)]:
        assert sum(mechanism.channel_of([held]).probabilities[0]) == 1


def test_the_law_is_the_published_one_but_for_rounding():
    """Pr(report) is proportional to e^epsilon if it meets the padded set, else to 1 (Wang et al., 2018)."""
    mechanism, e = PrivSet(8, 1.0, set_size=2), math.exp(1.0)
    k, elements = mechanism.subset, 10
    disjoint = math.comb(elements - 2, k)
    total = e * (math.comb(elements, k) - disjoint) + disjoint
    assert mechanism.p_star == pytest.approx(e * math.comb(elements - 1, k - 1) / total, rel=1e-12)
    apart = math.comb(elements - 3, k - 1)
    assert mechanism.q_star == pytest.approx((e * (math.comb(elements - 1, k - 1) - apart) + apart) / total, rel=1e-12)


@pytest.mark.parametrize("size", [2, 5, 50, 1_000])
@pytest.mark.parametrize("set_size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0, 8.0])
def test_the_size_of_the_subset_is_nearly_the_best(size, set_size, epsilon):
    mechanism = PrivSet(size, epsilon, set_size=set_size)
    near = range(max(1, mechanism.subset // 2), min(size, 2 * mechanism.subset + 2) + 1)
    e = exp_below(epsilon)
    best = max(SubsetLaw(size + set_size, set_size, k, 64, e - 1).precision for k in near)
    assert float(best * mechanism._by_pair(1).variance) < 1.02


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
def test_the_variance_grows_with_the_set_size_and_not_with_its_square(epsilon):
    one_item = SubsetSelection(5_000, epsilon).variance(1)
    for set_size in (1, 2, 4, 8, 16):
        ratio = create("privset", 5_000, epsilon, set_size=set_size).mechanism.variance(1) / one_item
        assert set_size * 0.9 < ratio < set_size * 1.5
        sampled = create("oue", 5_000, epsilon, set_size=set_size).mechanism.variance(1)
        assert ratio * one_item < max(1.001, 1.45 / set_size) * sampled


@pytest.mark.parametrize(("size", "set_size", "epsilon"), [(20, 3, 2.0), (300, 3, 1.0), (7, 12, 1.0)])
def test_estimates_are_unbiased_for_sets_within_the_set_size(size, set_size, epsilon):
    rng = np.random.default_rng(3)
    sizes = rng.integers(0, min(size, set_size) + 1, 60_000)
    order = np.argsort(rng.exponential(size=(60_000, size)) * np.arange(1, size + 1), axis=1)
    sets = ItemSets.of(np.concatenate([row[:k] for row, k in zip(order, sizes, strict=True)]), sizes)
    truth = np.bincount(sets.items, minlength=size)
    plan = ldp.Plan(size, "privset", epsilon, set_size=set_size)
    estimate = plan.aggregate(plan.privatize_sets(sets, seed=1)).estimate()
    scores = (estimate.frequencies - truth) / estimate.std_error_at(truth)
    assert np.abs(scores).max() < 5.9  # of at most 300 normal numbers
    assert estimate.total is None


def test_the_variance_is_that_of_the_counts():
    """Many repetitions of one item's estimate, for holders and for others, against the stated variance."""
    plan = ldp.Plan(6, "privset", 1.0, set_size=2)
    sets = [[0, 1]] * 150 + [[0]] * 50 + [[]] * 100
    found = [plan.aggregate(plan.privatize(sets, seed=seed)).estimate().frequencies for seed in range(1_500)]
    estimate = plan.aggregate(plan.privatize(sets, seed=1)).estimate()
    stated = estimate.std_error_at(np.array([200.0, 150.0, 0, 0, 0, 0])) ** 2
    assert np.var(found, axis=0) / stated == pytest.approx(np.ones(6), abs=5 * math.sqrt(2 / 1_500))
    assert np.mean(found, axis=0) == pytest.approx([200, 150, 0, 0, 0, 0], abs=5 * math.sqrt(stated.max() / 1_500))


def test_a_larger_set_counts_for_less_as_stated():
    """Holders of 5 items under a set size of 2 count as 2/5 of a holder each, whichever item it is."""
    plan = ldp.Plan(10, "privset", 4.0, set_size=2)
    estimate = plan.aggregate(plan.privatize([[0, 2, 4, 6, 8]] * 60_000, seed=2)).estimate()
    assert estimate.frequencies[::2] == pytest.approx(24_000, abs=5.5 * estimate.std_error_at([24_000])[0])
    assert np.abs(estimate.frequencies[1::2]).max() < 5.5 * estimate.std_error


class _PadsNothing(PrivSet):
    """Wrong: a short set is filled up with its own items, so that it has fewer elements."""

    def padded(self, sets, source):
        elements = super().padded(sets, source)
        return np.where(elements >= self.size, elements[:, :1], elements)


class _SwapsUpwards(PrivSet):
    """Wrong: the places are renamed from the first to the last, and one swap undoes another."""

    def randomize_sets(self, sets, source):
        elements = self.padded(sets, source)
        common = self._common(sets.users, source)
        rows = draw_bitmaps(source, self.set_size - common, self.set_size, self.set_size, 0, self.report_bits)
        rows |= draw_bitmaps(source, common, self.size, self.subset, self.set_size, self.report_bits)
        for place in range(self.set_size):
            swap_bits(rows, place, elements[:, place])
        return rows


class _FirstOfTheLarge(PrivSet):
    """Wrong: of a larger set the first items are always taken."""

    def padded(self, sets, source):
        source.integers(sets.users)
        return super().padded(sets, _Zeros())


class _Zeros:
    def integers(self, who):
        return np.zeros(who, np.uint64)


class _HitsTooOften(PrivSet):
    """Wrong: it tells the truth as at a larger epsilon."""

    def _common(self, users, source):
        common = super()._common(users, source)
        return np.where(source.integers(users) == 0, 1, common)


class _DrawsForLargeSetsOnly(PrivSet):
    """Wrong: how many bits are drawn depends on the set."""

    def padded(self, sets, source):
        source.integers(np.flatnonzero(sets.sizes > 1))
        return super().padded(sets, source)


@pytest.mark.parametrize(
    ("mutant", "message"),
    [
        (_PadsNothing, "another probability"),
        (_SwapsUpwards, "another probability"),
        (_FirstOfTheLarge, "another probability"),
        (_HitsTooOften, "another probability"),
        (_DrawsForLargeSetsOnly, "does not read as many random bits for the set"),
    ],
)
def test_a_wrong_client_is_caught(mutant, message):
    with pytest.raises(CheckFailure, match=message):
        check_sets(mutant)


def test_as_many_words_are_drawn_for_every_set():
    mechanism = create("privset", 100, 1.0, set_size=5).mechanism
    drawn = set()
    for held in ([], [3], range(5), range(90)):
        stream = keystream.seeded(4)
        mechanism.privatize_sets(one(held), stream)
        drawn.add(stream.drawn)
    assert drawn == {1 + 1 + 5 + 4 + mechanism.subset}


@pytest.mark.parametrize(("size", "set_size"), [(3, 1), (3, 2), (70, 7), (2_000, 3), (5, 5)])
def test_compiled_and_plain_kernels_make_the_same_reports(size, set_size):
    rng = np.random.default_rng(1)
    sizes = rng.integers(0, size + 1, 500) if size < 100 else rng.integers(0, 6, 500)
    sets = ItemSets.of(np.concatenate([rng.permutation(size)[:k] for k in sizes]), sizes)
    mechanism = PrivSet(size, 0.7, set_size=set_size)
    made = []
    for kernels in ("numpy", "fast"):
        with dispatch.kernels(kernels):
            made.append(mechanism.privatize_sets(sets, keystream.seeded(6)))
    assert np.array_equal(*made)
    assert (np.bitwise_count(made[0]).sum(axis=1, dtype=int) == mechanism.subset).all()


@pytest.mark.parametrize("size", [9, 70])
def test_the_renaming_puts_each_place_at_its_element(size):
    """Bit t goes to the element number t, and every other bit to a place of its own."""
    rng = np.random.default_rng(2)
    for chosen in itertools.chain(itertools.combinations(range(5), 3), [sorted(rng.permutation(size)[:3])]):
        moved = []
        for place in range(size):
            rows = np.zeros((1, -(-size // 8)), np.uint8)
            rows[0, place >> 3] = 1 << (place & 7)
            for t in reversed(range(3)):
                swap_bits(rows, t, np.array([chosen[t]]))
            (found,) = np.flatnonzero(np.unpackbits(rows[0], bitorder="little"))
            moved.append(int(found))
        assert moved[:3] == list(map(int, chosen))
        assert sorted(moved) == list(range(size))


def test_bitmaps_with_rounds_left_out_are_uniform_on_every_tape():
    from localdp.checks.tapes import Tapes

    length = 3 * 3
    for skipped in range(4):
        tapes = Tapes(np.arange(1 << length, dtype=np.uint64), length, 3)
        rows = draw_bitmaps.definition(tapes, np.full(1 << length, skipped), 5, 3, 0, 5)[~tapes.spilled]
        found, counts = np.unique(rows, return_counts=True)
        assert np.bitwise_count(found).tolist() == [3 - skipped] * math.comb(5, 3 - skipped)
        assert len(set(counts.tolist())) == 1


def test_sizes_that_do_not_fit_the_items_are_refused():
    mechanism = PrivSet(5, 1.0, set_size=2)
    for sizes in ([-1, 3], [1, 0], [3]):
        with pytest.raises(InvalidInputError, match="do not add up"):
            mechanism.privatize_sets(ItemSets(np.array([1, 2]), np.array(sizes)), keystream.seeded(1))


def test_reports_of_another_weight_are_refused():
    plan = ldp.Plan(20, "privset", 1.0, set_size=3)
    data = bytearray(plan.privatize([[1, 2]]).to_bytes())
    data[-2] ^= 1
    with pytest.raises(WireError, match=f"does not hold exactly {plan.mechanism.subset} elements") as refused:
        plan.read(bytes(data))
    assert refused.value.code.value == "wrong-weight"


def test_impossible_counts_are_refused():
    plan = ldp.Plan(20, "privset", 0.5, set_size=2)
    assert plan.mechanism.subset == 4
    with pytest.raises(FrequencyError, match="10 reports support at least 20 and at most 40 items"):
        ldp.Aggregate(plan, np.ones(20, np.int64) - 1, 10)
    ldp.Aggregate(plan, np.array([10, 10, *[0] * 18]), 10)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, InvalidInputError, "privset is for users who hold sets: give set_size"),
        ({"set_size": 300}, InvalidInputError, "set_size, the number of items that a user may hold, .* 256"),
        ({"set_size": 2, "once": 0.5}, InvalidInputError, "set_size goes neither with once"),
        ({"set_size": 2, "epsilon": 1e-21}, EpsilonError, "too small for privset"),
    ],
)
def test_what_does_not_fit_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        ldp.Plan(5, "privset", **{"epsilon": 1.0} | options)


def test_auto_takes_padding_and_sampling_for_sets_beyond_those_of_privset():
    assert ldp.Plan(20_000, epsilon=1.0, set_size=256).mechanism.name == "privset"
    assert ldp.Plan(20_000, epsilon=1.0, set_size=257).mechanism.name != "privset"


def test_a_plan_is_read_again_and_an_altered_one_is_not():
    plan = ldp.Plan(["a", "b", "c"], "privset", 2.0, set_size=2, other="c")
    assert ldp.Plan.from_json(plan.to_json()) == plan
    hits = plan.mechanism.parameters()["hits"]
    assert all(Fraction(int(hit), 2**64) < 1 for hit in hits.split(","))
    with pytest.raises(ldp.LocalDPError, match="altered"):
        ldp.Plan.from_json(plan.to_json().replace(hits, str(int(hits.split(",")[0]) + 1)))
