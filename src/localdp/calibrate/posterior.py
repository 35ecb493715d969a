r"""The posterior of a true frequency given its estimate, for millions of items at once.

    Pr(f = k | fhat) = p_s(fhat - k) p_f(k) / p_fhat(fhat)                                        (Eq. 11)
    E[g(f) | fhat]   = sum_k g(k) Pr(f = k | fhat),       ftilde = E[f | fhat]                    (Eq. 12)

Two things make this fast. First, sums over k visit a few hundred nodes instead of all frequencies
(`localdp.calibrate.nodes`). Second, items with nearly the same estimate have nearly the same posterior, so the results
are computed on a grid of estimates and interpolated for the items. A grid of 64 cells to a deviation and cubics through
its values give seven digits. Where the prior has atoms or steps, or g has a step, each cell is checked at its middle.
Items in cells that fail, and items outside the grid, are computed one by one. Probabilities are computed as logarithms,
because most are too small for a float.

`localdp.calibrate.known_total` has what the known sum of all frequencies adds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np
from scipy.special import ndtri

from localdp.calibrate import cumulative
from localdp.calibrate.base import AnyPosterior, Quantity
from localdp.calibrate.known_total import MOST_ADDED_UP, Pull, adding_up, normalized, pull_towards, pulled
from localdp.calibrate.nodes import WeightedNodes, posterior_nodes
from localdp.calibrate.sums import classes_of, weighted_sum
from localdp.calibrate.two_levels import Block
from localdp.frozen import Frozen
from localdp.kernels.cubics import CubicTable, summed
from localdp.priors.base import FittedPrior
from localdp.priors.fitting.noise import CORE_DEVIATIONS, Noise
from localdp.priors.fitting.observations import NOISE_REACH
from localdp.types import Places, Vector

_CELLS = 64  # cells of the grid to a deviation of the noise
_LOWEST = -10.0  # where the grid begins, in deviations; it ends at CORE_DEVIATIONS
_TOLERANCE = 1e-7  # relative error of a cubic at the middle of its cell
_ROWS = 4096  # estimates handled together, at most
_CHUNK = 1 << 20  # numbers in the matrix of their posteriors, at most: 8 MB
_MANY = 5_000  # quantiles; for more, estimates are rounded to the grid
_MOST_JUMPING = 10_000  # items near jumps that are computed one by one, at most
_JUMP = 0.2  # deviations of the noise that a result may change by within a cell, before it counts as a jump


class Posterior(Frozen, AnyPosterior):
    """The posteriors of items with these estimates under a prior and a noise.

    `total` is the sum of all frequencies, if it is known, and `pull` is what it says, if that was computed before.
    Functions to be averaged by `expect` may have steps at the `breaks`.

    >>> from localdp.priors import Fixed, Observations
    >>> estimates, noise = np.array([9.0, 14.0]), Noise(16.0)
    >>> prior = Fixed([10, 20]).fit(Observations(estimates, noise, n=30, known_total=None))
    >>> Posterior(prior, noise, estimates).means().round(2).tolist()
    [10.23, 13.49]
    """

    _least_tabled: ClassVar[int] = 256
    """A table for fewer items than this is not worth making."""

    def __init__(
        self,
        prior: FittedPrior,
        noise: Noise,
        estimates: Vector,
        breaks: tuple[float, ...] = (),
        total: float | None = None,
        pull: Pull | None = None,
    ) -> None:
        self.prior = prior
        self._total = total
        self._breaks = breaks
        self._stated_noise = noise
        self.noise = noise.usable(prior.n)
        self._noiseless = noise.is_negligible
        self._clip(estimates)
        if self._noiseless and prior.atoms is None:
            nodes = self._estimates_as_nodes()
        else:
            nodes = posterior_nodes(prior, self.noise, self.estimates, self._span, breaks)
        self.nodes, self._in_panel, self._log_weights = nodes.k, nodes.in_panel, nodes.log_weights
        self._pull: Pull | None = None
        if total is not None and not self._noiseless:
            self._pull = pull or self._pull_of(total)
        self._freeze()

    def with_breaks(self, breaks: tuple[float, ...]) -> Self:
        """The same posteriors, for functions that have steps at these places."""
        return type(self)(self.prior, self._stated_noise, self.estimates, breaks, self._total, self._pull)

    def with_total(self, total: float, pull: Pull) -> Self:
        """The posteriors once the sum of all frequencies is known, also of items that are not among these."""
        return type(self)(self.prior, self._stated_noise, self.estimates, self._breaks, total, pull)

    def probability_above(self, limit: int) -> Vector:
        return self.with_breaks((limit + 0.5,)).share_above(limit)

    def share_above(self, limit: int) -> Vector:
        """The same, if there is a break between `limit` and the next whole number."""
        is_above = (self.nodes > limit + 0.5).astype(np.float64)
        return np.clip(self.expect(is_above), 0.0, 1.0)

    def means(self) -> Vector:
        return self.expect(self.nodes)

    def linear(self, weights: Vector, level: float) -> Quantity:
        if self._noiseless:
            found = float(weights @ self.means())
            return Quantity(found, found, found, level)
        places, classes = classes_of(weights)
        return weighted_sum([self.block(weights, places)], classes, self._total, level)

    def block(self, weights: Vector, classes: Places) -> Block:
        """The items with these weights and classes, as a part of a weighted sum."""
        return Block(self.noise, self.estimates, classes, weights, self.nodes, self._log_weights)

    def expect(self, g: Vector) -> Vector:
        """E[g(f)] for every item, where g is given at `nodes`."""
        if self._noiseless:
            return g[self._nearest_nodes()]
        table = self._table(g, smooth=g is self.nodes)
        if table is None:
            return self._expect_at(self.estimates, g)
        within = self._span[0] >= table.start and self._span[1] <= table.start + table.step * table.poor.size
        found, missed = table.interpolate(self.estimates, within)
        if missed.size:
            found[missed] = self._expect_at(self.estimates[missed], g)
        return found

    def deviations(self) -> Vector:
        return np.sqrt(self.moments()[1])

    def moments(self) -> tuple[Vector, Vector]:
        """The mean and the variance of the posterior of every item."""
        if self._noiseless:
            return self.means(), np.zeros(self.estimates.size)
        tables = self._moment_tables()
        if tables is None:
            return self._moments_at(self.estimates)
        found = []
        for table in tables:
            inside, missed = table.interpolate(self.estimates)
            found.append(inside)
        if missed.size:
            found[0][missed], found[1][missed] = self._moments_at(self.estimates[missed])
        return found[0], np.maximum(found[1], 0.0)

    def shortest_intervals(self, level: float) -> tuple[Vector, Vector]:
        """For every item, the shortest range of frequencies that has at least this much of the posterior.

        If the prior has mass at 0, a lower end of 1 becomes 0, because noise makes it nearly impossible to tell 1 from
        0. If the estimate alone does not exclude that an item holds the whole total, the interval does not either: the
        other items' posteriors, which cannot be negative, always leave a little to them.
        """

        def interval(total: Vector, k: Vector) -> tuple[float, float]:
            return cumulative.shortest_interval(total, k, level)

        low, high = self._for_items(lambda x: self._from_cumulative(x, interval))
        low = np.floor(np.maximum(low, 0.0) + cumulative.SLACK)
        high = np.ceil(np.minimum(high, float(self.prior.n)) - cumulative.SLACK) + 0.0  # turns -0.0 into 0.0
        if self._pull is not None and self._total is not None:
            reach = ndtri((1 + level) / 2) * self.noise.deviation_at(self._total)
            high = np.where(self.estimates + reach >= self._total, max(self._total, 0.0), high)
        return (np.where(low <= 1, 0.0, low) if self.nodes[0] == 0 else low), high

    def quantiles(self, level: float) -> Vector:
        def twice(total: Vector, k: Vector) -> tuple[float, float]:
            found = cumulative.quantile(total, k, level)
            return found, found

        found = self._for_items(lambda x: self._from_cumulative(x, twice))[0]
        return np.ceil(found - cumulative.SLACK) + 0.0  # turns -0.0 into 0.0

    def quantiles_of(self, items: Places, levels: Vector) -> Vector:
        """The quantile of each of these items at its own level, rounded to whole frequencies.

        Items are given in ascending order and may be repeated, each time with another level.
        """
        if self._noiseless:
            return self.nodes[self._nearest_nodes()][items]
        x = self.estimates[items]
        if x.size > _MANY and self.prior.atoms is None:
            # Estimates that differ by less than a cell of the grid have the same posterior, nearly.
            cell = self.noise.deviation / _CELLS
            x = np.clip(np.rint(x / cell) * cell, *self._span)
        asked, which = np.unique(x, return_inverse=True)
        order = np.argsort(which, kind="stable")
        starts = np.searchsorted(which[order], np.arange(asked.size + 1))
        found = np.empty(levels.size)
        for place, total, k in self._cumulative(asked):
            part = order[starts[place] : starts[place + 1]]
            found[part] = cumulative.quantiles(total, k, levels[part])
        return np.rint(found)

    def _pull_of(self, total: float) -> Pull:
        """How far the posteriors without the total are from adding up to it."""
        tables = self._moment_tables()
        mean, variance, missed = 0.0, 0.0, self.estimates
        if tables is not None:
            (mean, variance), places = summed(tables, self.estimates)
            missed = self.estimates[places]
        means, variances = self._moments_at(missed)
        found = pull_towards(total, mean + float(means.sum()), variance + float(variances.sum()))
        return adding_up(found, total, self._sum_with) if self.estimates.size <= MOST_ADDED_UP else found

    def _sum_with(self, pull: Pull) -> float:
        """What the means add up to with this pull."""
        self._pull = pull
        return float(self.means().sum())

    def _clip(self, estimates: Vector) -> None:
        """Store the estimates and their span, clipped to the range that the posterior can handle.

        There it can be computed, and it increases with the estimate.
        """
        reach = 1e3 * self.noise.deviation
        low, high = max(-reach, self.noise.lowest), self.prior.n + reach
        smallest, largest = float(estimates.min()), float(estimates.max())
        if smallest < low or largest > high:
            estimates = np.clip(estimates, low, high)
            smallest, largest = max(low, min(smallest, high)), min(high, max(largest, low))
        self.estimates, self._span = estimates, (smallest, largest)

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
        if grid.size < 2 or self.estimates.size < self._least_tabled:
            return None
        step = float(grid[1] - grid[0])
        values = self._expect_at(grid, g)
        table = CubicTable.through(float(grid[0]), step, values)
        if smooth and self.prior.atoms is None and not self.prior.edges.size:
            return table  # nothing is sharper than the noise: the cubics are good to 1e-7
        middles = (grid[1:] + grid[:-1]) / 2
        true = self._expect_at(middles, g)
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
        inside = (x >= grid[0]) & (x <= grid[-1]) if 1 < grid.size < x.size else np.zeros(x.size, bool)
        one, other = np.empty(x.size), np.empty(x.size)
        if inside.any():
            on_grid = compute(grid)
            place = (x[inside] - grid[0]) / (grid[1] - grid[0])
            if self.prior.atoms is None:
                # Results may jump, as over frequencies without mass. Items near a jump are computed one by one, unless
                # there are so many of them that it takes seconds.
                jumps = np.max([np.abs(np.diff(side)) for side in on_grid], axis=0) > _JUMP * self.noise.deviation
                one[inside], other[inside] = (np.interp(x[inside], grid, side) for side in on_grid)
                smooth = ~jumps[np.minimum(place.astype(np.int64), grid.size - 2)]
                if np.count_nonzero(~smooth) < _MOST_JUMPING:
                    inside[inside] = smooth
            else:  # results jump from atom to atom: take those of the nearest point of the grid
                nearest = np.rint(place).astype(np.int64)
                one[inside], other[inside] = (side[nearest] for side in on_grid)
        if not inside.all():
            one[~inside], other[~inside] = compute(x[~inside])
        return one, other

    def _expect_at(self, x: Vector, g: Vector) -> Vector:
        """E[g | x] for each estimate x."""
        found = np.empty(x.size)
        for which, weights, start in self._weights(x):
            found[which] = weights @ g[start : start + weights.shape[1]]
        # Rounding may carry a mean beyond all values of g.
        return np.clip(found, g.min(), min(g.max(), self.prior.n) if g is self.nodes else g.max())

    def _moments_at(self, x: Vector) -> tuple[Vector, Vector]:
        """The mean and the variance of the posterior of each estimate x."""
        means, variances = np.empty(x.size), np.empty(x.size)
        for which, weights, start in self._weights(x):
            # Measured from the estimate: the squares of large frequencies would cancel.
            away = self.nodes[start : start + weights.shape[1]] - x[which, None]
            means[which] = (weights * away).sum(axis=1)
            variances[which] = (weights * (away - means[which, None]) ** 2).sum(axis=1)
        return means + x, variances

    def _moment_tables(self) -> list[CubicTable] | None:
        """The mean and the variance as tables of cubics in the estimate; None where they are not worth making."""
        grid = self._grid(_CELLS)
        sharp = self.prior.atoms is not None or self.prior.edges.size
        if sharp or not 1 < grid.size < self.estimates.size or self.estimates.size < self._least_tabled:
            return None
        step = float(grid[1] - grid[0])
        return [CubicTable.through(float(grid[0]), step, values) for values in self._moments_at(grid)]

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
            weights = normalized(self.noise.log_likelihood(x[which], self.nodes[part]) + self._log_weights[part])
            if self._pull is not None:
                weights = pulled(weights, self.nodes[part], self._pull)
            yield which, weights, part.start
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
        deviation = self.noise.deviation_at(ceiling)
        here = min(int(np.searchsorted(self.nodes, ceiling)), self.nodes.size - 1)
        preferred = max(0.0, float(self._log_weights.max() - self._log_weights[here]))
        # At a distance of z deviations the noise costs z^2/2; nodes that lose by more than 50 in the logarithm are
        # dropped.
        down = max(NOISE_REACH, np.sqrt(2 * (preferred + 50))) * max(deviation, self.noise.deviation)
        first = min(int(np.searchsorted(self.nodes, floor - down)), self.nodes.size - 1)
        last = int(np.searchsorted(self.nodes, ceiling + NOISE_REACH * deviation, side="right"))
        return slice(first, max(last, first + 1))
