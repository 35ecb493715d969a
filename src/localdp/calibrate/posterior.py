r"""The posterior of a true frequency given its estimate, for millions of items at once.

    Pr(f = k | fhat) = p_s(fhat - k) p_f(k) / p_fhat(fhat)                                        (Eq. 11)
    E[g(f) | fhat]   = sum_k g(k) Pr(f = k | fhat),       ftilde = E[f | fhat]                    (Eq. 12)

Sums over k are quadratures (`localdp.calibrate.nodes`). An expectation is a smooth function of the estimate, with slope

    d/dx E[g | x] = Cov( g(f), (f - x)/Var(s | f) | x ),

so it is tabulated on a grid of 1/64 of a deviation with its slopes and interpolated by cubics. Where the prior has
atoms or steps each cell is tried at its middle; where the cubic is off, and beyond the grid, items are computed one by
one. Everything is done in logarithms.

Where frequent items carry more noise, Var = v + e k, an estimate x far below zero would look like a frequent item that
was unlucky. The likelihood ratio of any two frequencies has the derivative (k2 - k1)(e x + v) / (Var1 Var2) in x, so
the posterior grows with x exactly from x = -v/e on, whatever the prior; estimates below are taken as that one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from localdp.calibrate.nodes import support
from localdp.kernels.cubics import CubicTable
from localdp.priors.base import FittedPrior
from localdp.priors.fitting.noise import Noise
from localdp.priors.fitting.observations import MARGIN, REACH
from localdp.types import Places, Vector

_CELLS = 64  # to a deviation
_TOLERANCE = 1e-7
_CHUNK = 1 << 20
_LOW = -10.0
_FEW = 256


class Posterior:
    """The posteriors of items with these estimates under a prior and a noise."""

    def __init__(self, prior: FittedPrior, noise: Noise, estimates: Vector, edges: tuple[float, ...] = ()) -> None:
        self.prior = prior
        self._exact = noise.is_negligible
        self.noise = noise.usable(prior.n)
        reach = 1e3 * self.noise.deviation
        self.estimates, self._span = estimates, (float(estimates.min()), float(estimates.max()))
        turn = self.noise.variance / self.noise.excess if self.noise.excess > 0 else np.inf
        self._limit(-min(reach, turn), prior.n + reach)
        if self._exact and prior.atoms is None:
            lowest = 0.0 if np.isfinite(prior.zero) else float(prior.first)
            self.nodes = np.unique(np.clip(self.estimates.round(), lowest, prior.largest))
            log_mass, self._is_panel = np.zeros(self.nodes.size), np.zeros(self.nodes.size, bool)
        else:
            self.nodes, log_mass, self._is_panel = support(prior, self.noise, self.estimates, self._span, edges)
        self._variance = self.noise.variance_at(self.nodes)
        self._offset = log_mass - 0.5 * np.log(self._variance)

    def expect(self, values: Vector | None = None) -> Vector:
        """E[g(f)] for every item, where `values` is g at `nodes`; the mean frequency if it is not given."""
        g = self.nodes if values is None else values
        if self._exact:
            return g[self._nearest(self.estimates)]
        table = self._table(g, trusted=values is None)
        if table is None:
            return self._evaluate(self.estimates, g)[0]
        within = self._span[0] >= table.start and self._span[1] <= table.start + table.step * table.poor.size
        found, missed = table.interpolate(self.estimates, within)
        if missed.size:
            found[missed] = self._evaluate(self.estimates[missed], g)[0]
        return found

    def deviations(self) -> Vector:
        """The standard deviation of the posterior of every item."""
        return np.zeros(self.estimates.size) if self._exact else self._scan(self._deviation_of_each)[0]

    def shortest_intervals(self, level: float) -> tuple[Vector, Vector]:
        """For every item, the shortest range of frequencies that holds at least this much of the posterior.

        Around atoms that stand for their neighbourhood it is widened by that; and an item that may have one holder may
        have none, for nothing tells them apart.
        """
        low, high = self._scan(lambda x: self._per_row(x, lambda total, k: _shortest(total, k, level)))
        wider = self.prior.resolution
        low = np.floor(np.maximum(low - wider, 0.0) + 1e-9)
        high = np.ceil(np.minimum(high + wider, float(self.prior.n)) - 1e-9)
        return (np.where(low <= 1, 0.0, low) if self.nodes[0] == 0 else low), high

    def quantiles(self, level: float) -> Vector:
        """For every item, the smallest frequency with at least this much of the posterior at or below it."""

        def quantile(total: Vector, k: Vector) -> tuple[float, float]:
            found = _reached(total, k, level)
            return found, found

        return np.ceil(self._scan(lambda x: self._per_row(x, quantile))[0] - 1e-9)

    def draw(self, items: Places, levels: Vector) -> Vector:
        """Whole frequencies of items, given in ascending order, at these levels of their posteriors."""
        if self._exact:
            return self.nodes[self._nearest(self.estimates)][items]
        asked, starts, counts = np.unique(items, return_index=True, return_counts=True)
        found = np.empty(levels.size)
        for place, total, k in self._cumulative(self.estimates[asked]):
            part = slice(starts[place], starts[place] + counts[place])
            found[part] = _levels(total, k, levels[part])
        return np.rint(found)

    def _limit(self, low: float, high: float) -> None:
        """Clip the estimates that are outside these limits."""
        if self._span[0] < low or self._span[1] > high:
            self.estimates = np.clip(self.estimates, low, high)
            self._span = max(low, min(self._span[0], high)), min(high, max(self._span[1], low))

    def _scan(self, compute: Callable[[Vector], tuple[Vector, Vector]]) -> tuple[Vector, Vector]:
        """Two numbers for every item: interpolated on a grid where that is finer than the noise, computed elsewhere."""
        x = self.estimates
        if self._exact:
            frequencies = self.nodes[self._nearest(x)]
            return frequencies, frequencies
        grid = self._grid(_CELLS if self.prior.atoms is not None else _CELLS // 4)
        inside = (x >= grid[0]) & (x <= grid[-1]) if _FEW < grid.size < x.size else np.zeros(x.size, bool)
        one, other = np.empty(x.size), np.empty(x.size)
        if inside.any():
            tabled = compute(grid)
            if self.prior.atoms is None:
                one[inside], other[inside] = (np.interp(x[inside], grid, side) for side in tabled)
            else:  # from atom to atom is a jump: take the nearest point of the grid
                place = np.rint((x[inside] - grid[0]) / (grid[1] - grid[0])).astype(np.int64)
                one[inside], other[inside] = (side[place] for side in tabled)
        if not inside.all():
            one[~inside], other[~inside] = compute(x[~inside])
        return one, other

    def _deviation_of_each(self, x: Vector) -> tuple[Vector, Vector]:
        found = np.empty(x.size)
        for which, weights, start in self._weights(x):
            away = self.nodes[start : start + weights.shape[1]] - x[which, None]
            mean = (weights * away).sum(axis=1)
            found[which] = np.sqrt((weights * (away - mean[:, None]) ** 2).sum(axis=1))
        return found, found

    def _per_row(self, x: Vector, rule: Callable[[Vector, Vector], tuple[float, float]]) -> tuple[Vector, Vector]:
        pairs = np.empty((x.size, 2))
        for place, total, k in self._cumulative(x):
            pairs[place] = rule(total, k)
        return pairs[:, 0], pairs[:, 1]

    def _cumulative(self, x: Vector) -> Iterator[tuple[int, Vector, Vector]]:
        """For each estimate its place, and the cumulative posterior at the nodes that matter."""
        for which, weights, start in self._weights(x):
            part = slice(start, start + weights.shape[1])
            totals = np.cumsum(weights, axis=1)
            # A node of a panel stands for a stretch around it: half of that lies beyond.
            totals[:, self._is_panel[part]] -= 0.5 * weights[:, self._is_panel[part]]
            for place, total in zip(which.tolist(), totals, strict=True):
                yield place, total, self.nodes[part]

    def _nearest(self, x: Vector) -> Places:
        last = self.nodes.size - 1
        place = np.clip(np.searchsorted(self.nodes, x), min(1, last), last)
        left = np.maximum(place - 1, 0)
        return np.where(x - self.nodes[left] <= self.nodes[place] - x, left, place)

    def _grid(self, cells: int) -> Vector:
        deviation = self.noise.deviation
        low, high = max(self._span[0], _LOW * deviation), min(self._span[1], REACH * deviation)
        if high <= low:
            return np.zeros(0)
        return np.linspace(low, high, 2 + int((high - low) * cells / deviation))

    def _table(self, g: Vector, trusted: bool) -> CubicTable | None:
        grid = self._grid(_CELLS)
        if grid.size < 2 or self.estimates.size < _FEW:
            return None
        step = float(grid[1] - grid[0])
        values, slopes = self._evaluate(grid, g)
        table = CubicTable(float(grid[0]), step, values, slopes * step, np.zeros(grid.size - 1, bool))
        if trusted and self.prior.atoms is None and not self.prior.edges.size:
            return table  # nothing is sharper than the noise: the cubic is good to 1e-7
        middles = (grid[1:] + grid[:-1]) / 2
        true = self._evaluate(middles, g)[0]
        scale = np.maximum(np.abs(true), 1e-5 * np.abs(values).max(initial=1e-300))
        return replace(table, poor=np.abs(table.interpolate(middles)[0] - true) > _TOLERANCE * scale)

    def _evaluate(self, x: Vector, g: Vector) -> tuple[Vector, Vector]:
        """E[g | x] and its slope in x, one by one."""
        inverse = 1 / self._variance
        columns = np.stack([g, g * self.nodes * inverse, g * inverse, self.nodes * inverse, inverse], axis=1)
        values, slopes = np.empty(x.size), np.empty(x.size)
        least, most = g.min(), (min(g.max(), self.prior.n) if g is self.nodes else g.max())
        for which, weights, start in self._weights(x):
            mean, pulled, pull, force, inertia = (weights @ columns[start : start + weights.shape[1]]).T
            values[which] = np.clip(mean, least, most)  # rounding may carry a mean past the end of the support
            slopes[which] = (pulled - x[which] * pull) - mean * (force - x[which] * inertia)
        return values, slopes

    def _weights(self, x: Vector) -> Iterator[tuple[Places, Vector, int]]:
        """The posterior of each estimate over the nodes that matter, for neighbouring estimates together."""
        order = np.argsort(x, kind="stable")
        start = 0
        while start < order.size:
            stop = min(order.size, start + 4096)
            while True:
                part = self._relevant(float(x[order[start]]), float(x[order[stop - 1]]))
                if (stop - start) * (part.stop - part.start) <= _CHUNK or stop - start == 1:
                    break
                stop = start + max(1, (stop - start) // 2)
            which = order[start:stop]
            logs = np.subtract(x[which, None], self.nodes[part])
            np.square(logs, out=logs)
            logs *= -0.5 / self._variance[part]
            logs += self._offset[part]
            logs -= logs.max(axis=1, keepdims=True)
            np.exp(logs, out=logs)
            logs /= logs.sum(axis=1, keepdims=True)
            yield which, logs, part.start
            start = stop

    def _relevant(self, low: float, high: float) -> slice:
        """The nodes that may matter to estimates from low to high: all atoms, or those within reach of the noise.

        A steep prior reaches further down: a node may be preferred by the prior by as much as the noise prefers others.
        """
        if self.prior.atoms is not None:
            return slice(0, self.nodes.size)
        place, width = self.prior.feature or (np.nan, 0.0)
        floor = float(np.fmin(min(low, self.prior.largest), place - width))
        ceiling = float(np.fmax(max(high, 0.0), place + width))
        deviation = float(np.sqrt(self.noise.variance_at(np.array(ceiling))))
        here = min(int(np.searchsorted(self.nodes, ceiling)), self.nodes.size - 1)
        preferred = max(0.0, float(self._offset.max() - self._offset[here]))
        down = max(MARGIN, np.sqrt(2 * (preferred + 50))) * max(deviation, self.noise.deviation)
        first = min(int(np.searchsorted(self.nodes, floor - down)), self.nodes.size - 1)
        last = int(np.searchsorted(self.nodes, ceiling + MARGIN * deviation, side="right"))
        return slice(first, max(last, first + 1))


def _reached(total: Vector, k: Vector, level: float) -> float:
    """The frequency where the cumulative probability reaches the level; between the nodes of panels, in proportion."""
    place = int(np.searchsorted(total, level - 1e-12))
    if place == 0 or place >= k.size:
        return float(k[min(place, k.size - 1)])
    gap, rise = k[place] - k[place - 1], total[place] - total[place - 1]
    if gap <= 1 or rise <= 0 or k[place].is_integer():
        return float(k[place])
    return float(k[place - 1] + gap * (level - total[place - 1]) / rise)


def _levels(total: Vector, k: Vector, levels: Vector) -> Vector:
    """The frequency where the cumulative probability reaches each level, as `_reached` for one."""
    place = np.minimum(np.searchsorted(total, levels - 1e-12), k.size - 1)
    return np.where(k[place] == np.floor(k[place]), k[place], np.interp(levels, total, k))


def _shortest(total: Vector, k: Vector, level: float) -> tuple[float, float]:
    before = np.concatenate([[0.0], total[:-1]])
    fractional = k != np.floor(k)
    before[fractional] = total[fractional]  # a range may begin at the node itself, inside its stretch
    place = np.searchsorted(total, before + level - 1e-12)
    possible = place < k.size
    if not possible.any():
        return float(k[0]), float(k[-1])
    place = np.minimum(place, k.size - 1)
    end = np.where(fractional[place], np.interp(before + level, total, k), k[place])
    length = np.where(possible, end - k, np.inf)
    # Of equally short ranges, the one that holds most.
    held = np.where(possible, total[place] - before, 0.0)
    best = int(np.lexsort((-held, length))[0])
    return float(k[best]), float(end[best])
