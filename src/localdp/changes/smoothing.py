r"""One item over many periods: a level that drifts, seen with noise. All items of a history have the same algebra.

Let y_t be the estimated share of period t with the variance c / n_t, where c is the item's variance among one person,
and let the true share walk: steps have the variance q for each period. With W = diag(n_t) and the matrix L of squared
steps (x' L x = sum of (x_t+1 - x_t)^2 / gap), the posterior of the path has the precision (W/c + L/q). Since all
items have the same W and L, one basis serves all of them:

    L u_j = kappa_j W u_j,     U' W U = 1,     a = U' W y     =>     a_j ~ N(0, c + q / kappa_j)  independently, j >= 1,

and a_0 is the mean over all people, which has kappa_0 = 0: the walk says nothing about it. The posterior of the path is

    x = U (g * a),    g_j = q / (q + c kappa_j),    Var(x_t) = c sum_j u_tj^2 g_j,

so **the weighted mean of the smoothed path is the mean over all people**, and its error is independent of the rest. The
level can therefore come from the calibrated table of the whole range, and only the deviations from it from here.

**A step** at one moment is a path h of its own, 0 before and 1 after. Given q, its size b has the precision
I = sum_j h_j^2 / (c + q/kappa_j) and the estimate bhat; if b ~ N(0, k/I), the data are

    (1 + k)^-1/2 exp( (bhat^2 I / 2) k/(1+k) )     times as probable as without a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigh

from localdp.types import Places, Vector

SIZES = np.array([4.0, 16.0, 64.0, 256.0, 1024.0])
"""k: the variances of a step that are averaged, in variances of its estimate."""

_LEAST = -8.0  # log2 of the smallest drift in the table, in units of the smallest visible one
_PER_DOUBLING = 2  # points of the table
_BLOCK = 2_048  # items handled at a time


@dataclass(frozen=True, eq=False)
class Basis:
    """The basis for periods with `weights` people, which lie at these `times`."""

    weights: Vector
    times: Vector

    @cached_property
    def _solved(self) -> tuple[Vector, Vector]:
        count = self.weights.size
        steps = 1 / np.diff(self.times)
        matrix = np.zeros((count, count))
        place = np.arange(count - 1)
        matrix[place, place] += steps
        matrix[place + 1, place + 1] += steps
        matrix[place, place + 1] = matrix[place + 1, place] = -steps
        root = np.sqrt(self.weights)
        values, vectors = eigh(matrix / root / root[:, None])
        return np.maximum(values[1:], values[1] * 1e-9), np.asarray(vectors[:, 1:] / root[:, None])

    @property
    def kappas(self) -> Vector:
        """kappa_j for j >= 1, ascending."""
        return self._solved[0]

    @property
    def paths(self) -> Vector:
        """u_j for j >= 1, as columns."""
        return self._solved[1]

    @property
    def unit(self) -> float:
        """The variance q of a period's drift that is as large as the noise in the slowest path, for c = 1."""
        return float(self.kappas[0])

    def coordinates(self, shares: Vector) -> Vector:
        """a_j for j >= 1; a row of shares for each item."""
        return np.asarray((shares * self.weights) @ self.paths)

    @cached_property
    def steps(self) -> Vector:
        """The coordinates of a step before each period but the first, as rows."""
        after = np.triu(np.ones((self.weights.size, self.weights.size)))[1:]
        return self.coordinates(after)

    def grid(self, most: float) -> Vector:
        """Drifts up to `most`, as deviations of a period's drift in units of the smallest visible one."""
        count = int(np.ceil((np.log2(max(most, 1.0)) - _LEAST) * _PER_DOUBLING)) + 2
        return np.asarray(np.exp2(_LEAST + np.arange(count) / _PER_DOUBLING))

    def gains(self, drifts: Vector) -> Vector:
        """g_j for each of these drifts (a row)."""
        ratio = np.square(drifts)[:, None] * self.unit / self.kappas
        return np.asarray(ratio / (1 + ratio))


def places_on(grid: Vector, drifts: Vector) -> tuple[Places, Vector]:
    """The point of the grid below each drift, and the weight of the next one."""
    at = np.clip((np.log2(np.maximum(drifts, grid[0])) - _LEAST) * _PER_DOUBLING, 0, grid.size - 1.001)
    below = np.floor(at)
    return below.astype(np.intp), at - below


def drift_evidence(basis: Basis, squares: Vector, grid: Vector) -> Vector:
    """The log evidence for each drift of the grid relative to none; `squares` are a_j^2 / c, a row for each item."""
    gains = basis.gains(grid)
    return np.asarray(0.5 * (squares @ gains.T + np.log1p(-gains).sum(axis=1)))


@dataclass(frozen=True, eq=False)
class Steps:
    """What is known about one step of each item: the log evidence for any, and for each moment its weight and size."""

    log_evidence: Vector
    moments: Vector
    """The probability of each moment, if there is a step: a row for each item."""
    sizes: Vector
    """The expected size of the step at each moment."""
    variances: Vector
    """Its variance."""


def find_steps(basis: Basis, coordinates: Vector, c: Vector, gains: Vector) -> Steps:
    """Look for one step in each item, given the gains of its drift (a row for each item)."""
    found = [
        _find_steps(
            basis, coordinates[start : start + _BLOCK], c[start : start + _BLOCK], gains[start : start + _BLOCK]
        )
        for start in range(0, c.size, _BLOCK)
    ]
    parts = ("log_evidence", "moments", "sizes", "variances")
    return Steps(*(np.concatenate([getattr(one, part) for one in found]) for part in parts))


def _find_steps(basis: Basis, coordinates: Vector, c: Vector, gains: Vector) -> Steps:
    left = 1 - gains  # c / (c + q/kappa_j)
    precision = np.maximum(left @ np.square(basis.steps).T, 1e-300) / c[:, None]
    size = (coordinates * left) @ basis.steps.T / c[:, None] / precision
    squares = np.square(size) * precision
    kept = SIZES / (1 + SIZES)
    logs = 0.5 * (squares[..., None] * kept - np.log1p(SIZES))
    top = logs.max(axis=(1, 2), keepdims=True)
    weights = np.exp(logs - top)
    whole = weights.sum(axis=(1, 2))
    moments = np.maximum(weights.sum(axis=2), 1e-300)
    shrink = (weights @ kept) / moments
    spread = np.square(size) * ((weights @ np.square(kept)) / moments - np.square(shrink))
    evidence = np.log(whole / (logs.shape[1] * SIZES.size)) + top[:, 0, 0]
    return Steps(evidence, moments / whole[:, None], shrink * size, spread + shrink / precision)
