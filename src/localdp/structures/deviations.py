r"""What a cell has of its own, beside the ground: little in most cells, a lot in a few.

    u_i ~ (1 - rho) N(0, tau^2) + rho N(0, 1.5^2)

With the second part a few cells may stand out by a factor of e^1.5 = 4.5 or more: round prices on a smooth curve, rows
and columns that meet often, an item that has become popular since the last release. tau is averaged by evidence; rho
is the share of such cells in the fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localdp.types import Vector

STANDING_OUT = 1.5
"""The deviation, as a logarithm, of cells that stand out."""

TAUS = (0.0, 0.08, 0.16, 0.32, 0.64, 1.28)
"""The values of tau that are averaged over."""


@dataclass(frozen=True)
class Deviations:
    """The law of u: the deviation `tau` of most cells, and the share `rho` of those that stand out."""

    tau: float
    rho: float

    @property
    def log_shares(self) -> Vector:
        """The logarithms of the shares of both parts."""
        return np.asarray(np.log(np.array([1 - self.rho, self.rho])))

    def variances(self, doubts: Vector) -> Vector:
        """The variance of u in both parts, a row for each cell; `doubts` are those of the cells' starts."""
        return np.asarray(doubts[:, None] + np.array([self.tau**2, self.tau**2 + STANDING_OUT**2]))
