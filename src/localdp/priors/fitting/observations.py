"""The estimates in the form that priors are fitted to: binned in the core, one by one in the far tail.

The core is where the noise matters: estimates up to 40 deviations of it. Each is split between the two nearest points
of a grid with eight points to a deviation, in the proportion that keeps its mean. That adds a quarter of a percent to
the variance of the noise, and fitting a million items then costs hardly more than fitting a thousand. In the far tail
there are few estimates, and the noise is small beside them: under a smooth prior the density of such an estimate is
the prior's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from localdp.kernels.quadrature import EXACT_UP_TO, Quadrature, cut_at, growing_edges, panels, whole_numbers
from localdp.priors.fitting.noise import CORE_DEVIATIONS, Noise
from localdp.types import Places, Vector

BINS_PER_DEVIATION = 8

NOISE_REACH = 12.0
"""Noise of more than this many deviations is neglected: its probability is 1e-33."""


Scale = tuple[float, float]
"""A deviation of the noise, and the frequency up to which sums must be as fine as that."""


@dataclass(frozen=True, eq=False)
class Observations:
    """Estimates of d items among n users, with their noise, and the sum of all frequencies if it is known.

    >>> seen = Observations(np.array([9.5, -2.0, 800.0]), Noise(16.0), n=900, known_total=900)
    >>> seen.d, seen.mean, seen.cut
    (3, 300.0, 160.0)
    >>> seen.tail.tolist()
    [800.0]
    """

    estimates: Vector
    noise: Noise
    n: int
    known_total: float | None

    @classmethod
    def usable(cls, estimates: Vector, noise: Noise, n: int, total: float | None) -> Observations:
        """Observations that can be computed with: see `Noise.usable`; estimates absurdly far away are clipped.

        `total` is the sum of all frequencies, if it is known.
        """
        usable = noise.usable(n)
        reach = 1e3 * usable.deviation
        return cls(np.clip(estimates, -reach, n + reach), usable, n, total)

    @property
    def d(self) -> int:
        """The number of items."""
        return self.estimates.size

    @property
    def mean(self) -> float:
        """E(f), the mean frequency: known exactly if the total is, and otherwise the mean of the estimates.

        It is at most n.
        """
        return min(self.total / self.d, float(self.n))

    @property
    def total(self) -> float:
        """The sum of the frequencies, or its estimate: at least 1."""
        return self.known_total if self.known_total is not None else max(1.0, float(self.estimates.sum()))

    @property
    def total_variance(self) -> float:
        """The variance of `total`: 0 if it is known."""
        return 0.0 if self.known_total is not None else self.d * self.noise.variance + self.total * self.noise.excess

    @cached_property
    def spread(self) -> float:
        """Var(f), the variance of the true frequencies by Eq. 18: that of the estimates less that of the noise.

        At least 0, even where the estimates vary less than their noise.
        """
        noise = float(self.noise.variance_at(np.array(max(self.mean, 0.0))))
        return max(0.0, float(np.var(self.estimates)) - noise)

    @property
    def cut(self) -> float:
        """The frequency where the core ends and the far tail begins."""
        return self.noise.core

    @property
    def reach(self) -> float:
        """The largest frequency that estimates of the core may come from."""
        return self.cut + NOISE_REACH * self.noise.deviation_at(self.cut)

    @property
    def scales(self) -> tuple[Scale, ...]:
        """How fine sums over the core must be: several scales, the finest first, if the noise differs by item."""
        return ((self.noise.deviation, self.reach),)

    @property
    def panel_scales(self) -> tuple[Scale, ...]:
        """The same for panels around a narrow bulk, where the noise that holders add does not matter."""
        return ((self.noise.deviation, (CORE_DEVIATIONS + NOISE_REACH) * self.noise.deviation),)

    @property
    def tail_variance(self) -> float:
        """The variance of the sum of the far tail."""
        return float(self.noise.variance_at(self.tail).sum())

    def count_above(self, deviations: float) -> int:
        """How many estimates are larger than this many deviations of their noise."""
        return int(np.count_nonzero(self.estimates > deviations * self.noise.deviation))

    @cached_property
    def tail(self) -> Vector:
        """The estimates beyond the cut in ascending order; those above n are taken as n."""
        return np.minimum(np.sort(self.estimates[self.estimates > self.cut]), float(self.n))

    @cached_property
    def binned(self) -> tuple[Vector, Vector]:
        """The core: points of the grid, and how many estimates each stands for (a fraction for those that are split).

        Estimates below -`CORE_DEVIATIONS` deviations are moved up to that limit. This keeps the grid short and changes
        next to nothing: all of them mean the smallest frequency.
        """
        core = self.estimates[self.estimates <= self.cut]
        return on_grid(core, self.noise) if core.size else (np.zeros(0), np.zeros(0))

    def ladder(self, per_deviation: float, top: float) -> Vector:
        """Numbers from near 0 to just above `top`, so many to a deviation of the noise, and at least 1 apart."""
        parts, start = [], 0.0
        for place, (deviation, reach) in enumerate(self.scales):
            step = max(min(deviation, float(self.n)) / per_deviation, 1.0)
            stop = top if place == len(self.scales) - 1 else min(reach, top)
            parts.append(np.arange(start + step, stop + step, step))
            start = float(parts[-1][-1]) if parts[-1].size else start
        return np.concatenate(parts)

    def quadrature(self, first: int, breaks: Vector | None = None) -> Quadrature:
        """Nodes for the likelihood of the core: frequencies from `first` to as far beyond the cut as noise reaches.

        Panels also end at the `breaks`, where a prior has a step.
        """
        exact, edges = self._stretches()
        parts = [whole_numbers(first, max(first, exact))]
        if edges.size > 1:
            parts.append(panels(cut_at(breaks, edges), 4))
        return Quadrature.join(*parts)

    def _stretches(self) -> tuple[int, Vector]:
        """The largest frequency that is a node itself, and the edges of the panels beyond it."""
        scales = self._core_scales
        exact = int(min(self.n, max(EXACT_UP_TO // 16, min(EXACT_UP_TO // 2, 4 * scales[0][0]))))
        edges = np.array([exact + 0.5])
        for deviation, reach in scales:
            stop = min(self.n + 0.5, reach)
            if stop > edges[-1]:
                edges = np.append(edges, growing_edges(float(edges[-1]), stop, deviation)[1:])
        return exact, edges

    @property
    def _core_scales(self) -> tuple[Scale, ...]:
        """How wide panels in the core may be, and up to which frequency."""
        return ((self.noise.deviation, self.cut + NOISE_REACH * self.noise.deviation),)

    def likelihood(self, k: Vector) -> tuple[Vector, Vector]:
        """p_s(point - k), a row for each point of the grid and a column for each k, and the logarithm of a scale.

        Each row is divided by its largest entry, because the smallest likelihoods would round to 0; the second array
        has the logarithms of these largest entries.
        """
        logs = self.noise.log_likelihood(self.binned[0], k)
        largest = logs.max(axis=1, initial=-np.inf)
        return np.exp(logs - largest[:, None]), largest


@dataclass(frozen=True, eq=False)
class Grid:
    """An even grid, with each of some estimates split between the two nearest of its points."""

    start: float
    step: float
    left: Places
    share: Vector
    """Of the item, the share that goes to the point right of it."""

    @classmethod
    def of(cls, estimates: Vector, noise: Noise) -> Grid:
        """A grid that is fine beside the noise."""
        # Even one holder adds `excess` to the variance: a grid finer than that noise would be wasted.
        step = max(noise.deviation, np.sqrt(max(noise.excess, 0.0))) / BINS_PER_DEVIATION
        # Where possible estimates are farther apart than that, they are the grid, and none is split.
        step = max(step, noise.spacing)
        start = max(float(estimates.min()), -CORE_DEVIATIONS * noise.deviation)
        place = (np.maximum(estimates, start) - start) / step
        left = np.floor(place + 1e-9).astype(np.int64)  # the grid may be that of all possible estimates
        return cls(start, step, left, np.maximum(place - left, 0.0))

    @cached_property
    def points(self) -> Vector:
        """Every point of the grid."""
        return self.start + self.step * np.arange(int(self.left.max()) + 2, dtype=np.float64)

    def counts(self, weights: Vector | float = 1.0) -> Vector:
        """The sum of the weights of the estimates at each point."""
        size = self.points.size
        left, right = (weights * part for part in (1 - self.share, self.share))
        return np.zeros(size) + np.bincount(self.left, left, size) + np.bincount(self.left + 1, right, size)


def on_grid(estimates: Vector, noise: Noise, counts: Vector | float = 1.0) -> tuple[Vector, Vector]:
    """Points of a grid, and how many estimates each stands for, if each estimate counts as many as `counts` says."""
    grid = Grid.of(estimates, noise)
    weights = grid.counts(counts)
    used = weights > 0
    return grid.points[used], weights[used]
