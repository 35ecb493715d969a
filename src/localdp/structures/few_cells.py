r"""The posterior of a table of a few cells, by a sum over many tables: nothing is approximated but the sum.

For few cells Gaussians are poor and sums are cheap. The table is f = T softmax(eta), or exp(eta) if the total is not
known, and eta is Gaussian before anything is observed; with few cells there is nothing to learn heavy tails from, so
none stand out. A quarter of the points is drawn from the prior and the rest from a Student law, by a sequence that
fills the space evenly (Sobol), and weighted by posterior over density. Each point has its mirror image on the other
side of the centre, so that errors of the mean cancel. The mean weight is the evidence. The Student law is first put
around the mode, for a few points, and then where those points find the mean and the covariance of the posterior.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

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

SEARCHED, SUMMED = 1 << 12, 1 << 14
"""Pairs of points in a fit: while strengths are compared, and in those fits that matter, which are a few dozens."""

_FREEDOM = 5.0  # of the Student law
_WIDER = 1.25
_FROM_PRIOR = 0.25  # a quarter of a Sobol sequence fills the space as evenly as the whole


@lru_cache(maxsize=32)  # all fits of a survey draw from a few dozen of them, again and again: at most 1.3 MB each
def _points(dimensions: int, number: int, pairs: int) -> tuple[Vector, Vector]:
    """Gaussian points that fill their space evenly, and what makes Student points of them.

    They are always the same for this number, and independent of other numbers'. A Gaussian point over the root of a
    chi-square, which a coordinate of its own draws, is a Student one.
    """
    sequence = qmc.Sobol(dimensions + 1, scramble=True, rng=np.random.default_rng([dimensions + 1, number]))
    uniform = np.clip(sequence.random(pairs), 1e-12, 1 - 1e-12)
    return ndtri(uniform[:, 1:]), np.sqrt(_FREEDOM / (2 * gammaincinv(_FREEDOM / 2, uniform[:, :1])))


class SummedPart(Part):
    """The posterior of a few cells, as tables with weights."""

    def __init__(
        self,
        likelihood: Likelihood,
        table: Table,
        start: Vector,
        prior: Vector,
        tau: float,
        number: int = 0,
        pairs: int = SEARCHED,
    ) -> None:
        """`prior` is the covariance of eta around `start`, and contains tau; `number` chooses the points."""
        self.tau, self._given = tau, (likelihood, table, start, prior, tau, number)
        guess = np.log(np.maximum(likelihood.guess, 1e-300))
        centre = LaplacePart(likelihood, table, start, prior, 0.5 * (guess - guess.mean()) + start)
        d = start.size
        # With a known total, only differences of eta matter: they have one dimension less.
        basis = np.eye(d) if table.total is None else np.linalg.svd(np.ones((1, d)))[2][1:].T
        mean, covariance = basis.T @ start, basis.T @ prior @ basis
        middle = basis.T @ centre.eta
        prior_factor = np.asarray(np.linalg.cholesky(covariance), np.float64)
        spread = basis.T @ centre.covariance @ basis
        all_normal, wider = _points(basis.shape[1], number, pairs)
        for size in (round(_FROM_PRIOR * pairs), pairs):
            normal = all_normal[:size]
            student = normal * wider[:size]
            first = round(_FROM_PRIOR * size)
            factor = np.asarray(_WIDER * np.linalg.cholesky(spread), np.float64)
            prior_away, own_away = normal[:first] @ prior_factor.T, student[first:] @ factor.T
            points = np.concatenate([mean + prior_away, mean - prior_away, middle + own_away, middle - own_away])
            log_prior = _log_gaussian(points - mean, prior_factor)
            log_density = np.logaddexp(
                np.log(_FROM_PRIOR) + log_prior, np.log1p(-_FROM_PRIOR) + _log_student(points - middle, factor)
            )
            tables = table.at(points @ basis.T)
            logs = likelihood.joint(tables) + log_prior - log_density
            top = float(logs.max())
            weights = np.exp(logs - top)
            shares = weights / weights.sum()
            # Where the mode is not the middle, the points of a first sum say where the middle is.
            middle = shares @ points
            spread = (points - middle).T @ ((points - middle) * shares[:, None]) + 1e-9 * spread
        self.evidence = top + float(np.log(weights.mean()))
        self.settled = bool(np.isfinite(self.evidence))
        kept = weights > 1e-9
        self.tables, self.shares = tables[kept], weights[kept] / weights[kept].sum()

    def finished(self) -> SummedPart:
        finer = SummedPart(*self._given, pairs=SUMMED)
        finer.strengths = self.strengths
        return finer

    @property
    def moments(self) -> tuple[Vector, Vector]:
        mean, covariance = self._mean_and_covariance
        return mean, np.diag(covariance)

    @cached_property
    def _mean_and_covariance(self) -> tuple[Vector, Vector]:
        """Of all cells. A percentile asks for hundreds of sums, and each would be a sum over all tables."""
        mean = self.shares @ self.tables
        away = self.tables - mean
        return mean, np.asarray((away * self.shares[:, None]).T @ away)

    def points(self, rows: Rows) -> tuple[Vector, Vector]:
        values = self.tables.T[rows]
        return values, np.broadcast_to(self.shares, values.shape)

    def sum_moments(self, weights: Vector) -> tuple[float, float]:
        mean, covariance = self._mean_and_covariance
        return float(weights @ mean), max(float(weights @ covariance @ weights), 0.0)


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
