"""The probability that an item belongs to the true top k, from draws of all frequencies that might.

Every draw is one possible world: a frequency for each item, and its k most frequent items (of equal ones, some at
random). The share of worlds that have an item among them is its probability.

Little of a world matters. Let t be a frequency that, in expectation, enough more than k items exceed: k and eight
deviations of a Poisson number of that size. Then the top k exceed t, and only the draws that do are made: those at the
upper ends of the items' distributions. Items that hardly can exceed t are left out, as many of the least likely as
together would put 0.005 items there.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from localdp.types import Places, Vector

_LEFT_OUT = 0.005
_WORLDS = (100, 1_000)
_NUMBERS = 10_000_000
_BLOCK = 1 << 22


def entry(frequencies: Vector, k: int, above: Callable[[float], Vector]) -> Vector:
    """For every item the probability to exceed a frequency that the top k exceed.

    `above(t)` is the probability of each item to exceed t, and `frequencies` are estimates to begin the search from.
    """
    enough = k + 8 * math.sqrt(k) + 10
    chances: Vector = np.ones(frequencies.size)  # all exceed -1
    if enough >= frequencies.size:
        return chances
    place = int(enough)
    low, high = -1.0, math.inf
    t = float(np.partition(frequencies, -place)[-place])
    for _ in range(40):
        t = math.floor(t)
        if not low < t < high:
            break
        found = above(t)
        expected = float(found.sum())
        if expected < enough:
            high = t
        else:
            low, chances = t, found
            if expected < 2 * enough:
                break
        t = 2 * low + 10 if high == math.inf else (low + high) / 2
    return chances


def top_probabilities(chances: Vector, k: int, draw: Callable[[Places, Vector], Vector]) -> Vector:
    """For every item the probability to be among the true top k.

    `chances` are those of `entry`, and `draw(items, levels)` the frequencies of items, given in ascending order and
    maybe repeatedly, at these levels of their distributions.
    """
    rng = np.random.default_rng(0)  # the same question has the same answer
    rare_first = np.argsort(chances, kind="stable")
    out = int(np.searchsorted(np.cumsum(chances[rare_first]), _LEFT_OUT, side="right"))
    contenders = np.sort(rare_first[min(out, chances.size - k) :])
    worlds = int(np.clip(_NUMBERS / chances.sum(), *_WORLDS))
    item, world, level = _exceeding(chances[contenders], worlds, rng)
    frequencies = draw(contenders[item], level)
    order = np.lexsort((-frequencies - rng.random(frequencies.size) / 2, world))
    first = np.searchsorted(world[order], np.arange(worlds))
    rank = np.arange(order.size) - first[world[order]]
    found = np.zeros(chances.size)
    found[contenders] = np.bincount(item[order[rank < k]], minlength=contenders.size) / worlds
    return found


def _exceeding(chances: Vector, worlds: int, rng: np.random.Generator) -> tuple[Places, Places, Vector]:
    """Item by item, in which worlds it exceeds the entry, and at which level of its distribution it is there."""
    rows = max(1, _BLOCK // worlds)
    parts = []
    for start in range(0, chances.size, rows):
        part = chances[start : start + rows, None]
        levels = rng.random((part.size, worlds))
        item, world = np.nonzero(levels > 1 - part)
        parts.append((item + start, world, levels[item, world]))
    items, places, reached = zip(*parts, strict=True)
    return np.concatenate(items), np.concatenate(places), np.concatenate(reached)
