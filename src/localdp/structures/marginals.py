"""Quantiles and intervals of many cells at once, each given by points with shares.

Each row of `values` has the points of a cell, and `shares` their probabilities. Between the middles of the points the
distribution function is a straight line.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from localdp.structures.likelihood import Rows
from localdp.types import Places, Vector

_CANDIDATES = 24  # places where the shortest interval may begin
_FEW_ROWS = 16  # so few have so many points that each is searched by itself


class Marginals:
    """The distributions of cells, one in a row.

    >>> Marginals(np.array([[1.0, 2.0, 3.0]]), np.array([[0.25, 0.5, 0.25]])).quantiles(np.array([0.5])).tolist()
    [2.0]
    """

    def __init__(self, values: Vector, shares: Vector) -> None:
        order = np.argsort(values, axis=1)
        self.values = np.take_along_axis(values, order, axis=1)
        ordered = np.take_along_axis(shares, order, axis=1)
        self._below = np.cumsum(ordered, axis=1) - 0.5 * ordered
        self._below /= (self._below[:, -1] + 0.5 * ordered[:, -1])[:, None]

    def some(self, rows: Rows) -> Marginals:
        """The distributions of some of the cells."""
        fewer = copy(self)
        fewer.values, fewer._below = self.values[rows], self._below[rows]
        return fewer

    def of(self, cell: int, levels: Vector) -> Vector:
        """Several quantiles of one cell."""
        return np.asarray(np.interp(levels, self._below[cell], self.values[cell]))

    def quantiles(self, levels: Vector) -> Vector:
        """The quantile of each cell at its own level."""
        right = np.clip(self._smaller(levels), 1, self.values.shape[1] - 1)[:, None]
        low, high = (np.take_along_axis(self._below, right - side, axis=1)[:, 0] for side in (1, 0))
        start, stop = (np.take_along_axis(self.values, right - side, axis=1)[:, 0] for side in (1, 0))
        share = np.clip((levels - low) / np.maximum(high - low, 1e-300), 0.0, 1.0)
        return start + share * (stop - start)

    def shortest(self, level: float) -> tuple[Vector, Vector]:
        """The shortest intervals that have this probability."""
        cells = self.values.shape[0]
        best_low, best_high = np.zeros(cells), np.full(cells, np.inf)
        for start in np.linspace(0.0, 1 - level, _CANDIDATES):
            low, high = self.quantiles(np.full(cells, start)), self.quantiles(np.full(cells, start + level))
            better = high - low < best_high - best_low
            best_low, best_high = np.where(better, low, best_low), np.where(better, high, best_high)
        return best_low, best_high

    def _smaller(self, levels: Vector) -> Places:
        """How many points of each cell lie below its level."""
        if len(levels) <= _FEW_ROWS:
            return np.array([np.searchsorted(*one) for one in zip(self._below, levels, strict=True)])
        return np.asarray((self._below < levels[:, None]).sum(axis=1))

    def above(self, limit: float) -> Vector:
        """The probability of more than the limit."""
        right = np.clip((self.values <= limit).sum(axis=1), 1, self.values.shape[1] - 1)[:, None]
        low, high = (np.take_along_axis(self._below, right - side, axis=1)[:, 0] for side in (1, 0))
        start, stop = (np.take_along_axis(self.values, right - side, axis=1)[:, 0] for side in (1, 0))
        share = (limit - start) / np.maximum(stop - start, 1e-300)
        inside = 1 - (low + np.clip(share, 0.0, 1.0) * (high - low))
        inside = np.where(limit < self.values[:, 0], 1.0, inside)
        return np.where(limit >= self.values[:, -1], 0.0, inside)
