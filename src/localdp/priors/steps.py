"""A fitted prior that is a histogram: a mass function in steps, each of them flat.

`monotone` and `npmle` are fitted as histograms.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from localdp.priors.base import FittedPrior
from localdp.types import Vector


@dataclass(frozen=True, eq=False, repr=False)
class StepPrior(FittedPrior):
    """A mass function that is constant between the `ends` of its steps."""

    ends: Vector = field(default_factory=lambda: np.zeros(0))
    """The last whole number of each step, ascending; the first step begins at 0."""
    log_heights: Vector = field(default_factory=lambda: np.zeros(0))
    """The log-mass of each whole number of the step; -inf for a step without mass."""

    def log_mass(self, k: Vector) -> Vector:
        k = np.asarray(k, np.float64)
        place = np.searchsorted(self.ends + 0.5, k)
        inside = place < self.ends.size
        return np.where(inside, self.log_heights[np.minimum(place, self.ends.size - 1)], -np.inf)

    @property
    def uses_total(self) -> bool:
        return False  # its masses are not sure enough of themselves for that

    @property
    def first(self) -> int:
        return 0

    @property
    def largest(self) -> float:
        return float(self.ends[-1])

    @property
    def edges(self) -> Vector:
        return self.ends + 0.5
