"""The items of a user are strictly ascending, whoever builds the sets: a repeated item would be drawn too often.

With `grr`, the element that is drawn may be perturbed less, because no element has a probability above 1/l. A set that
holds one item l times breaks that, and its report has epsilon ln(1 + l (e^epsilon - 1)) instead of epsilon.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import localdp as ldp
from localdp.checks.sets import _instances
from localdp.checks.tapes import Law, Path, bits_read
from localdp.errors import InvalidInputError
from localdp.item_sets import ItemSets
from localdp.mechanisms import PaddingAndSampling, PrivSet, RandomizedResponse, SetMechanism
from localdp.randomness import keystream
from localdp.randomness.thresholds import exp_below
from localdp.sets import Survey, itemsets
from localdp.sets.candidates import held

ORDER = "ascending order, and none may be there twice"
CASES = [one for kind in (RandomizedResponse, PrivSet) for one in _instances(kind) if one.set_size > 1]


def unchecked(items, sizes) -> ItemSets:
    """Sets as they were before anybody looked at them."""
    sets = object.__new__(ItemSets)
    object.__setattr__(sets, "items", np.array(items, np.int64))
    object.__setattr__(sets, "sizes", np.array(sizes, np.int64))
    return sets


def ratio_of(mechanism: SetMechanism, sets: list[tuple[int, ...]]) -> Fraction:
    """The largest ratio of report probabilities, e^epsilon, by running the device on every random input."""

    def randomize(places, source):
        own = sets[places[0]]
        return mechanism.randomize_sets(unchecked(own * places.size, [len(own)] * places.size), source)

    device = Path(mechanism.width, randomize)
    laws = [Law(device, place, bits_read(device)).probabilities for place in range(len(sets))]
    every = set().union(*laws)
    return max(max(law[report] for law in laws) / min(law[report] for law in laws) for report in every)


def is_accepted(own: tuple[int, ...]) -> bool:
    try:
        ItemSets(np.array(own, np.int64), np.array([len(own)]))
    except InvalidInputError:
        return False
    return True


@pytest.mark.parametrize("mechanism", CASES, ids=repr)
def test_what_is_accepted_stays_within_epsilon_and_a_repeated_item_would_not(mechanism):
    """Over every list of items up to one more than the set size, and every random input."""
    lists = [own for length in range(mechanism.set_size + 2) for own in product(range(mechanism.size), repeat=length)]
    accepted = [own for own in lists if is_accepted(own)]
    assert sorted(accepted) == sorted(own for own in lists if list(own) == sorted(set(own)))
    assert len(accepted) == 2**mechanism.size
    assert ratio_of(mechanism, accepted) <= mechanism.ratio <= exp_below(mechanism.requested_epsilon)
    if mechanism.name == "grr":
        one = (0,) * mechanism.set_size
        reached = math.log(ratio_of(mechanism, [*accepted, one]))
        assert reached == pytest.approx(math.log(1 + mechanism.set_size * (mechanism.ratio - 1)), rel=1e-9)
        assert reached > mechanism.requested_epsilon


@pytest.mark.parametrize(("set_size", "reached"), [(4, 2.06), (64, 4.70)])
def test_a_set_of_one_item_repeated_would_reach_a_multiple_of_epsilon(set_size, reached):
    mechanism = PaddingAndSampling(3, 1.0, set_size=set_size, kind=RandomizedResponse)
    inner = mechanism.inner.channel()
    assert math.log(inner.ratio) == pytest.approx(math.log(1 + set_size * (math.e - 1)), rel=1e-9)
    assert math.log(inner.ratio) > reached


def repeats(users: int = 1) -> ItemSets:
    return ItemSets(np.tile(np.array([1, 1]), users), np.full(users, 2))


@pytest.mark.parametrize(
    "accepts",
    [
        lambda: ldp.Plan(5, "grr", 1.0, set_size=2).privatize_sets(repeats()),
        lambda: ldp.Plan(5, "privset", 1.0, set_size=2).privatize_sets(repeats()),
        lambda: ldp.Plan(5, "grr", 1.0, set_size=2).mechanism.privatize_sets(repeats(), keystream.secure()),
        lambda: ldp.Plan(5, "grr", 1.0, set_size=2).mechanism.randomize_sets(repeats(), keystream.secure()),
        lambda: itemsets(repeats(5_000), 5, epsilon=2.0),
        lambda: Survey(5, epsilon=2.0, users=10_000).round.privatize(repeats()),
        lambda: held(((1,), (2,)), repeats()),
        lambda: ItemSets.joined([repeats()]),
    ],
)
def test_no_way_takes_repeated_items(accepts):
    with pytest.raises(InvalidInputError, match=ORDER):
        accepts()


@pytest.mark.parametrize("name", ["grr", "privset"])
def test_sets_that_are_changed_after_they_were_made_are_looked_at_again(name):
    items = np.array([1, 2])
    sets = ItemSets(items, np.array([2]))
    items[1] = 1
    plan = ldp.Plan(5, name, 1.0, set_size=2)
    with pytest.raises(InvalidInputError, match=ORDER):
        plan.privatize_sets(sets)


@pytest.mark.parametrize("name", ["grr", "oue", "privset"])
def test_the_stated_law_refuses_repeated_items_too(name):
    mechanism = ldp.Plan(3, name, 1.0, set_size=2).mechanism
    with pytest.raises(InvalidInputError, match="twice"):
        mechanism.channel_of([(1, 1)])


@pytest.mark.parametrize(
    ("items", "sizes", "message"),
    [
        ([2, 1], [2], ORDER),
        ([0, 1, 1], [1, 2], ORDER),
        ([1, 2], [3], "do not add up"),
        ([1, 2], [3, -1], "do not add up"),
        ([1, 2], [1], "do not add up"),
        ([1.0, 2.0], [2], "whole numbers"),
        ([1, 2], [2.0], "whole numbers"),
        ([[1, 2]], [2], "whole numbers"),
        ([True, False], [1, 1], "whole numbers"),
        (np.ma.array([1, 2], mask=[True, False]), [2], "whole numbers"),
    ],
)
def test_arrays_that_are_no_sets_are_refused(items, sizes, message):
    arrays = [given if np.ma.isMaskedArray(given) else np.array(given) for given in (items, sizes)]
    with pytest.raises(InvalidInputError, match=message):
        ItemSets(*arrays)


@pytest.mark.parametrize("kind", [np.uint8, np.uint64, np.int32])
def test_all_kinds_of_whole_numbers_are_compared_as_numbers(kind):
    """Differences of unsigned numbers would wrap around."""
    assert ItemSets(np.array([1, 3, 0], kind), np.array([2, 0, 1], kind)).users == 3
    with pytest.raises(InvalidInputError, match=ORDER):
        ItemSets(np.array([3, 1], kind), np.array([2], kind))
    huge = np.array([2**63, 2**63], np.uint64)  # their sum wraps to 0
    with pytest.raises(InvalidInputError, match="do not add up"):
        ItemSets(np.zeros(0, np.int64), huge)


def test_random_lists_are_accepted_exactly_if_every_user_has_a_set():
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(2_000):
        lists = [rng.integers(0, 4, rng.integers(0, 4)).tolist() for _ in range(rng.integers(0, 4))]
        items = np.array([item for own in lists for item in own], np.int64)
        expected = all(own == sorted(set(own)) for own in lists)
        seen.add(expected)
        try:
            ItemSets(items, np.array([len(own) for own in lists], np.int64))
        except InvalidInputError:
            assert not expected, lists
        else:
            assert expected, lists
    assert seen == {True, False}
