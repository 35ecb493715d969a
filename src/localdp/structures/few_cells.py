r"""The posterior of a table of a few cells, by a sum over many tables: nothing is approximated but the sum.

For few cells Gaussians are poor and sums are cheap. The table is f = T softmax(eta), or exp(eta) if the total is not
known, and eta is Gaussian before anything is observed; with few cells there is nothing to learn heavy tails from, so
none stand out. Points are drawn from a mixture of a Student law around the mode and of the prior itself, by a
sequence that fills the space evenly (Sobol), and weighted by posterior over density. The mean weight is the evidence.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaincinv, gammaln, ndtri
from scipy.stats import qmc

from localdp.structures.laplace import LaplacePart, Table
from localdp.structures.likelihood import Likelihood, Rows
from localdp.structures.parts import Part
from localdp.types import Vector

FEW = 8
"""Tables with no more cells than this are summed over."""

_POINTS, _MORE_POINTS, _SPARSE = 1 << 14, 1 << 15, 3  # more points where there are so few dimensions
_FREEDOM = 5.0  # of the Student law
_WIDER = 1.25
_FROM_PRIOR = 0.2


@cache
def _uniform(dimensions: int, number: int) -> Vector:
    """Points that fill the unit cube evenly: always the same for this number, and independent of other numbers'."""
    points = qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng([dimensions, number])).random(
        _MORE_POINTS if dimensions <= _SPARSE + 2 else _POINTS
    )
    return np.asarray(np.clip(points, 1e-12, 1 - 1e-12))


class SummedPart(Part):
    """The posterior of a few cells, as tables with weights."""

    def __init__(
        self, likelihood: Likelihood, table: Table, start: Vector, prior: Vector, tau: float, number: int = 0
    ) -> None:
        """`prior` is the covariance of eta around `start`, and contains tau; `number` chooses the points."""
        self.tau = tau
        guess = np.log(np.maximum(likelihood.guess, 1e-300))
        centre = LaplacePart(likelihood, table, start, prior, 0.5 * (guess - guess.mean()) + start)
        d = start.size
        # With a known total, only differences of eta matter: they have one dimension less.
        basis = np.eye(d) if table.total is None else np.linalg.svd(np.ones((1, d)))[2][1:].T
        mean, covariance = basis.T @ start, basis.T @ prior @ basis
        mode = basis.T @ centre.eta
        prior_factor = np.asarray(np.linalg.cholesky(covariance), np.float64)
        factor = np.asarray(_WIDER, np.float64) * np.linalg.cholesky(basis.T @ centre.covariance @ basis)
        uniform = _uniform(basis.shape[1] + 2, number)
        normal = ndtri(uniform[:, 2:])
        student = normal * np.sqrt(_FREEDOM / (2 * gammaincinv(_FREEDOM / 2, uniform[:, :1])))
        from_prior = uniform[:, 1:2] < _FROM_PRIOR
        points = np.where(from_prior, mean + normal @ prior_factor.T, mode + student @ factor.T)
        log_prior = _log_gaussian(points - mean, prior_factor)
        log_density = np.logaddexp(
            np.log(_FROM_PRIOR) + log_prior, np.log1p(-_FROM_PRIOR) + _log_student(points - mode, factor)
        )
        tables = table.at(points @ basis.T)
        logs = likelihood.joint(tables) + log_prior - log_density
        top = float(logs.max())
        weights = np.exp(logs - top)
        self.evidence = top + float(np.log(weights.mean()))
        self.settled = bool(np.isfinite(self.evidence))
        kept = weights > 1e-9
        self.tables, self.shares = tables[kept], weights[kept] / weights[kept].sum()

    @property
    def moments(self) -> tuple[Vector, Vector]:
        mean = self.shares @ self.tables
        return mean, self.shares @ (self.tables - mean) ** 2

    def points(self, rows: Rows) -> tuple[Vector, Vector]:
        values = self.tables.T[rows]
        return values, np.broadcast_to(self.shares, values.shape)

    def sum_moments(self, weights: Vector) -> tuple[float, float]:
        sums = self.tables @ weights
        value = float(self.shares @ sums)
        return value, float(self.shares @ (sums - value) ** 2)


def _log_gaussian(away: Vector, factor: Vector) -> Vector:
    scaled = solve_triangular(factor, away.T, lower=True)
    constant = np.log(np.diag(factor)).sum() + 0.5 * away.shape[1] * np.log(2 * np.pi)
    return np.asarray(-0.5 * (scaled**2).sum(axis=0) - constant)


def _log_student(away: Vector, factor: Vector) -> Vector:
    size = away.shape[1]
    scaled = solve_triangular(factor, away.T, lower=True)
    constant = gammaln((_FREEDOM + size) / 2) - gammaln(_FREEDOM / 2) - 0.5 * size * np.log(_FREEDOM * np.pi)
    constant -= np.log(np.diag(factor)).sum()
    return np.asarray(constant - 0.5 * (_FREEDOM + size) * np.log1p((scaled**2).sum(axis=0) / _FREEDOM))
