"""The distribution of the noise s = fhat - f: Gaussian, as in the paper.

    s ~ N(0, Var(s | f)),       Var(s | f = k) = variance + k * excess

Section III-B of the paper, where excess is 0: all items have the same variance. `excess` is the variance that each
holder of an item adds. `localdp.priors.fitting.counting_noise` has the exact distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from localdp.types import Places, Vector

NEGLIGIBLE = 0.01
"""Noise with a smaller deviation is ignored: half a person is at least 50 deviations, so rounding an estimate gives the
frequency."""

HALF_A_PERSON = 0.5
"""The smallest deviation that `Noise.usable` allows if holders add noise."""

CORE_DEVIATIONS = 40.0
"""The core ends at this many deviations of the noise of an item that nobody holds."""

OWN_NOISE_DEVIATIONS = 15.0
"""The core ends no earlier than at the frequency that is this many deviations of the noise that the item's own holders
add."""


@dataclass(frozen=True)
class Noise:
    """Gaussian noise: its variance for an item that nobody holds, and what each holder adds (`excess`).

    >>> noise = Noise(variance=16.0, excess=0.5)
    >>> noise.deviation
    4.0
    >>> noise.variance_at(np.array([0.0, 100.0])).tolist()
    [16.0, 66.0]
    """

    variance: float
    excess: float = 0.0

    @property
    def deviation(self) -> float:
        """The standard deviation for an item that nobody holds."""
        return math.sqrt(self.variance)

    @property
    def core(self) -> float:
        """The frequency where the core ends: up to here the noise matters, and beyond it is small."""
        # Holders add the variance f * excess, so f is sqrt(f / excess) deviations of their noise.
        return max(CORE_DEVIATIONS * self.deviation, OWN_NOISE_DEVIATIONS**2 * self.excess)

    @property
    def spacing(self) -> float:
        """The distance between possible estimates; 0 if every number is possible."""
        return 0.0

    @property
    def lowest(self) -> float:
        """An estimate below this one says no more than this one does."""
        # The log-likelihood ratio of two frequencies k1 < k2 has the derivative (k2 - k1)(e x + v) / (Var1 Var2) in
        # the estimate x. Below -v/e it is negative: an estimate far below zero would look like a frequent item that
        # was unlucky.
        return -self.variance / self.excess if self.excess > 0 else -math.inf

    @property
    def is_negligible(self) -> bool:
        """Whether the noise of all items, rare and frequent, is so small that it can be ignored."""
        return self.deviation < NEGLIGIBLE and self.excess <= 0

    @property
    def without_excess(self) -> Noise:
        """Gaussian noise of the same variance, if holders add none."""
        return Noise(self.variance)

    def widened(self, factor: float) -> Noise:
        """Noise of the same kind with this many times the variance."""
        return Noise(self.variance * factor, self.excess * factor)

    def usable(self, n: int) -> Self:
        """The same noise, with its deviation limited so that sums and logarithms can be computed.

        It is then neither 0 nor extremely large. Where holders add noise, possible estimates are at least 1 apart. An
        estimate then determines a frequency to within half a person at best, even if the variance of items that nobody
        holds is 0.
        """
        least = HALF_A_PERSON if self.excess > 0 else NEGLIGIBLE
        return replace(self, variance=min(max(self.deviation, least), 1e6 * n) ** 2)

    def variance_at(self, k: Vector) -> Vector:
        """The variance for items with these true frequencies.

        A negative excess could carry it to 0; it is kept at a tenth of `variance` or more.
        """
        return np.maximum(self.variance + self.excess * k, 0.1 * self.variance)

    def variance_of(self, items: Places | slice, k: Vector) -> Vector:  # noqa: ARG002 (all items have the same noise)
        """The same for these items; see `NoiseByItem`, where items differ."""
        return self.variance_at(k)

    def deviation_at(self, k: float) -> float:
        """The standard deviation for an item with this true frequency; a negative one counts as 0."""
        return math.sqrt(float(self.variance_at(np.array(max(k, 0.0)))))

    def log_likelihood(self, estimates: Vector, k: Vector) -> Vector:
        """log p_s(estimate - k): a row for each estimate, a column for each k.

        If k has a row for each estimate, they are the frequencies that this estimate is compared with.

        It leaves out a term that is the same for all k, which no posterior and no comparison of priors depends on.
        """
        variance = self.variance_at(k)
        logs = np.subtract(estimates[:, None], k)
        np.square(logs, out=logs)
        logs *= -0.5 / variance
        logs -= 0.5 * np.log(variance)
        return logs
