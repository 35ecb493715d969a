"""Itemsets that are counted: how they are chosen from single items, and which of them a user holds.

An itemset is a tuple of item indices in ascending order; a user holds it who holds all of its items. Single items are
itemsets too. Which larger ones are frequent is not known before they are counted. The guess is that items are held
independently of each other, so that an itemset has the product of its items' shares; for the order of the guesses that
is good enough, and the counts of the next round replace them.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from localdp.item_sets import ItemSets
from localdp.types import Vector

Itemset = tuple[int, ...]
"""The indices of the items, in ascending order."""

_USERS_AT_ONCE = 1 << 15


def likeliest(shares: Vector, largest: int) -> Iterator[Itemset]:
    """All itemsets with at most `largest` items, the one with the largest product of shares first.

    >>> found = likeliest(np.array([0.1, 0.6, 0.5]), largest=2)
    >>> [next(found) for _ in range(4)]
    [(1,), (2,), (1, 2), (0,)]
    """
    order = np.argsort(-shares, kind="stable")
    ranked = shares[order].tolist()
    # An itemset in the queue is a tuple of places in the order. What follows it is less likely: its last item is
    # replaced by the next one, or the next one is added. In this way every itemset comes exactly once.
    queue: list[tuple[float, tuple[int, ...]]] = [(-ranked[0], (0,))]
    while queue:
        negative, places = heapq.heappop(queue)
        yield tuple(sorted(order[list(places)].tolist()))
        following = places[-1] + 1
        if following < len(ranked):
            others = -1.0
            for place in places[:-1]:
                others *= ranked[place]
            heapq.heappush(queue, (others * ranked[following], (*places[:-1], following)))
            if len(places) < largest:
                heapq.heappush(queue, (negative * ranked[following], (*places, following)))


def held(candidates: tuple[Itemset, ...], sets: ItemSets) -> ItemSets:
    """Which of the candidates each user holds, as the numbers of the candidates.

    >>> sets = ItemSets(np.array([1, 2, 2]), np.array([2, 1]))  # one user holds 1 and 2, one holds 2
    >>> every = held(((1,), (1, 2), (2,)), sets)
    >>> every.items.tolist(), every.sizes.tolist()
    ([0, 1, 2, 2], [3, 1])
    """
    items = sorted({item for itemset in candidates for item in itemset})
    places = {item: place for place, item in enumerate(items)}
    columns = [[places[item] for item in itemset] for itemset in candidates]
    numbers, sizes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for start in range(0, sets.users, _USERS_AT_ONCE):
        holds = _matrix(sets, start, np.array(items, np.int64))
        found = np.stack([holds[:, own].all(axis=1) for own in columns], axis=1)
        numbers.append(np.nonzero(found)[1])
        sizes.append(found.sum(axis=1))
    return ItemSets(np.concatenate(numbers), np.concatenate(sizes))


def _matrix(sets: ItemSets, start: int, items: np.ndarray) -> np.ndarray:
    """Whether each user, from `start` on, holds each of these items."""
    sizes = sets.sizes[start : start + _USERS_AT_ONCE]
    first = int(sets.sizes[:start].sum())
    own = sets.items[first : first + int(sizes.sum())]
    users = np.repeat(np.arange(sizes.size), sizes)
    place = np.minimum(np.searchsorted(items, own), items.size - 1)
    known = items[place] == own
    holds = np.zeros((sizes.size, items.size), np.bool_)
    holds[users[known], place[known]] = True
    return holds
