"""The probability that an item belongs to the true top k, from draws of all frequencies that might.

Every draw is one possible truth: a frequency for each item, and its k most frequent items (of equal ones, some at
random). The share of draws that have an item among them is its probability.

Few items can be among them. Let t be the K-th largest of the frequencies that items reach with probability 0.99, where
K is enough larger than k that k of those K do reach it (K - k is eight deviations beyond the mean of the failures).
Then the top k reach t, and whoever hardly can is left out: as many of the least likely as together would put 0.005
items there. Of the others only the draws that reach t matter, which are those at the upper end of their distributions.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

CONFIDENCE = 0.99
_LEFT_OUT = 0.005
_DRAWS = 1_000
_NUMBERS = 10_000_000


def entry(lower: Vector, k: int) -> float:
    """A frequency that the top k reach, given what each item reaches with probability `CONFIDENCE`; -inf if none."""
    enough = k / CONFIDENCE
    enough = math.ceil(enough + 8 * math.sqrt(enough * (1 - CONFIDENCE)) + 2)
    return float(np.partition(lower, -enough)[-enough]) if enough < lower.size else -math.inf


def top_probabilities(reach: Vector, k: int, draw: Callable[[NDArray[np.intp], Vector], Vector]) -> Vector:
    """For every item the probability to be among the true top k.

    `reach` is the probability of each to reach the entry, and `draw(items, levels)` the frequencies of items, given in
    ascending order and maybe repeatedly, at these levels of their distributions.
    """
    rng = np.random.default_rng(0)  # the same question has the same answer
    rare_first = np.argsort(reach, kind="stable")
    out = int(np.searchsorted(np.cumsum(reach[rare_first]), _LEFT_OUT, side="right"))
    contenders = np.sort(rare_first[min(out, reach.size - k) :])
    count = int(np.clip(_NUMBERS // contenders.size, 100, _DRAWS))
    levels = rng.random((contenders.size, count))
    item, world = np.nonzero(levels > 1 - reach[contenders, None])
    frequencies = draw(contenders[item], levels[item, world])
    ties = rng.random(frequencies.size)
    order = np.lexsort((ties, -frequencies, world))
    first = np.searchsorted(world[order], np.arange(count))
    rank = np.arange(order.size) - first[world[order]]
    found = np.zeros(reach.size)
    found[contenders] = np.bincount(item[order[rank < k]], minlength=contenders.size) / count
    return found
