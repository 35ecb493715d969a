r"""The parts that a posterior with structure is the average of.

A part is the posterior under one model: it knows the mean and the variance of every cell, the points of a cell's
distribution, and the mean and variance of any weighted sum of cells.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from localdp.calibrate.known_total import LEAST_VARIANCE
from localdp.structures.cell_integrals import FEWER, placed, tilted
from localdp.structures.field import Field
from localdp.structures.fit import AT_ONCE, MANY, Fit
from localdp.structures.likelihood import CellLikelihood, Rows
from localdp.types import Vector

MORE_DOUBT = 1.15**2
"""The variance of a sum of several cells is larger than computed by this: measured, not derived."""

_PULLS = 8  # tries to make the means add up to the total, at most
_LEAST_AWAY = 1e-3  # deviations of the sum that may still be missing: the average of the parts adds them

_TOLD = 16.0  # times as much as its own estimate: what the total may say about a cell whose points serve

FINE, LESS_FINE = 20, 9
"""Nodes on each side of the mode, for intervals; fewer where there are very many cells."""


class Part(ABC):
    """The posterior of all cells under one model."""

    evidence: float = -np.inf
    """The log-density of what was observed, given the total if it is known."""
    settled: bool = True
    """Whether the fit came to an end."""
    tau: float = 0.0
    """How much single cells deviate from the ground, as a logarithm."""
    rho: float = 0.0
    """The share of cells that stand out."""
    strengths: tuple[float, ...] = ()
    """The strengths of the structure."""

    def finished(self) -> Part:
        """The same posterior, if a rougher one served while strengths were compared."""
        return self

    @property
    @abstractmethod
    def moments(self) -> tuple[Vector, Vector]:
        """The mean and the variance of every cell."""

    @abstractmethod
    def points(self, rows: Rows) -> tuple[Vector, Vector]:
        """Points of the distributions of these cells and their probabilities, a row for each cell."""

    @abstractmethod
    def sum_moments(self, weights: Vector) -> tuple[float, float]:
        """The mean and the variance of the sum of weight times frequency."""


@dataclass(frozen=True, eq=False)
class KnownSum:
    """What the known total says about the cells of a part.

    `missing` is the total less what the cells add up to without it, `variance` the variance of that sum, and `shares`
    the covariance of every cell with it.
    """

    missing: float
    variance: float
    shares: Vector

    @property
    def log_density(self) -> float:
        """The logarithm of the density of the total."""
        return -0.5 * (self.missing**2 / self.variance + float(np.log(2 * np.pi * self.variance)))


class StructuredPart(Part):
    """The posterior for given strengths, once the total is known if it is."""

    def __init__(
        self,
        field: Field,
        likelihood: CellLikelihood,
        start: Vector,
        fit: Fit,
        total: float | None,
        level: float,
    ) -> None:
        """`level` is minus the log-density of the total before anything was observed."""
        self.field, self.likelihood, self.start, self.fit, self.total = field, likelihood, start, fit, total
        self.settled, self.strengths = fit.settled, fit.strengths
        self.tau, self.rho = fit.deviations.tau, fit.deviations.rho
        known = self.known_sum
        self.evidence = fit.evidence + level + (0.0 if known is None else known.log_density)

    @cached_property
    def own(self) -> Vector:
        """The variances that the ground does not explain."""
        cells = self.fit.cells
        return np.maximum(cells.variance - cells.slope**2 * cells.ground_variance, 0.0)

    @cached_property
    def known_sum(self) -> KnownSum | None:
        """What the total says; None if it is not known."""
        if self.total is None:
            return None
        covariance = self._covariance_with(np.ones(self.start.size))
        variance = max(float(covariance.sum()), LEAST_VARIANCE)
        return KnownSum(self.total - float(self.fit.cells.mean.sum()), variance, covariance)

    @property
    def moments(self) -> tuple[Vector, Vector]:
        return self._pulled[1]

    @property
    def _pull(self) -> float:
        """How far the total must seem to be away, so that the means add up to it."""
        return self._pulled[0]

    @cached_property
    def _pulled(self) -> tuple[float, tuple[Vector, Vector]]:
        """The pull, and the means and variances that it leads to."""
        known, points = self.known_sum, list(self._coarse_points)
        if known is None:
            return 0.0, self._moments_at(points, 0.0)
        pull, reach, slope = known.missing, float(np.sqrt(known.variance)), 1.0
        before, step = np.inf, 0.0
        for _ in range(_PULLS):
            found = self._moments_at(points, pull)
            away = self._total - float(found[0].sum())
            if abs(away) < _LEAST_AWAY * reach:
                break
            if step:  # cells that have a long tail, or are pushed towards 0, follow the pull more or less than others
                slope = float(np.clip((before - away) / step, 0.1, 10.0))
            before, step = away, float(np.clip(away / slope, -reach, reach))
            pull += step
        else:
            found = self._moments_at(points, pull)
        return pull, found

    def _moments_at(self, points: Sequence[tuple[Rows, tuple[Vector, Vector]]], pull: float) -> tuple[Vector, Vector]:
        pieces = []
        for rows, (f, shares) in points:
            (f, given), every = self._given_total(f, shares, rows, pull), np.ones(f.shape[1])
            mean = (given * f) @ every
            pieces.append((mean, (given * (f - mean[:, None]) ** 2) @ every))
        means, variances = zip(*pieces, strict=True)
        return np.concatenate(means), np.concatenate(variances)

    @property
    def _coarse_points(self) -> Iterator[tuple[Rows, tuple[Vector, Vector]]]:
        """The nodes of the fit, some cells at a time."""
        cells = self.fit.cells
        if cells.nodes is not None and cells.shares is not None:
            count = cells.mean.size
            yield slice(None), (np.exp(cells.nodes.eta).reshape(count, -1), cells.shares.reshape(count, -1))
            return
        for start in range(0, self.start.size, AT_ONCE):
            rows = slice(start, start + AT_ONCE)
            yield rows, self._points(rows, FEWER, self.field.ground.doubts[rows])

    def points(self, rows: Rows) -> tuple[Vector, Vector]:
        doubts, unseen = self.field.ground.doubts[rows], self.field.ground.unseen
        doubts = doubts if unseen is None else doubts + unseen[rows]
        f, shares = self._points(rows, FINE if self.start.size <= MANY else LESS_FINE, doubts)
        return self._given_total(f, shares, rows, self._pull)

    def _points(self, rows: Rows, side: int, doubts: Vector) -> tuple[Vector, Vector]:
        """Nodes of these cells and their probabilities, before the total is known."""
        fit = self.fit
        own = fit.deviations.variances(doubts)
        m, s = self.start[rows] + fit.ground_mean[rows], fit.ground_variance[rows]
        nodes = placed(self.likelihood, rows, m, s[:, None] + own, side)
        shares = tilted(nodes, fit.deviations.log_shares, m, s, own).shares
        return np.exp(nodes.eta).reshape(m.size, -1), np.asarray(shares).reshape(m.size, -1)

    def sum_moments(self, weights: Vector) -> tuple[float, float]:
        covariance = self._covariance_with(weights)
        value, variance = float(weights @ self.moments[0]), float(weights @ covariance)
        known = self.known_sum
        if known is not None:
            with_sum = float(weights @ known.shares)
            value += with_sum / known.variance * (self._total - float(self.moments[0].sum()))
            variance -= with_sum**2 / known.variance
        # The ground is taken as Gaussian, which makes sums of several cells look a little too certain.
        several = 1.0 if np.count_nonzero(weights) < 2 else MORE_DOUBT
        return value, several * max(variance, 0.0) + self._unseen(weights)

    def _unseen(self, weights: Vector) -> float:
        """The variance of a weighted sum that is due to what intervals allow for besides."""
        unseen = self.field.ground.unseen
        if unseen is None:
            return 0.0
        mean, variance = self.moments
        # A cell that is allowed more says no more than its own estimate does.
        more = np.minimum(np.square(mean) * np.expm1(unseen), self.likelihood.gaussian()[1])
        away = weights if self.total is None else weights - float(weights @ more) / max(float(more.sum()), 1e-300)
        return float(np.square(away) @ np.maximum(more - variance, 0.0))

    @property
    def _total(self) -> float:
        return 0.0 if self.total is None else self.total

    def _covariance_with(self, weights: Vector) -> Vector:
        """The covariance of every cell with a weighted sum of all, without the total."""
        slope = self.fit.cells.slope
        through = self.field.spread(self.fit.factor.solve(self.field.gathered(slope * weights)))
        return self.own * weights + slope * through

    def _given_total(self, f: Vector, shares: Vector, rows: Rows, pull: float) -> tuple[Vector, Vector]:
        """Points and their probabilities, once the total is known."""
        known = self.known_sum
        if known is None:
            return f, shares
        mean, variance = self.fit.cells.mean[rows], np.maximum(self.fit.cells.variance[rows], 1e-12)
        share = known.shares[rows]
        slope = share / variance
        rest = np.maximum(known.variance - share * slope, LEAST_VARIANCE)
        logs = -0.5 * (pull - slope[:, None] * (f - mean[:, None])) ** 2 / rest[:, None]
        found = shares * np.exp(logs - logs.max(axis=1, keepdims=True))
        told = slope * slope * variance / rest
        narrow = told > _TOLD
        if narrow.any():
            # What the others leave of the total says far more than the cell's own estimate: points made for that one
            # are too far apart.
            centre = mean + told / (1 + told) * pull / np.where(narrow, slope, 1.0)
            nodes = ndtri((np.arange(f.shape[1]) + 0.5) / f.shape[1])
            around = centre[:, None] + np.sqrt(variance / (1 + told))[:, None] * nodes
            f = np.where(narrow[:, None], np.maximum(around, 0.0), f)
            found[narrow] = 1.0
        return f, np.asarray(found / found.sum(axis=1, keepdims=True))


class Unusable(Part):
    """A model that could not be fitted: its evidence is that of something impossible."""

    settled = False

    @property
    def moments(self) -> tuple[Vector, Vector]:
        raise NotImplementedError

    def points(self, rows: Rows) -> tuple[Vector, Vector]:
        raise NotImplementedError

    def sum_moments(self, weights: Vector) -> tuple[float, float]:
        raise NotImplementedError
