r"""The posterior of a true frequency given its estimate, for millions of items at once.

    Pr(f = k | fhat) = p_s(fhat - k) p_f(k) / p_fhat(fhat)                                        (Eq. 11)
    E[g(f) | fhat]   = sum_k g(k) Pr(f = k | fhat),       ftilde = E[f | fhat]                    (Eq. 12)

Two things make this fast. First, sums over k visit a few hundred nodes instead of all frequencies
(`localdp.calibrate.nodes`). Second, items with nearly the same estimate have nearly the same posterior, so the results
are computed on a grid of estimates and interpolated for the items. For an expectation the slope is known too,

    d/dx E[g | x] = Cov( g(f), (f - x)/Var(s | f) | x ),

so a grid of 64 cells to a deviation and cubics through values and slopes give seven digits. Where the prior has atoms
or steps, or g has a step, each cell is checked at its middle. Items in cells that fail, and items outside the grid,
are computed one by one. Probabilities are computed as logarithms, because most are too small for a float.

Where frequent items carry more noise, Var = v + e k, an estimate x far below zero would look like a frequent item that
was unlucky. The log-likelihood ratio of two frequencies k1 < k2 has the derivative (k2 - k1)(e x + v) / (Var1 Var2) in
x. So, for any prior, the posterior increases with x only where x >= -v/e. A smaller x is replaced by -v/e.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from localdp.calibrate import cumulative
from localdp.calibrate.nodes import WeightedNodes, posterior_nodes
from localdp.frozen import Frozen
from localdp.kernels.cubics import CubicTable
from localdp.priors.base import FittedPrior
from localdp.priors.fitting.noise import Noise
from localdp.priors.fitting.observations import CORE_DEVIATIONS, NOISE_REACH
from localdp.types import Places, Vector

_CELLS = 64  # cells of the grid to a deviation of the noise
_LOWEST = -10.0  # where the grid begins, in deviations; it ends at CORE_DEVIATIONS
_SMALL = 256  # a table for fewer items than this, or a grid of fewer points, is not worth making
_TOLERANCE = 1e-7  # relative error of a cubic at the middle of its cell
_ROWS = 4096  # estimates handled together, at most
_CHUNK = 1 << 20  # numbers in the matrix of their posteriors, at most: 8 MB
# An interpolated bound may miss a whole number by this much. It is subtracted before rounding up (added before rounding
# down), so that 5.0000000001 does not become 6.
_SLACK = 1e-9


class Posterior(Frozen):
    """The posteriors of items with these estimates under a prior and a noise.

    Functions to be averaged by `expect` may have steps at the `breaks`.

    >>> from localdp.priors import Fixed, Observations
    >>> estimates, noise = np.array([9.0, 14.0]), Noise(16.0)
    >>> prior = Fixed([10, 20]).fit(Observations(estimates, noise, n=30))
    >>> Posterior(prior, noise, estimates).expect().round(2).tolist()
    [10.23, 13.49]
    """

    def __init__(self, prior: FittedPrior, noise: Noise, estimates: Vector, breaks: tuple[float, ...] = ()) -> None:
        self.prior = prior
        self.noise = noise.usable(prior.n)
        self._noiseless = noise.is_negligible
        self._clip(estimates)
        nodes = self._estimates_as_nodes() if self._noiseless and prior.atoms is None else self._nodes(breaks)
        self.nodes, self._in_panel = nodes.k, nodes.in_panel
        self._variance = self.noise.variance_at(self.nodes)
        # log( p_f(k) / sqrt(Var_k) ), the part of the log posterior that does not depend on the estimate.
        self._offset = nodes.log_weights - 0.5 * np.log(self._variance)
        self._freeze()

    def expect(self, values: Vector | None = None) -> Vector:
        """E[g(f)] for every item, where `values` is g at `nodes`; the mean frequency if it is not given."""
        g = self.nodes if values is None else values
        if self._noiseless:
            return g[self._nearest_nodes()]
        table = self._table(g, smooth=values is None)
        if table is None:
            return self._expect_at(self.estimates, g)[0]
        within = self._span[0] >= table.start and self._span[1] <= table.start + table.step * table.poor.size
        found, missed = table.interpolate(self.estimates, within)
        if missed.size:
            found[missed] = self._expect_at(self.estimates[missed], g)[0]
        return found

    def deviations(self) -> Vector:
        """The standard deviation of the posterior of every item."""
        return np.zeros(self.estimates.size) if self._noiseless else self._for_items(self._deviations_at)[0]

    def shortest_intervals(self, level: float) -> tuple[Vector, Vector]:
        """For every item, the shortest range of frequencies that has at least this much of the posterior.

        Under a prior with atoms, both ends are moved outwards by `prior.resolution`. If the prior has mass at 0, a
        lower end of 1 becomes 0, because noise makes it nearly impossible to tell 1 from 0.
        """

        def interval(total: Vector, k: Vector) -> tuple[float, float]:
            return cumulative.shortest_interval(total, k, level)

        low, high = self._for_items(lambda x: self._from_cumulative(x, interval))
        wider = self.prior.resolution
        low = np.floor(np.maximum(low - wider, 0.0) + _SLACK)
        high = np.ceil(np.minimum(high + wider, float(self.prior.n)) - _SLACK) + 0.0  # turns -0.0 into 0.0
        return (np.where(low <= 1, 0.0, low) if self.nodes[0] == 0 else low), high

    def quantiles(self, level: float) -> Vector:
        """For every item, the smallest frequency with at least this much of the posterior at or below it."""

        def twice(total: Vector, k: Vector) -> tuple[float, float]:
            found = cumulative.quantile(total, k, level)
            return found, found

        found = self._for_items(lambda x: self._from_cumulative(x, twice))[0]
        return np.ceil(found - _SLACK) + 0.0  # turns -0.0 into 0.0

    def quantiles_of(self, items: Places, levels: Vector) -> Vector:
        """The quantile of each of these items at its own level, rounded to whole frequencies.

        Items are given in ascending order and may be repeated, each time with another level.
        """
        if self._noiseless:
            return self.nodes[self._nearest_nodes()][items]
        asked, starts, counts = np.unique(items, return_index=True, return_counts=True)
        found = np.empty(levels.size)
        for place, total, k in self._cumulative(self.estimates[asked]):
            part = slice(starts[place], starts[place] + counts[place])
            found[part] = cumulative.quantiles(total, k, levels[part])
        return np.rint(found)

    def _clip(self, estimates: Vector) -> None:
        """Store the estimates and their span, clipped to the range that the posterior can handle.

        There it can be computed, and it increases with the estimate.
        """
        reach = 1e3 * self.noise.deviation
        turn = self.noise.variance / self.noise.excess if self.noise.excess > 0 else np.inf
        low, high = -min(reach, turn), self.prior.n + reach
        smallest, largest = float(estimates.min()), float(estimates.max())
        if smallest < low or largest > high:
            estimates = np.clip(estimates, low, high)
            smallest, largest = max(low, min(smallest, high)), min(high, max(largest, low))
        self.estimates, self._span = estimates, (smallest, largest)

    def _nodes(self, breaks: tuple[float, ...]) -> WeightedNodes:
        return posterior_nodes(self.prior, self.noise, self.estimates, self._span, breaks)

    def _estimates_as_nodes(self) -> WeightedNodes:
        """Without noise the only nodes are the estimates themselves, rounded to frequencies that have mass."""
        lowest = 0.0 if np.isfinite(self.prior.zero) else float(self.prior.first)
        k = np.unique(np.clip(self.estimates.round(), lowest, self.prior.largest))
        return WeightedNodes(k, np.zeros(k.size), np.zeros(k.size, bool))

    def _nearest_nodes(self) -> Places:
        """For every item, the index of the node nearest to its estimate; of two equally near, the smaller one."""
        x, last = self.estimates, self.nodes.size - 1
        place = np.clip(np.searchsorted(self.nodes, x), min(1, last), last)
        left = np.maximum(place - 1, 0)
        return np.where(x - self.nodes[left] <= self.nodes[place] - x, left, place)

    def _grid(self, cells: int) -> Vector:
        """Evenly spaced estimates, `cells` to a deviation, over the part of the span where most items are."""
        deviation = self.noise.deviation
        low, high = max(self._span[0], _LOWEST * deviation), min(self._span[1], CORE_DEVIATIONS * deviation)
        if high <= low:
            return np.zeros(0)
        return np.linspace(low, high, 2 + int((high - low) * cells / deviation))

    def _table(self, g: Vector, smooth: bool) -> CubicTable | None:
        """E[g | x] as a table of cubics in x; None where computing the items one by one is as fast.

        `smooth` promises that g has no steps.
        """
        grid = self._grid(_CELLS)
        if grid.size < 2 or self.estimates.size < _SMALL:
            return None
        step = float(grid[1] - grid[0])
        values, slopes = self._expect_at(grid, g)
        table = CubicTable(float(grid[0]), step, values, slopes * step, np.zeros(grid.size - 1, bool))
        if smooth and self.prior.atoms is None and not self.prior.edges.size:
            return table  # nothing is sharper than the noise: the cubics are good to 1e-7
        middles = (grid[1:] + grid[:-1]) / 2
        true = self._expect_at(middles, g)[0]
        scale = np.maximum(np.abs(true), 1e-5 * np.abs(values).max(initial=1e-300))
        return replace(table, poor=np.abs(table.interpolate(middles)[0] - true) > _TOLERANCE * scale)

    def _for_items(self, compute: Callable[[Vector], tuple[Vector, Vector]]) -> tuple[Vector, Vector]:
        """Two numbers for every item, where `compute` gives the two for any estimates.

        They are computed on a grid and interpolated for the items on it, and computed one by one for the others.
        """
        x = self.estimates
        if self._noiseless:
            frequencies = self.nodes[self._nearest_nodes()]
            return frequencies, frequencies
        # Without slopes to use, a coarser grid is fine enough for linear interpolation; jumps between atoms need all
        # cells.
        grid = self._grid(_CELLS if self.prior.atoms is not None else _CELLS // 4)
        inside = (x >= grid[0]) & (x <= grid[-1]) if _SMALL < grid.size < x.size else np.zeros(x.size, bool)
        one, other = np.empty(x.size), np.empty(x.size)
        if inside.any():
            on_grid = compute(grid)
            if self.prior.atoms is None:
                one[inside], other[inside] = (np.interp(x[inside], grid, side) for side in on_grid)
            else:  # results jump from atom to atom: take those of the nearest point of the grid
                place = np.rint((x[inside] - grid[0]) / (grid[1] - grid[0])).astype(np.int64)
                one[inside], other[inside] = (side[place] for side in on_grid)
        if not inside.all():
            one[~inside], other[~inside] = compute(x[~inside])
        return one, other

    def _expect_at(self, x: Vector, g: Vector) -> tuple[Vector, Vector]:
        """E[g | x] and its slope in x, for each estimate x."""
        inverse = 1 / self._variance
        columns = np.stack([g, g * self.nodes * inverse, g * inverse, self.nodes * inverse, inverse], axis=1)
        values, slopes = np.empty(x.size), np.empty(x.size)
        least, most = g.min(), (min(g.max(), self.prior.n) if g is self.nodes else g.max())
        for which, weights, start in self._weights(x):
            # E[g], E[g f / Var], E[g / Var], E[f / Var] and E[1 / Var] make up the covariance of the slope.
            mean, gf_var, g_var, f_var, one_var = (weights @ columns[start : start + weights.shape[1]]).T
            values[which] = np.clip(mean, least, most)  # rounding may carry a mean beyond all values of g
            slopes[which] = (gf_var - x[which] * g_var) - mean * (f_var - x[which] * one_var)
        return values, slopes

    def _deviations_at(self, x: Vector) -> tuple[Vector, Vector]:
        """The posterior standard deviation of each estimate x. It is returned twice: `_for_items` expects a pair."""
        found = np.empty(x.size)
        for which, weights, start in self._weights(x):
            # Measured from the estimate: the squares of large frequencies would cancel.
            away = self.nodes[start : start + weights.shape[1]] - x[which, None]
            mean = (weights * away).sum(axis=1)
            found[which] = np.sqrt((weights * (away - mean[:, None]) ** 2).sum(axis=1))
        return found, found

    def _from_cumulative(
        self, x: Vector, read: Callable[[Vector, Vector], tuple[float, float]]
    ) -> tuple[Vector, Vector]:
        """The two numbers that `read(total, k)` reads off the cumulative posterior of each estimate x."""
        pairs = np.empty((x.size, 2))
        for place, total, k in self._cumulative(x):
            pairs[place] = read(total, k)
        return pairs[:, 0], pairs[:, 1]

    def _cumulative(self, x: Vector) -> Iterator[tuple[int, Vector, Vector]]:
        """For each estimate: its index in x, its cumulative posterior, and the nodes at which that is given."""
        for which, weights, start in self._weights(x):
            part = slice(start, start + weights.shape[1])
            totals = np.cumsum(weights, axis=1)
            # A node of a panel stands for a stretch around it: half of that lies beyond the node.
            totals[:, self._in_panel[part]] -= 0.5 * weights[:, self._in_panel[part]]
            for place, total in zip(which.tolist(), totals, strict=True):
                yield place, total, self.nodes[part]

    def _weights(self, x: Vector) -> Iterator[tuple[Places, Vector, int]]:
        """The posteriors of estimates, in chunks of neighbouring ones.

        Yields the indices of the chunk in x, a matrix with the posterior of each in a row, and the index of the node
        that the first column is for.
        """
        order = np.argsort(x, kind="stable")
        start = 0
        while start < order.size:
            stop = min(order.size, start + _ROWS)
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

        The range extends further downwards for a steep prior, which may favour a small frequency by more than the noise
        penalizes it.
        """
        if self.prior.atoms is not None:
            return slice(0, self.nodes.size)
        centre, width = self.prior.feature or (np.nan, 0.0)
        floor = float(np.fmin(min(low, self.prior.largest), centre - width))
        ceiling = float(np.fmax(max(high, 0.0), centre + width))
        deviation = float(np.sqrt(self.noise.variance_at(np.array(ceiling))))
        here = min(int(np.searchsorted(self.nodes, ceiling)), self.nodes.size - 1)
        preferred = max(0.0, float(self._offset.max() - self._offset[here]))
        # At a distance of z deviations the noise costs z^2/2; nodes that lose by more than 50 in the logarithm are
        # dropped.
        down = max(NOISE_REACH, np.sqrt(2 * (preferred + 50))) * max(deviation, self.noise.deviation)
        first = min(int(np.searchsorted(self.nodes, floor - down)), self.nodes.size - 1)
        last = int(np.searchsorted(self.nodes, ceiling + NOISE_REACH * deviation, side="right"))
        return slice(first, max(last, first + 1))
