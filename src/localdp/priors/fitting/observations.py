"""The estimates as a prior is fitted to them: binned where they are many, one by one in the far tail.

Estimates within 40 deviations of zero are split between the two nearest points of a grid an eighth of a deviation
apart, which keeps their mean and adds a quarter of a percent to the variance of the noise. Beyond, there are few,
and the noise is small beside them, so that their density under a smooth prior is the prior's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from localdp.kernels.quadrature import EXACT, Rule, growing_edges, panels, whole_numbers
from localdp.priors.fitting.noise import Noise
from localdp.types import Vector

STEPS = 8
REACH = 40.0
OWN_REACH = 15.0
MARGIN = 12.0


@dataclass(frozen=True, eq=False)
class Observations:
    """Estimates of d items among n users, with their noise."""

    estimates: Vector
    noise: Noise
    n: int

    @classmethod
    def usable(cls, estimates: Vector, noise: Noise, n: int) -> Observations:
        """Observations that can be computed with, whatever the noise: none, or more than there are people."""
        usable = noise.usable(n)
        reach = 1e3 * usable.deviation
        return cls(np.clip(estimates, -reach, n + reach), usable, n)

    @property
    def d(self) -> int:
        """The number of items."""
        return self.estimates.size

    @property
    def mean(self) -> float:
        """E(f): every user holds one item, so it is known exactly."""
        return self.n / self.d

    @cached_property
    def spread(self) -> float:
        """Var(f) by Eq. 18: the variance of the estimates less that of the noise; at least 0."""
        noise = float(self.noise.variance_at(np.array(max(self.mean, 0.0))))
        return max(0.0, float(np.var(self.estimates)) - noise)

    @property
    def cut(self) -> float:
        """Where the far tail begins: where the noise, an item's own included, is small beside the frequency."""
        return max(REACH * self.noise.deviation, OWN_REACH**2 * self.noise.excess)

    @cached_property
    def tail(self) -> Vector:
        """The estimates beyond the cut, ascending, none above n."""
        return np.minimum(np.sort(self.estimates[self.estimates > self.cut]), float(self.n))

    @cached_property
    def binned(self) -> tuple[Vector, Vector]:
        """Grid points and how many estimates each stands for, up to the cut."""
        core = self.estimates[self.estimates <= self.cut]
        if not core.size:
            return np.zeros(0), np.zeros(0)
        # An item's own noise is at least that of one holder: no need for a finer grid than that.
        step = max(self.noise.deviation, np.sqrt(max(self.noise.excess, 0.0))) / STEPS
        # Far below zero everything is the same evidence for the smallest frequency: keep the grid short.
        start = max(float(core.min()), -REACH * self.noise.deviation)
        place = (np.maximum(core, start) - start) / step
        left = np.floor(place).astype(np.int64)
        share = place - left
        size = int(left.max()) + 2
        weights = np.zeros(size) + np.bincount(left, 1 - share, size) + np.bincount(left + 1, share, size)
        used = weights > 0
        return start + step * np.flatnonzero(used).astype(np.float64), weights[used]

    def rule(self, first: int, cuts: Vector | None = None) -> Rule:
        """Nodes for the likelihood of the binned estimates: frequencies first.. up to beyond the cut.

        Panels also end at the `cuts`, where a prior has a step.
        """
        deviation = self.noise.deviation
        exact = int(min(self.n, max(EXACT // 16, min(EXACT // 2, 4 * deviation))))
        parts = [whole_numbers(first, max(first, exact))]
        stop = min(self.n + 0.5, self.cut + MARGIN * deviation)
        if stop > exact + 0.5:
            edges = growing_edges(exact + 0.5, stop, deviation)
            if cuts is not None:
                edges = np.unique(np.concatenate([edges, cuts[(cuts > exact + 0.5) & (cuts < stop)]]))
            parts.append(panels(edges, 4))
        return Rule.of(*parts)

    def likelihood(self, k: Vector) -> tuple[Vector, Vector]:
        """p_s(point - k) for every grid point and k, each row divided by its largest, and the logarithms of those."""
        logs = self.noise.log_likelihood(self.binned[0][:, None], k)
        largest = logs.max(axis=1, initial=-np.inf)
        return np.exp(logs - largest[:, None]), largest
