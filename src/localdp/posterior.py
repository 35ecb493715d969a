r"""The posterior of a true frequency given its estimate, for millions of items at once.

    Pr(f = k | fhat) = p_s(fhat - k) p_f(k) / p_fhat(fhat)                                        (Eq. 11)
    E[g(f) | fhat]   = sum_k g(k) Pr(f = k | fhat),       ftilde = E[f | fhat]                    (Eq. 12)

Sums over k are quadratures (`localdp.priors.quadrature`). As a function of the estimate an expectation is smooth,
with the slope

    d/dx E[g | x] = Cov( g(f), (f - x)/Var(s | f) | x ),

so it is tabulated on a grid of 1/64 of a deviation with its slopes and interpolated by cubics. Each cell is tried
at its middle; where the cubic is off, and beyond the grid, items are computed one by one. Everything is done in
logarithms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from localdp.priors.base import FittedPrior
from localdp.priors.noise import NEGLIGIBLE, Noise
from localdp.priors.observations import MARGIN, REACH
from localdp.priors.parametric import FEATURE_REACH
from localdp.priors.quadrature import EXACT, SMOOTH_SCALE, Rule, growing_edges, panels, whole_numbers

Vector = NDArray[np.float64]

_CELLS = 64  # to a deviation
_TOLERANCE = 1e-7
_CHUNK = 1 << 20
_BLOCK = 1 << 14
_LOW = -10.0


class Posterior:
    """The posteriors of items with these estimates under a prior and a noise."""

    def __init__(self, prior: FittedPrior, noise: Noise, estimates: Vector, edges: tuple[float, ...] = ()) -> None:
        widest = 1e6 * prior.n
        self._exact = noise.is_negligible
        self.noise = Noise(min(max(noise.variance, NEGLIGIBLE**2), widest**2), noise.excess)
        deviation = self.noise.deviation
        reach = 1e3 * deviation
        inside = -reach <= estimates.min() and estimates.max() <= prior.n + reach
        self.estimates = estimates if inside else np.clip(estimates, -reach, prior.n + reach)
        self.prior = prior
        if self._exact and prior.atoms is None:
            lowest = 0.0 if np.isfinite(prior.zero) else float(prior.first)
            self._k = np.unique(np.clip(self.estimates.round(), lowest, prior.largest))
            self._log_mass = np.zeros(self._k.size)
        else:
            self._k, self._log_mass = _support(prior, self.noise, self.estimates, edges)
        self._variance = self.noise.variance_at(self._k)
        self._offset = self._log_mass - 0.5 * np.log(self._variance)

    def expect(self, values: Vector | None = None) -> Vector:
        """E[g(f)] for every item, where `values` is g at `nodes`; the mean frequency if it is not given."""
        g = self._k if values is None else values
        if self._exact:
            return g[self._nearest(self.estimates)]
        x = self.estimates
        table = self._table(g)
        if table is None:
            return self._evaluate(x, g)[0]
        found, missed = table.interpolate(x)
        if missed.size:
            found[missed] = self._evaluate(x[missed], g)[0]
        return found

    @property
    def nodes(self) -> Vector:
        """The frequencies that stand for all."""
        return self._k

    def shortest_intervals(self, level: float) -> tuple[Vector, Vector]:
        """For every item, the shortest range of frequencies that holds at least this much of the posterior."""
        low, high = self._ranges(lambda total: _shortest(total, self._k, level))
        low, high = np.maximum(low - self.prior.resolution, 0.0), np.minimum(high + self.prior.resolution, self.prior.n)
        low, high = np.floor(low), np.ceil(high)
        if self._k[0] == 0:
            low = np.where(
                low <= 1, 0.0, low
            )  # an item that may have one holder may have none: nothing tells them apart
        return low, high

    def quantiles(self, level: float) -> Vector:
        """For every item, the smallest frequency with at least this much of the posterior at or below it."""

        def quantile(total: Vector) -> tuple[float, float]:
            k = self._k[min(int(np.searchsorted(total, level * total[-1])), self._k.size - 1)]
            return k, k

        return self._ranges(quantile)[0]

    def _ranges(self, rule: object) -> tuple[Vector, Vector]:
        if self._exact:
            exact = self._k[self._nearest(self.estimates)]
            return exact, exact.copy()
        x = self.estimates
        grid = self._grid(_CELLS // 8)
        inside = (x >= grid[0]) & (x <= grid[-1]) if grid.size > 1 and x.size > grid.size else np.zeros(x.size, bool)
        low, high = np.empty(x.size), np.empty(x.size)
        if inside.any():
            tabled = self._scan(grid, rule)
            low[inside], high[inside] = (np.interp(x[inside], grid, side) for side in tabled)
        if not inside.all():
            low[~inside], high[~inside] = self._scan(x[~inside], rule)
        return np.floor(low + 1e-9), np.ceil(high - 1e-9)

    def _scan(self, x: Vector, rule: object) -> tuple[Vector, Vector]:
        pairs = np.empty((x.size, 2))
        for which, weights, start in self._weights(x):
            for row, place in zip(weights, which, strict=True):
                total = np.zeros(self._k.size)
                total[start : start + row.size] = row
                pairs[place] = rule(np.cumsum(total))  # type: ignore[operator]
        return pairs[:, 0], pairs[:, 1]

    def _nearest(self, x: Vector) -> NDArray[np.intp]:
        place = np.clip(np.searchsorted(self._k, x), 1, max(1, self._k.size - 1))
        left = x - self._k[place - 1] <= self._k[np.minimum(place, self._k.size - 1)] - x
        return np.where(left, place - 1, np.minimum(place, self._k.size - 1))

    def _grid(self, cells: int) -> Vector:
        deviation = self.noise.deviation
        low = max(float(self.estimates.min()), _LOW * deviation)
        high = min(float(self.estimates.max()), REACH * deviation)
        if high <= low:
            return np.zeros(0)
        return np.linspace(low, high, 2 + int((high - low) * cells / deviation))

    def _table(self, g: Vector) -> _Table | None:
        grid = self._grid(_CELLS)
        if grid.size < 2 or self.estimates.size < 256:
            return None
        values, slopes = self._evaluate(grid, g)
        middles = (grid[1:] + grid[:-1]) / 2
        step = float(grid[1] - grid[0])
        table = _Table(float(grid[0]), step, values, slopes * step, np.zeros(grid.size, bool))
        true = self._evaluate(middles, g)[0]
        scale = np.maximum(np.abs(true), 1e-5 * np.abs(values).max(initial=1e-300))
        off = np.abs(table.cubic(middles) - true) > _TOLERANCE * scale
        return replace(table, poor=np.append(off, False))

    def _evaluate(self, x: Vector, g: Vector) -> tuple[Vector, Vector]:
        """E[g | x] and its slope in x, one by one."""
        values, slopes = np.empty(x.size), np.empty(x.size)
        for which, weights, start in self._weights(x):
            part = slice(start, start + weights.shape[1])
            pull = (self._k[part] - x[which, None]) / self._variance[part]
            mean = weights @ g[part]
            values[which] = mean
            slopes[which] = ((weights * pull) @ g[part]) - mean * (weights * pull).sum(axis=1)
        return values, slopes

    def _weights(self, x: Vector) -> Iterator[tuple[NDArray[np.intp], Vector, int]]:
        """The posterior of each estimate over the nodes that matter, for neighbouring estimates together."""
        order = np.argsort(x, kind="stable")
        deviation = self.noise.deviation
        bounded = self.prior.atoms is None
        # Under a prior with light tails the posterior lies anywhere between its bulk and the estimate.
        place, width = self.prior.feature or (np.nan, 0.0)
        start = 0
        while start < order.size:
            stop = min(order.size, start + 4096)
            while True:
                low, high = float(x[order[start]]), float(x[order[stop - 1]])
                first, last = 0, self._k.size
                if bounded:
                    far = float(np.sqrt(self.noise.variance_at(np.array(max(high, 0.0)))))
                    floor = float(np.fmin(min(low, self.prior.largest), place - width))
                    ceiling = float(np.fmax(max(high, 0.0), place + width))
                    first = int(np.searchsorted(self._k, floor - MARGIN * max(deviation, far)))
                    last = int(np.searchsorted(self._k, ceiling + MARGIN * far, side="right"))
                    first, last = min(first, self._k.size - 1), max(last, 1)
                if (stop - start) * (last - first) <= _CHUNK or stop - start == 1:
                    break
                stop = start + max(1, (stop - start) // 2)
            which = order[start:stop]
            part = slice(first, max(last, first + 1))
            logs = self._offset[part] - 0.5 * (x[which, None] - self._k[part]) ** 2 / self._variance[part]
            logs -= logs.max(axis=1, keepdims=True)
            np.exp(logs, out=logs)
            logs /= logs.sum(axis=1, keepdims=True)
            yield which, logs, first
            start = stop


@dataclass(frozen=True, eq=False)
class _Table:
    """Values and slopes on an even grid; `poor` marks cells where the cubic is not good enough."""

    start: float
    step: float
    values: Vector
    slopes: Vector
    poor: NDArray[np.bool_]

    def cubic(self, x: Vector) -> Vector:
        """The cubic through the ends of each cell."""
        place = (x - self.start) / self.step
        cell = np.clip(place.astype(np.int64), 0, self.values.size - 2)
        place -= cell
        left, slope = self.values[cell], self.slopes[cell]
        rise, slope_right = self.values[cell + 1] - left, self.slopes[cell + 1]
        return left + place * (
            slope + place * (3 * rise - 2 * slope - slope_right + place * (slope + slope_right - 2 * rise))
        )

    def interpolate(self, x: Vector) -> tuple[Vector, NDArray[np.intp]]:
        """The value at each x, in blocks that stay in the cache, and the places where it must be computed instead."""
        left, right = self.slopes[:-1], self.slopes[1:]
        rise = np.diff(self.values)
        cells = np.stack([self.values[:-1], left, 3 * rise - 2 * left - right, left + right - 2 * rise])
        cells[0, self.poor[:-1]] = np.nan
        cells = np.pad(cells, ((0, 0), (1, 1)), constant_values=np.nan)  # one cell for all that is below, one for above
        found = np.empty(x.size)
        missed = [np.zeros(0, np.intp)]
        place, value, term = (np.empty(_BLOCK) for _ in range(3))
        cell = np.empty(_BLOCK, np.intp)
        for begin in range(0, x.size, _BLOCK):
            size = min(_BLOCK, x.size - begin)
            place, value, term, cell = place[:size], value[:size], term[:size], cell[:size]
            np.subtract(x[begin : begin + size], self.start - self.step, out=place)
            np.multiply(place, 1 / self.step, out=place)
            np.clip(place, 0.0, rise.size + 1.5, out=place)
            np.copyto(cell, place, casting="unsafe")
            np.subtract(place, cell, out=place)
            cells[3].take(cell, out=value, mode="clip")
            for power in (2, 1, 0):
                cells[power].take(cell, out=term, mode="clip")
                np.multiply(value, place, out=value)
                np.add(value, term, out=value)
            found[begin : begin + size] = value
            if np.isnan(value).any():
                missed.append(np.flatnonzero(np.isnan(value)) + begin)
        return found, np.concatenate(missed)


def _shortest(total: Vector, k: Vector, level: float) -> tuple[float, float]:
    before = np.concatenate([[0.0], total[:-1]])
    end = np.searchsorted(total, before + level * total[-1] - 1e-12)
    possible = end < k.size
    length = np.where(possible, k[np.minimum(end, k.size - 1)] - k, np.inf)
    # Of equally short ranges, the one that holds most.
    held = np.where(possible, total[np.minimum(end, k.size - 1)] - before, 0.0)
    best = int(np.lexsort((-held, length))[0])
    return k[best], k[end[best]]


def _support(prior: FittedPrior, noise: Noise, estimates: Vector, edges: tuple[float, ...]) -> tuple[Vector, Vector]:
    """The nodes of the posterior sums and the logarithm of weight times mass there."""
    if prior.atoms is not None:
        return prior.atoms
    cuts = np.concatenate([prior.edges, edges])
    rule = _feature_nodes(prior, noise, estimates, cuts) if prior.feature else _nodes(prior, noise, estimates, cuts)
    with np.errstate(divide="ignore"):
        log_mass = prior.log_mass(rule.nodes) + np.log(rule.weights)
    kept = np.isfinite(log_mass)
    k, log_mass = rule.nodes[kept], log_mass[kept]
    if prior.first > 0 and np.isfinite(prior.zero):
        k, log_mass = np.concatenate([[0.0], k]), np.concatenate([[prior.zero], log_mass])
    return k, log_mass


def _nodes(prior: FittedPrior, noise: Noise, estimates: Vector, cuts: Vector) -> Rule:
    """For priors with heavy tails: all of the core, and a window around every estimate beyond it."""
    exact = min(prior.n, EXACT)
    parts = [whole_numbers(prior.first, exact)]
    stop = min(prior.n + 0.5, REACH * noise.deviation + MARGIN * _deviation(noise, REACH * noise.deviation))
    covered = exact + 0.5
    if stop > covered:
        parts += _pieces(covered, stop, noise, cuts)
        covered = stop
    parts += _windows(prior, noise, estimates, covered, cuts)
    return Rule.of(*parts)


def _windows(
    prior: FittedPrior, noise: Noise, estimates: Vector, covered: float, cuts: Vector
) -> list[tuple[Vector, Vector]]:
    """Nodes around every estimate, or the end of the support, that lies beyond what is covered."""
    beyond = estimates > covered - MARGIN * _deviation(noise, covered)
    far = np.unique(np.clip(estimates[beyond].round(), 0, prior.largest))
    if not far.size:
        return []
    reach = MARGIN * np.sqrt(noise.variance_at(far))
    low, high = np.maximum(far - reach, covered), np.minimum(far + reach, prior.n + 0.5)
    return [part for begin, end in _merged(low, high) for part in _pieces(begin, end, noise, cuts)]


def _feature_nodes(prior: FittedPrior, noise: Noise, estimates: Vector, cuts: Vector) -> Rule:
    """For narrow priors with light tails: their bulk finely, and from there to the farthest estimate."""
    place, width = prior.feature or (0.0, 1.0)
    exact = min(prior.n, EXACT)
    parts = [whole_numbers(prior.first, exact)]
    if exact == prior.n:
        return Rule.of(*parts)
    covered, end = exact + 0.5, prior.n + 0.5
    near = np.clip([place - FEATURE_REACH * width, place + FEATURE_REACH * width], covered, end)
    if near[1] - near[0] <= 8 * EXACT:
        near = np.clip(np.round(near) + 0.5, covered, end)
        parts.append(whole_numbers(int(near[0] + 0.5), int(near[1] - 0.5)))
        inner = np.zeros(0)
    elif noise.deviation < SMOOTH_SCALE:
        # A wide prior and little noise: nothing is far from its estimate.
        return Rule.of(*parts, *_windows(prior, noise, estimates, covered, cuts))
    else:
        fine = min(width, noise.deviation) / 2
        inner = np.linspace(near[0], near[1], 2 + min(4000, int((near[1] - near[0]) / fine)))
    top = min(end, max(near[1], float(estimates.max()) + MARGIN * _deviation(noise, float(prior.n))))
    for low, high, edges in ((covered, near[0], None), (near[0], near[1], inner), (near[1], top, None)):
        if edges is None:
            step = max(min(noise.deviation, 4 * width), (high - low) / 3000, 1e-9)
            edges = np.linspace(low, high, 2 + int((high - low) / step)) if high > low else np.zeros(0)
        if edges.size:
            inside = cuts[(cuts > low) & (cuts < high)]
            parts.append(panels(np.unique(np.concatenate([edges, inside])), 8))
    return Rule.of(*parts)


def _pieces(begin: float, end: float, noise: Noise, cuts: Vector) -> list[tuple[Vector, Vector]]:
    """Nodes between two half-integers or anywhere else, as fine as the noise asks for."""
    if _deviation(noise, begin) < SMOOTH_SCALE:
        first, last = int(np.ceil(begin)), int(np.floor(end))
        return [whole_numbers(first, last)] if last >= first else []
    edges = growing_edges(begin, end, _deviation(noise, begin))
    inside = cuts[(cuts > begin) & (cuts < end)]
    return [panels(np.unique(np.concatenate([edges, inside])), 8)]


def _merged(low: Vector, high: Vector) -> Iterator[tuple[float, float]]:
    """The union of intervals with ascending ends."""
    begin, end = float(low[0]), float(high[0])
    for a, b in zip(low[1:].tolist(), high[1:].tolist(), strict=True):
        if a > end:
            yield begin, end
            begin = a
        end = max(end, b)
    if end > begin:
        yield begin, end


def _deviation(noise: Noise, k: float) -> float:
    return float(np.sqrt(noise.variance_at(np.array(max(k, 0.0)))))
