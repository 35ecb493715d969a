r"""What people ask of cells that have an order: a mean, percentiles, shares of a range. Each is a question about sums.

Let f_i be the frequency of cell i, and L(w) the sum of w_i f_i. A posterior that knows intervals of such sums
(`AnyPosterior.linear`, or anything like it) answers everything here:

- **A ratio** R = L(u) / L(v), such as a mean, with v at least 0. R <= r exactly if L(u - r v) <= 0. So the interval
  of R ends where those of L(u - r v) end at 0. That is Fieller's way, and needs no Gaussian.
- **A percentile** is the smallest cell k for which the cells up to k hold a share of at least p, so that
  L(1[i <= k] - p) >= 0. An interval begins at the smallest k for which this is possible at all (the upper end of the
  interval is at least 0), and ends at the smallest k for which it is sure (the lower end is). Its ends are whole cells,
  each with more to spare than it needs; of few cells, the fewest neighbours that hold the percentile often enough are
  taken. The chance that the sum is at least 0 is then read off its interval as if each half of it were Gaussian.

Only the ordered cells count: a cell apart, such as "no answer", has no place on the scale.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from localdp.calibrate.base import Quantity
from localdp.types import Vector

Linear = Callable[[Vector, float], Quantity]
"""A function `linear(weights, level)`: the sum of weight times frequency over all cells, with its interval."""

_STEPS = 40  # towards the end of a ratio's interval; a known total needs one
_NEAR = 1e-9  # of the width of the scale
_FEW = 32  # cells between the ends of an interval, for which it is worth while to look at each


@dataclass(frozen=True, eq=False)
class OrderedCells:
    """What is known about a table whose first cells have an order; frequencies and shares serve alike.

    `means` are the posterior means of all cells. `starts` and `ends` say where each ordered cell begins and ends on the
    scale, and may be the same number. There may be more cells than those.

    >>> certain = lambda weights, level: Quantity(*[float(weights @ [10, 20, 70])] * 3, level)
    >>> ratings = OrderedCells(certain, np.array([10.0, 20, 70]), np.array([1.0, 2, 3]), np.array([1.0, 2, 3]))
    >>> round(ratings.mean(0.9).value, 6), ratings.percentile(50, 0.9).value, float(ratings.cumulative[0])
    (2.6, 3.0, 0.1)
    """

    linear: Linear
    means: Vector
    starts: Vector
    ends: Vector

    def mean(self, level: float) -> Quantity:
        """The mean, where the mean of a cell is its middle."""
        everybody, middles = self._weights(np.ones(self.starts.size)), (self.starts + self.ends) / 2
        found = ratio(self.linear, self._weights(middles), everybody, level, float(np.ptp(middles)))
        if found is None:
            return Quantity(float(middles.mean()), float(middles[0]), float(middles[-1]), level)
        value, low, high = np.clip([found.value, found.low, found.high], middles[0], middles[-1]).tolist()
        return replace(found, value=value, low=low, high=high)

    def percentile(self, percent: float, level: float) -> Quantity:
        """The number that `percent` of the people in ordered cells do not exceed.

        Inside a bin people are taken as spread evenly. The interval consists of whole bins, whoever is where in them.
        """
        share = percent / 100
        cells = range(self.starts.size)

        @cache
        def up_to(cell: int) -> Quantity:
            # People up to this cell, less the share of all: 0 or more from the cell on in which the percentile lies.
            weights = np.where(np.arange(self.starts.size) <= cell, 1 - share, -share)
            return self.linear(self._weights(weights), level)

        # The sum over all ordered cells is not negative, so the last cell is always far enough.
        at = min(int(np.searchsorted(self.cumulative, share)), cells[-1])
        low = min(bisect_left(cells[:-1], 0.0, key=lambda cell: up_to(cell).high), at)
        high = max(bisect_left(cells[:-1], 0.0, key=lambda cell: up_to(cell).low), at)
        if 0 < high - low <= _FEW:
            reached = [
                _chance_of_no_less(up_to(cell)) if 0 <= cell < cells[-1] else cell > 0
                for cell in range(low - 1, high + 1)
            ]
            low, high = _fewest(np.array(reached, np.float64), low, at, high, level)
        before = float(self.cumulative[at - 1]) if at else 0.0
        own = float(self.cumulative[at]) - before
        within = min(max((share - before) / own, 0.0), 1.0) if own > 0 else 0.5
        value = float(self.starts[at]) + within * float(self.ends[at] - self.starts[at])
        return Quantity(value, float(self.starts[low]), float(self.ends[high]), level)

    def amount(self, first: int, last: int, level: float) -> Quantity:
        """The sum of the frequencies of the cells from `first` to `last`, both included."""
        place = np.arange(self.starts.size)
        return self.linear(self._weights(((first <= place) & (place <= last)).astype(np.float64)), level)

    @cached_property
    def cumulative(self) -> Vector:
        """The share of people up to and with each ordered cell, of those in ordered cells."""
        summed = np.cumsum(np.maximum(self.means[: self.starts.size], 0.0))
        if summed[-1] <= 0:
            return np.arange(1, summed.size + 1) / summed.size
        return np.asarray(summed / summed[-1])

    def _weights(self, ordered: Vector) -> Vector:
        """These weights for the ordered cells, and 0 for cells apart."""
        weights = np.zeros(self.means.size)
        weights[: ordered.size] = ordered
        return weights


def _chance_of_no_less(found: Quantity) -> float:
    """The chance that a quantity is at least 0: as if Gaussian, with the spread of its interval on the side of 0."""
    spread = (found.value - found.low) if found.value >= 0 else (found.high - found.value)
    return float(ndtr(ndtri((1 + found.level) / 2) * found.value / spread)) if spread > 0 else float(found.value >= 0)


def _fewest(reached: Vector, low: int, at: int, high: int, level: float) -> tuple[int, int]:
    """The first and the last of the fewest neighbours, `at` among them, that hold a percentile with this chance.

    `reached` has the chances that it lies no farther than each cell, from the one before `low` up to `high`.
    """
    up_to = np.maximum.accumulate(reached)
    found = [
        (last - first, -(up_to[last - low + 1] - up_to[first - low]), first, last)
        for first in range(low, at + 1)
        for last in range(at, high + 1)
        if up_to[last - low + 1] - up_to[first - low] >= level
    ]
    return min(found)[2:] if found else (low, high)


def ratio(linear: Linear, top: Vector, bottom: Vector, level: float, width: float) -> Quantity | None:
    """L(top) / L(bottom) with its interval, up to an error of a billionth of `width`; None if L(bottom) may be 0."""
    above, below = linear(top, level), linear(bottom, level)
    if not below.value > 0 or not below.low > 0:
        return None
    value = above.value / below.value

    # The interval holds each r for which that of L(top - r bottom) holds 0 (Fieller). Newton's method finds its ends.
    def end(side: Callable[[Quantity], float]) -> float:
        at = value
        for _ in range(_STEPS):
            step = side(linear(top - at * bottom, level)) / below.value
            at += step
            if not abs(step) > _NEAR * width:
                break
        return at

    return Quantity(value, end(lambda found: found.low), end(lambda found: found.high), level)
