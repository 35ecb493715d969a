"""The posterior of one period of a history: a level that all periods share, and how far this period is from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from localdp.calibrate.base import AnyPosterior, Quantity
from localdp.changes.curves import Curves
from localdp.estimate.calibrated import Calibrated
from localdp.types import Places, Vector

_LEVEL = 0.9  # intervals of the level from which deviations to both sides are taken


@dataclass(frozen=True, eq=False)
class Level:
    """The shares over the whole range, of the population: calibrated, with the chance by which people were asked."""

    pooled: Calibrated

    @cached_property
    def means(self) -> Vector:
        """The expected shares."""
        return np.asarray(self.pooled.frequencies / self.pooled.n)

    @cached_property
    def deviations(self) -> tuple[Vector, Vector]:
        """The deviations of every share to both sides: a posterior near 0 is not symmetric."""
        low, high = (side / self.pooled.n for side in self.pooled.interval(_LEVEL))
        reach = float(ndtri((1 + _LEVEL) / 2))
        sampled = self.means * (1 - np.minimum(self.means, 1)) / self.pooled.n
        below, above = np.maximum(self.means - low, 0) / reach, np.maximum(high - self.means, 0) / reach
        return np.sqrt(np.square(below) + sampled), np.sqrt(np.square(above) + sampled)

    def linear(self, weights: Vector, level: float) -> tuple[float, float]:
        """How far the weighted sum of the shares may be below and above its expectation."""
        found = self.pooled._posterior.linear(weights, level)
        spread = float(np.square(weights) @ self.means - (weights @ self.means) ** 2) / self.pooled.n
        sampled = float(ndtri((1 + level) / 2)) ** 2 * max(spread, 0.0)
        below, above = (found.value - found.low) / self.pooled.n, (found.high - found.value) / self.pooled.n
        return float(np.sqrt(below**2 + sampled)), float(np.sqrt(above**2 + sampled))


@dataclass(frozen=True, eq=False)
class DayPosterior(AnyPosterior):
    """Frequencies among n people of one period: normal to both sides of the mean, with other deviations.

    `away` is how far the shares of this period are from the level, and `variances` how uncertain that is.
    """

    level: Level
    away: Vector
    spread: Vector
    n: int
    adds_up: bool

    @cached_property
    def _shares(self) -> Vector:
        return np.asarray(np.clip(self.level.means + self.away, 0, 1))

    @cached_property
    def _sides(self) -> tuple[Vector, Vector]:
        below, above = self.level.deviations
        return np.sqrt(np.square(below) + self.spread), np.sqrt(np.square(above) + self.spread)

    def means(self) -> Vector:
        return self._shares * self.n

    def deviations(self) -> Vector:
        below, above = self._sides
        return np.asarray(self.n * np.sqrt((np.square(below) + np.square(above)) / 2))

    def probability_above(self, limit: int) -> Vector:
        below, above = self._sides
        distance = self._shares - (limit + 0.5) / self.n
        return np.asarray(ndtr(distance / np.maximum(np.where(distance > 0, below, above), 1e-300)))

    def shortest_intervals(self, level: float) -> tuple[Vector, Vector]:
        return self.quantiles((1 - level) / 2), self.quantiles((1 + level) / 2)

    def quantiles(self, level: float) -> Vector:
        return self.quantiles_of(np.arange(self._shares.size), np.full(self._shares.size, level))

    def quantiles_of(self, items: Places, levels: Vector) -> Vector:
        below, above = (side[items] for side in self._sides)
        reach = ndtri(levels)
        found = self._shares[items] + reach * np.where(reach < 0, below, above)
        return np.asarray(np.clip(found, 0, 1) * self.n)

    def linear(self, weights: Vector, level: float) -> Quantity:
        below, above = self.level.linear(weights, level)
        own = float(ndtri((1 + level) / 2)) ** 2 * max(self._variance(weights), 0.0)
        value = float(weights @ self._shares)
        low, high = value - np.sqrt(below**2 + own), value + np.sqrt(above**2 + own)
        return Quantity(value * self.n, float(low) * self.n, float(high) * self.n, level)

    def _variance(self, weights: Vector) -> float:
        """That of the weighted sum of how far shares are from their level."""
        own = float(np.square(weights) @ self.spread)
        if self.adds_up and self.spread.any():
            own -= float(weights @ self.spread) ** 2 / float(self.spread.sum())
        return own


@dataclass(frozen=True, eq=False)
class CurvesPosterior(DayPosterior):
    """The same for a sum of curves, whose amplitudes are uncertain: neighbouring cells are too high or low together."""

    curves: Curves
    amplitudes: Vector
    """Their variances."""

    @classmethod
    def of(cls, level: Level, curves: Curves, found: Vector, variances: Vector, n: int) -> CurvesPosterior:
        """The posterior for these amplitudes of the curves."""
        shares = np.maximum(level.means + curves.cells @ found, 0)
        away = shares / shares.sum() - level.means
        return cls(level, away, np.square(curves.cells) @ variances, n, True, curves, variances)

    def _variance(self, weights: Vector) -> float:
        return float(np.square(weights @ self.curves.cells) @ self.amplitudes)
