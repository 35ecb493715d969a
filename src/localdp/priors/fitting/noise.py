"""The noise prior p_s: Gaussian, mean 0, variance known from the mechanism (section III-B of the paper).

    Var(s | f = k) = variance + k * excess

`excess` is what an item's own holders add; with excess 0 this is the paper's constant variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from localdp.types import Vector

NEGLIGIBLE = 0.01
"""Below this deviation an estimate says which whole number it is: noise cannot bridge half a person."""


HALF_A_PERSON = 0.5


@dataclass(frozen=True)
class Noise:
    """The variance of an estimate of an item with true frequency k."""

    variance: float
    excess: float = 0.0

    @property
    def deviation(self) -> float:
        """The standard deviation for an item that nobody holds."""
        return math.sqrt(self.variance)

    @property
    def is_negligible(self) -> bool:
        """So little noise, of rare and of frequent items alike, that the estimates are the frequencies."""
        return self.deviation < NEGLIGIBLE and self.excess <= 0

    def usable(self, n: int) -> Noise:
        """Noise that can be computed with: not less than none, and not more than there are people.

        Where an item's own holders add noise, estimates lie on a grid at least one apart, so even those of items nobody
        holds are no better than half a person.
        """
        least = HALF_A_PERSON if self.excess > 0 else NEGLIGIBLE
        return Noise(min(max(self.deviation, least), 1e6 * n) ** 2, self.excess)

    def variance_at(self, k: Vector) -> Vector:
        """The variance for items with these true frequencies; never below a tenth of the constant one."""
        return np.maximum(self.variance + self.excess * k, 0.1 * self.variance)

    def log_likelihood(self, estimates: Vector, k: Vector) -> Vector:
        """log p_s(estimate - k) up to a constant; arguments broadcast."""
        variance = self.variance_at(k)
        return -0.5 * (estimates - k) ** 2 / variance - 0.5 * np.log(variance)
