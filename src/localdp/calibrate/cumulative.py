"""Read quantiles and intervals off the posterior of one item.

Each function takes the posterior as ascending nodes k and `total`, the probability of a frequency up to each node.
Whole nodes are single frequencies, where `total` jumps. Other nodes belong to quadrature panels and stand for a
stretch of frequencies, where `total` (which counts half of the node's own probability) is interpolated.
"""

from __future__ import annotations

import numpy as np

from localdp.types import Vector

SLACK = 1e-9
"""An interpolated bound may miss a whole number by this much.

It is subtracted before rounding up (added before rounding down), so that 5.0000000001 does not become 6.
"""

_ROUNDING = 1e-12  # sums of probabilities may fall short of a level by rounding alone


def quantile(total: Vector, k: Vector, level: float) -> float:
    """The smallest frequency with at least this much probability at or below it.

    >>> quantile(np.array([0.2, 0.7, 1.0]), np.array([3.0, 5.0, 8.0]), 0.5)
    5.0
    """
    place = int(np.searchsorted(total, level - _ROUNDING))
    if place == 0 or place >= k.size:
        return float(k[min(place, k.size - 1)])
    gap, rise = k[place] - k[place - 1], total[place] - total[place - 1]
    if gap <= 1 or rise <= 0 or k[place].is_integer():
        return float(k[place])
    return float(k[place - 1] + gap * (level - total[place - 1]) / rise)


def quantiles(total: Vector, k: Vector, levels: Vector) -> Vector:
    """The quantile at each of many levels."""
    place = np.minimum(np.searchsorted(total, levels - _ROUNDING), k.size - 1)
    return np.where(k[place] == np.floor(k[place]), k[place], np.interp(levels, total, k))


def shortest_interval(total: Vector, k: Vector, level: float) -> tuple[float, float]:
    """The shortest range of frequencies with at least this probability.

    Among equally short ranges, it is the most probable one.

    >>> shortest_interval(np.array([0.2, 0.7, 1.0]), np.array([3.0, 5.0, 8.0]), 0.65)
    (3.0, 5.0)
    """
    before = np.concatenate([[0.0], total[:-1]])
    fractional = k != np.floor(k)
    # A range that begins at a panel node begins in the middle of its stretch, so only half of the node's probability
    # counts.
    before[fractional] = total[fractional]
    # For each start node, the first node at which the range has the required probability.
    place = np.searchsorted(total, before + level - _ROUNDING)
    possible = place < k.size
    if not possible.any():
        return float(k[0]), float(k[-1])
    place = np.minimum(place, k.size - 1)
    end = np.where(fractional[place], np.interp(before + level, total, k), k[place])
    length = np.where(possible, end - k, np.inf)
    held = np.where(possible, total[place] - before, 0.0)
    best = int(np.lexsort((-held, length))[0])
    return float(k[best]), float(end[best])
