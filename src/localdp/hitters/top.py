"""The probability that an item belongs to the true top k, from simulated worlds.

    Pr(item in top k)   ~   the share of simulated worlds where it is among the k most frequent items

A world is one random frequency for each item, drawn from the distribution of its true frequency. Ties are broken at
random.

Only the large frequencies of a world matter. Let t be a frequency that more than k + 8 sqrt(k) items are expected to
exceed. The number of items above t is nearly Poisson. So the whole top k almost certainly exceeds t, and frequencies
at or below t need not be drawn. The least likely items are left out altogether, as long as the expected number of them
above t stays below 0.005.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from localdp.types import Places, Vector

_LEFT_OUT = 0.005  # expected number of items above t that are left out
_WORLDS = (100, 1_000)  # the fewest and the most worlds
_NUMBERS = 10_000_000  # about how many frequencies to draw in all; if many items may exceed t, there are fewer worlds
_UNLIKELY = 0.02  # chances up to this one are drawn by the number of worlds
_BLOCK = 1 << 22  # random levels held in memory together


def entry(frequencies: Vector, k: int, above: Callable[[float], Vector]) -> Vector:
    """For every item, the probability that it exceeds t, a frequency that the whole top k exceeds.

    `above(t)` gives these probabilities for any t. The search for t starts from the estimated `frequencies`. Any t that
    is low enough will do; a larger one saves work, so the search stops at four times as many items as needed.
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
            if expected < 4 * enough:
                break
        t = 2 * low + 10 if high == math.inf else (low + high) / 2
    return chances


def top_probabilities(chances: Vector, k: int, quantiles_of: Callable[[Places, Vector], Vector]) -> Vector:
    """For every item, the probability that it is among the true top k.

    `chances` are the result of `entry`. `quantiles_of(items, levels)` gives the quantile of each of these items at its
    own level; items ascend and may be repeated. A quantile at a random level is a random draw from the distribution.
    """
    rng = np.random.default_rng(0)  # seeded, because the same question must have the same answer
    rare_first = np.argsort(chances, kind="stable")
    out = int(np.searchsorted(np.cumsum(chances[rare_first]), _LEFT_OUT, side="right"))
    contenders = np.sort(rare_first[min(out, chances.size - k) :])
    worlds = int(np.clip(_NUMBERS / chances.sum(), *_WORLDS))
    item, world, level = _exceeding(chances[contenders], worlds, rng)
    frequencies = quantiles_of(contenders[item], level)
    # Frequencies are whole numbers, so less than 1/2 breaks ties and nothing else.
    order = np.lexsort((-frequencies - rng.random(frequencies.size) / 2, world))
    first = np.searchsorted(world[order], np.arange(worlds))
    rank = np.arange(order.size) - first[world[order]]
    found = np.zeros(chances.size)
    found[contenders] = np.bincount(item[order[rank < k]], minlength=contenders.size) / worlds
    return found


def _exceeding(chances: Vector, worlds: int, rng: np.random.Generator) -> tuple[Places, Places, Vector]:
    """Every case of an item that exceeds t in a world: the item, the world, and the level of its distribution.

    Items ascend. An item exceeds t with probability `chance`: exactly when its random level is above 1 - chance. For
    unlikely items, first the number of worlds is drawn, and then which they are. (One that is drawn twice counts once,
    which makes a chance c smaller by less than c^2/2.)
    """
    likely = chances > _UNLIKELY
    rows = max(1, _BLOCK // worlds)
    dense, parts = np.flatnonzero(likely), []
    for start in range(0, dense.size, rows):
        items = dense[start : start + rows]
        levels = rng.random((items.size, worlds))
        item, world = np.nonzero(levels > 1 - chances[items, None])
        parts.append((items[item], world))
    rare = np.flatnonzero(~likely)
    item = np.repeat(rare, rng.binomial(worlds, chances[rare]))
    pairs = np.unique(item * worlds + rng.integers(0, worlds, item.size))
    parts.append((pairs // worlds, pairs % worlds))
    items, places = (np.concatenate(side) for side in zip(*parts, strict=True))
    order = np.argsort(items, kind="stable")
    items, places = items[order], places[order]
    return items, places, 1 - chances[items] * rng.random(items.size)
