r"""The posterior of a whole table at once, around its mode: for observations that mix the cells.

Counts through a channel and sums of cells say something about many cells together, so cells cannot be treated one by
one. Here the table is f = T softmax(eta) if its total T is known, and exp(eta) otherwise, with

    eta ~ N(start, C),        C = design (sum_k lambda_k P_k + ridge)^-1 design' + diag(t),

where t_i is tau^2, and more for cells that stand out. Newton's method finds the mode, with the expected information in
the place of second derivatives, and the posterior of eta is taken as Gaussian around it:

    log p(observed) = log-likelihood + log prior + d/2 log(2 pi) - 1/2 log det(C^-1 + J' I J),      J = df/d eta.

Matrices have a row for each cell: this is meant for up to a few thousand cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtri

from localdp.structures.deviations import STANDING_OUT, Deviations
from localdp.structures.field import Field, NotPositiveError
from localdp.structures.likelihood import Likelihood, Rows
from localdp.structures.parts import Part
from localdp.types import Vector

_STEPS = 60
_SETTLED = 1e-7  # the gain in log-posterior at which Newton's method ends
_ROUNDS = 4  # of learning which cells stand out
_NODES = ndtri((np.arange(80) + 0.5) / 80)


@dataclass(frozen=True, eq=False)
class Table:
    """f as a function of eta: T softmax(eta), or exp(eta) if the total is not known."""

    total: float | None

    def at(self, eta: Vector) -> Vector:
        """The frequencies; `eta` may have several rows."""
        if self.total is None:
            return np.exp(np.minimum(eta, 600.0))
        f = np.exp(eta - eta.max(axis=-1, keepdims=True))
        return np.asarray(f * (self.total / f.sum(axis=-1, keepdims=True)))

    def jacobian(self, f: Vector) -> Vector:
        """df/d eta."""
        return np.diag(f) if self.total is None else np.diag(f) - np.outer(f, f) / self.total


class LaplacePart(Part):
    """The posterior of a table for given strengths."""

    def __init__(self, likelihood: Likelihood, table: Table, start: Vector, prior: Vector, eta: Vector) -> None:
        """`prior` is the covariance of eta; `eta` is where the search for the mode begins."""
        self.likelihood, self.table, self.start = likelihood, table, start
        self._precision = np.linalg.inv(prior)
        self.eta, height, moved = self._mode(eta)
        self.settled = moved < 1e-3
        factor = cho_factor(self.hessian(self.eta))
        self.covariance = cho_solve(factor, np.eye(eta.size))
        log_det = 2 * float(np.log(np.diag(factor[0])).sum())
        self.evidence = height - 0.5 * (log_det + float(np.linalg.slogdet(prior)[1]))

    def height(self, eta: Vector) -> float:
        """The log-posterior, up to a constant."""
        away = eta - self.start
        return float(self.likelihood.joint(self.table.at(eta)[None])[0]) - 0.5 * float(away @ self._precision @ away)

    def gradient(self, eta: Vector) -> Vector:
        """The gradient of the log-posterior."""
        f = self.table.at(eta)
        return np.asarray(self.table.jacobian(f) @ self.likelihood.slopes(f)[0] - self._precision @ (eta - self.start))

    def hessian(self, eta: Vector) -> Vector:
        """Minus the second derivatives of the log-posterior, as expected."""
        f = self.table.at(eta)
        jacobian = self.table.jacobian(f)
        return np.asarray(jacobian @ self.likelihood.slopes(f)[1] @ jacobian + self._precision)

    def _mode(self, eta: Vector) -> tuple[Vector, float, float]:
        height, gain = self.height(eta), np.inf
        for _ in range(_STEPS):
            step = cho_solve(cho_factor(self.hessian(eta)), self.gradient(eta))
            step *= min(1.0, 3.0 / max(float(np.abs(step).max()), 1e-300))
            share, there = 1.0, self.height(eta + step)
            while not there >= height and share > 1e-6:
                share /= 2
                there = self.height(eta + share * step)
            if not there >= height:
                break
            eta, gain, height = eta + share * step, there - height, there
            if gain < _SETTLED:
                break
        return eta, height, gain if np.isfinite(gain) else 0.0

    @cached_property
    def _cell_points(self) -> tuple[Vector, Vector]:
        """Points of every cell, whose logarithms are Gaussian.

        Their means are the frequencies at the mode, so that sums of cells are what the observations say they are.
        """
        deviations = np.sqrt(np.diag(self._free_covariance))
        f = np.exp(deviations[:, None] * _NODES)
        f *= (self.table.at(self.eta) / f.mean(axis=1))[:, None]
        return f, np.full(f.shape, 1 / _NODES.size)

    @cached_property
    def _free_covariance(self) -> Vector:
        """The covariance of log f: of eta less the logarithm of what exp(eta) adds up to."""
        if self.table.total is None:
            return np.asarray(self.covariance)
        shares = self.table.at(self.eta) / self.table.total
        left = np.eye(self.eta.size) - shares
        return np.asarray(left @ self.covariance @ left.T)

    @cached_property
    def moments(self) -> tuple[Vector, Vector]:
        f = self._cell_points[0]
        return f.mean(axis=1), f.var(axis=1)

    def points(self, rows: Rows) -> tuple[Vector, Vector]:
        f, shares = self._cell_points
        return f[rows], shares[rows]

    def sum_moments(self, weights: Vector) -> tuple[float, float]:
        mean, variance = self.moments
        # Correlations are those of the logarithms; deviations are those of the cells.
        free = self._free_covariance
        scaled = weights * np.sqrt(variance / np.maximum(np.diag(free), 1e-300))
        found = float(scaled @ free @ scaled)
        if self.table.total is not None:
            value = float(weights @ mean)
            around = weights - value / self.table.total
            scaled = around * np.sqrt(variance / np.maximum(np.diag(free), 1e-300))
            found = min(found, float(scaled @ free @ scaled))
        return float(weights @ mean), max(found, 0.0)


def ground_covariance(field: Field, strengths: tuple[float, ...]) -> Vector:
    """The covariance of the ground before anything is observed, a matrix with a row for each cell."""
    factor = field.factor(field.prior(strengths))
    cells = field.ground.cells
    found = np.empty((cells, cells))
    for cell in range(cells):
        found[cell] = field.spread(factor.solve(field.gathered(np.eye(1, cells, cell)[0])))
    return (found + found.T) / 2


def laplace_fit(
    likelihood: Likelihood,
    table: Table,
    start: Vector,
    ground: Vector,
    doubts: Vector,
    law: Deviations,
    eta: Vector,
) -> LaplacePart:
    """The posterior if the ground has this covariance: which cells stand out is learnt in a few rounds.

    `law` has the tau of most cells, and the share rho of those that stand out, before any is seen.
    """
    # tau may be 0, and the odds divide by the usual variance.
    usual, out = law.tau**2 + 1e-6, law.tau**2 + STANDING_OUT**2
    standing = np.full(start.size, 0.0)
    best: LaplacePart | None = None
    for _ in range(_ROUNDS):
        own = usual ** (1 - standing) * out**standing + doubts
        part = LaplacePart(likelihood, table, start, ground + np.diag(own), eta)
        # What is known of whether each cell stands out costs its entropy, relative to the prior.
        chance = np.clip(standing, 1e-12, 1 - 1e-12)
        price = chance * np.log(chance / law.rho) + (1 - chance) * np.log((1 - chance) / (1 - law.rho))
        part.evidence -= float(price.sum())
        if best is not None and part.evidence < best.evidence + 0.01:
            break
        best, eta = part, part.eta
        # The share of eta that is the cell's own, and its variance, given the table.
        precision = part._precision
        share = own[:, None] * precision
        mean = share @ (part.eta - start)
        variance = own - own**2 * np.diag(precision) + np.einsum("ij,jk,ik->i", share, part.covariance, share)
        square = mean**2 + np.maximum(variance, 0.0)
        odds = np.log(law.rho / (1 - law.rho)) + 0.5 * np.log(usual / out) + 0.5 * square * (1 / usual - 1 / out)
        standing = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
    if best is None:
        raise NotPositiveError("the posterior has no mode")
    best.tau, best.rho = law.tau, float(standing.mean())
    return best
