r"""The posterior of shares from a best guess and draws.

Every share, and every weighted sum of shares, has the best guess as its mean and the mean squared distance of the draws
from it as its variance, times `MORE_DOUBT`. Between its bounds it has a beta law with this mean and variance: of 64
draws, that gives steadier intervals than their own quantiles. Frequencies are shares times n.

If a share is small and its deviation larger than itself, such a law would be heaped at 0, and the heap the higher, the
larger the deviation: the less is known, the shorter were the interval. The law is then Beta(1, b), which falls from 0,
with the mean square of the share that the best guess and the variance give. A share near 1 is treated likewise.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, betaincinv

from localdp.calibrate.base import AnyPosterior, Quantity
from localdp.frozen import Frozen
from localdp.structures.posterior import bounded_interval
from localdp.types import Places, Vector

MORE_DOUBT, MORE_DOUBT_ALONE = 1.45**2, 1.25**2
"""Variances are larger than those of the draws by this: the model is never quite true. Measured, not derived.

The second is for the shares of one question, which the model fits better than tables of two."""

_TAILS = 33  # probabilities below an interval that are tried
_MOST = 1e12  # what the parameters of a beta law add up to at most


class DrawnPosterior(Frozen, AnyPosterior):
    """Shares of some cells, of n people: the best guess `best`, and `draws` with a row for each."""

    def __init__(self, best: Vector, draws: Vector, n: float, doubt: float = MORE_DOUBT) -> None:
        self.best, self.draws, self.n, self.doubt = best, draws, n, doubt
        self.variances: Vector = np.maximum(doubt * np.mean((draws - best) ** 2, axis=0), 1e-24)
        self._a, self._b = _beta(np.clip(best, 1e-12, 1 - 1e-12), self.variances)
        self._freeze()

    def means(self) -> Vector:
        return self.n * self.best

    def deviations(self) -> Vector:
        return self.n * np.sqrt(self.variances)

    def probability_above(self, limit: float) -> Vector:
        share = limit / self.n
        if share < 0:
            return np.ones(self.best.size)
        return np.asarray(1 - betainc(self._a, self._b, min(share, 1.0)))

    def shortest_intervals(self, level: float) -> tuple[Vector, Vector]:
        tails = np.linspace(0, 1 - level, _TAILS)[:, None]
        low, high = betaincinv(self._a, self._b, tails), betaincinv(self._a, self._b, tails + level)
        cells, shortest = np.arange(self.best.size), np.argmin(high - low, axis=0)
        ends = low[shortest, cells], high[shortest, cells]
        return self.n * np.minimum(ends[0], self.best), self.n * np.maximum(ends[1], self.best)

    def quantiles(self, level: float) -> Vector:
        return np.asarray(self.n * betaincinv(self._a, self._b, level))

    def quantiles_of(self, items: Places, levels: Vector) -> Vector:
        return np.asarray(self.n * betaincinv(self._a[items], self._b[items], levels))

    def linear(self, weights: Vector, level: float) -> Quantity:
        value = float(weights @ self.best)
        variance = self.doubt * float(np.mean((self.draws @ weights - value) ** 2))
        bounds = min(float(weights.min()), 0.0), max(float(weights.max()), 0.0)
        low, high = bounded_interval(value, variance, level, *bounds)
        return Quantity(self.n * value, self.n * min(low, value), self.n * max(high, value), level)


class FirstCells(Frozen, AnyPosterior):
    """What another posterior of `size` cells knows about the first ones."""

    def __init__(self, whole: AnyPosterior, cells: int, size: int) -> None:
        self.whole, self.cells, self.size = whole, cells, size
        self._freeze()

    def means(self) -> Vector:
        return self.whole.means()[: self.cells]

    def deviations(self) -> Vector:
        return self.whole.deviations()[: self.cells]

    def probability_above(self, limit: int) -> Vector:
        return self.whole.probability_above(limit)[: self.cells]

    def shortest_intervals(self, level: float) -> tuple[Vector, Vector]:
        low, high = self.whole.shortest_intervals(level)
        return low[: self.cells], high[: self.cells]

    def quantiles(self, level: float) -> Vector:
        return self.whole.quantiles(level)[: self.cells]

    def quantiles_of(self, items: Places, levels: Vector) -> Vector:
        return self.whole.quantiles_of(items, levels)

    def linear(self, weights: Vector, level: float) -> Quantity:
        return self.whole.linear(np.append(weights, np.zeros(self.size - self.cells)), level)

    def last(self, level: float) -> Vector:
        """The mean of the cell behind them, and the ends of its interval."""
        low, high = self.whole.shortest_intervals(level)
        return np.array([self.whole.means()[self.cells], low[self.cells], high[self.cells]])


def _beta(means: Vector, variances: Vector) -> tuple[Vector, Vector]:
    """The parameters of the law of each share."""
    size = np.clip(means * (1 - means) / variances - 1, 0.0, _MOST)
    near = np.minimum(means, 1 - means)
    squares = np.minimum(np.square(near) + variances, 1.0)
    falling = 0.5 * (np.sqrt(1 + 8 / squares) - 3)  # b, from 2 / ((1 + b)(2 + b)) = the mean square
    heaped = near * size < 1
    low, high = np.where(heaped, 1.0, near * size), np.where(heaped, np.maximum(falling, 1.0), (1 - near) * size)
    return np.where(means <= 0.5, low, high), np.where(means <= 0.5, high, low)
