"""The posterior of a table with structure: an average of parts, and what it can be asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from scipy.special import betaincinv, gammaincinv, ndtri

from localdp.calibrate.base import AnyPosterior, Quantity
from localdp.calibrate.cumulative import SLACK
from localdp.frozen import Frozen
from localdp.kernels.blas import one_thread
from localdp.structures.few_cells import FEW
from localdp.structures.likelihood import Rows
from localdp.structures.marginals import Marginals
from localdp.structures.parts import Part
from localdp.types import Places, Vector

_LEAST_SHAPE = 0.15  # of the gamma law of a sum near its bound
_CHUNK = 1 << 22  # numbers handled together, at most


class StructuredPosterior(Frozen, AnyPosterior):
    """The average of parts with these weights; no frequency is above `most`, and `total` is their sum if known."""

    def __init__(self, parts: Sequence[Part], weights: Vector, most: float, total: float | None) -> None:
        self.parts, self.weights, self.most, self.total = tuple(parts), weights, most, total
        self._freeze()

    def means(self) -> Vector:
        return self._moments[0]

    def deviations(self) -> Vector:
        return self._moments[1]

    def probability_above(self, limit: int) -> Vector:
        if limit < 0:
            return np.ones(self._cells)
        if limit >= self.most:
            return np.zeros(self._cells)
        return self._row_by_row(lambda cells: (cells.above(limit + 0.5),))[0]

    def shortest_intervals(self, level: float) -> tuple[Vector, Vector]:
        low, high = self._row_by_row(lambda cells: cells.shortest(level))
        low = np.floor(low + SLACK)
        return np.where(low <= 1, 0.0, low), np.minimum(np.ceil(high - SLACK), self.most) + 0.0

    def quantiles(self, level: float) -> Vector:
        def found(cells: Marginals) -> tuple[Vector]:
            return (cells.quantiles(np.full(cells.values.shape[0], level)),)

        return np.ceil(self._row_by_row(found)[0] - SLACK) + 0.0

    def quantiles_of(self, items: Places, levels: Vector) -> Vector:
        asked, starts, counts = np.unique(items, return_index=True, return_counts=True)
        found = np.empty(levels.size)
        for first in range(0, asked.size, self._rows_at_once):
            some = slice(first, first + self._rows_at_once)
            cells = self._marginals(asked[some])
            for row, (start, count) in enumerate(zip(starts[some], counts[some], strict=True)):
                found[start : start + count] = cells.of(row, levels[start : start + count])
        return np.rint(found)

    def linear(self, weights: Vector, level: float) -> Quantity:
        held = np.flatnonzero(weights)
        if held.size == 1:
            tails = np.array([(1 - level) / 2, (1 + level) / 2])
            ends = self.quantiles_of(np.repeat(held, 2), tails) * weights[held[0]]
            value = float(weights @ self.means())  # the ends are whole people, and of less than one there is none
            return Quantity(value, min(float(ends.min()), value), max(float(ends.max()), value), level)
        value, variance = self.sum_moments(weights)
        least, largest = self._bounds(weights)
        low, high = bounded_interval(value, variance, level, least, largest)
        return Quantity(value, low, high, level)

    def sum_moments(self, weights: Vector) -> tuple[float, float]:
        """The mean and the variance of the sum of weight times frequency."""
        moments = np.array([part.sum_moments(weights) for part in self.parts])
        value = float(self.weights @ moments[:, 0])
        return value, float(self.weights @ (moments[:, 1] + (moments[:, 0] - value) ** 2))

    def _bounds(self, weights: Vector) -> tuple[float, float]:
        if self.total is not None:
            return float(weights.min()) * self.total, float(weights.max()) * self.total
        least = 0.0 if weights.min() >= 0 else -np.inf
        return least, np.inf if weights.max() > 0 else 0.0

    @cached_property
    @one_thread()
    def _moments(self) -> tuple[Vector, Vector]:
        means = self._average([part.moments[0] for part in self.parts])
        variances = self._average([part.moments[1] + (part.moments[0] - means) ** 2 for part in self.parts])
        return (means if self.total is None else added_up(means, variances, self.total)), np.sqrt(variances)

    def _average(self, values: Sequence[Vector]) -> Vector:
        return np.asarray(sum(weight * value for weight, value in zip(self.weights, values, strict=True)))

    @property
    def _cells(self) -> int:
        return self.parts[0].moments[0].size

    @property
    def _rows_at_once(self) -> int:
        return max(1, _CHUNK // (100 * len(self.parts)))

    def _marginals(self, rows: Rows) -> Marginals:
        if self._cells <= FEW:
            return self._few.some(rows)
        return self._fresh_marginals(rows)

    @cached_property
    def _few(self) -> Marginals:
        """The distributions of a few cells, which have very many points each."""
        return self._fresh_marginals(slice(None))

    def _fresh_marginals(self, rows: Rows) -> Marginals:
        points = [part.points(rows) for part in self.parts]
        values = np.concatenate([value for value, _ in points], axis=1)
        shares = [weight * share for weight, (_, share) in zip(self.weights, points, strict=True)]
        return Marginals(values, np.concatenate(shares, axis=1))

    def _row_by_row(self, answer: Callable[[Marginals], tuple[Vector, ...]]) -> list[Vector]:
        step = self._rows_at_once
        pieces = []
        for start in range(0, self._cells, step):
            pieces.append(answer(self._marginals(slice(start, start + step))))
        return [np.concatenate(piece) for piece in zip(*pieces, strict=True)]


def added_up(means: Vector, variances: Vector, total: float) -> Vector:
    """These means, moved in proportion to their variances until they add up to the total; none becomes negative.

    Where every part is Gaussian they add up already; elsewhere a little is missing, which belongs where doubt is.

    >>> added_up(np.array([4.0, 5.0, 0.5]), np.array([1.0, 2.0, 1.0]), 10.0).round(6).tolist()
    [4.125, 5.25, 0.625]
    """
    found, movable = means, variances + 1e-12 * max(float(variances.max()), 1.0)
    while abs(away := total - float(found.sum())) > 1e-12 * max(total, 1.0) and movable.any():
        moved = found + away * movable / movable.sum()
        found, movable = np.maximum(moved, 0.0), np.where(moved > 0, movable, 0.0)
    return np.asarray(found)


def bounded_interval(value: float, variance: float, level: float, least: float, largest: float) -> tuple[float, float]:
    """The interval of a sum with this mean and variance that lies between `least` and `largest`.

    It is that of a beta law between two bounds, of a gamma law above one, and otherwise Gaussian: all three are the
    same where the sum is many deviations away from its bounds. Next to a bound, a variance that is very large beside
    the mean would make a law whose mean lies outside of the interval; it is taken as smaller.
    """
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    if variance <= 0:
        inside = min(max(value, least), largest)
        return inside, inside
    deviation = variance**0.5
    if not least < value < largest:  # a Gaussian, of which only what lies on the possible side counts
        reach = deviation * float(ndtri((1 + level) / 2))
        return (least, min(least + reach, largest)) if value <= least else (max(largest - reach, least), largest)
    nearest = min(value - least, largest - value)
    variance = min(variance, nearest**2 / _LEAST_SHAPE)
    deviation = variance**0.5
    away = nearest / deviation
    if away > 30:
        found = value + deviation * ndtri(tails)
    elif np.isinf(largest):
        shape = ((value - least) / deviation) ** 2
        found = least + variance / (value - least) * gammaincinv(shape, tails)
    elif np.isinf(least):
        shape = ((largest - value) / deviation) ** 2
        found = largest - variance / (largest - value) * gammaincinv(shape, tails[::-1])
    else:
        width = largest - least
        share = (value - least) / width
        size = max(share * (1 - share) * width**2 / variance - 1, 1e-3)
        found = least + width * betaincinv(share * size, (1 - share) * size, tails)
    return float(found[0]), float(found[1])
