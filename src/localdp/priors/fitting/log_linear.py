r"""Fit a prior with a log-mass that is linear in its parameters theta, by penalized maximum likelihood.

    log p(k) = B(k) theta - log Z(theta),     maximize   l(theta) - 1/2 sum_j penalty_j (theta_j - center_j)^2

B(k) is a row of basis functions and l the log-likelihood of the estimates. Newton's method finds the maximum. The
gradient of l compares the mean of B under the posteriors of all items with its mean under the prior:

    gradient = sum_i E[B | fhat_i] - d E[B],     minus the Hessian = d Cov(B) - sum_i Cov(B | fhat_i).

The known total of the frequencies is one more observation. Given the estimates, the sum of the frequencies has the
mean M = sum_i E[f | fhat_i] and the variance V = sum_i Var(f | fhat_i), so the total adds -(total - M)^2 / (2 V). (Even
where frequencies are skewed, their sum given the estimates is nearly Gaussian: frequent items are pinned by their own
estimates.) In the Hessian, the second derivative of M is taken as 0.

Penalties are compared by their marginal likelihood, the probability of the data with theta averaged out. Laplace's
approximation of it (see for instance D. MacKay, Bayesian Interpolation, 1992) is

    log p(data | penalty) = l - penalty term + 1/2 sum log penalty_j - 1/2 log det(-Hessian).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from localdp.types import Vector

_LEAST_VARIANCE = 1e-6  # of the sum of all frequencies
_UPDATES = 4  # how often V is brought up to date
_FARTHEST = 5.0  # deviations that the sum may be away from the total before the weight of the total is reduced
_STEPS = 60  # Newton steps at most; see decision 8 for why Newton


@dataclass(frozen=True, eq=False)
class LikelihoodTerms:
    """The parts of the likelihood that do not depend on theta."""

    likelihood: Vector  # p(point | k): a row for each point, a column for each node; each row divided by a scale
    row_logs: Vector  # the logarithms of these scales
    counts: Vector  # how many items each point stands for
    exact: Vector  # the basis functions at frequencies that were observed without noise, a row for each
    d: int  # the number of items
    exact_sum: float  # the sum of these frequencies
    exact_variance: float  # the variance of that sum: small, but not quite 0
    total: float  # the known or estimated sum of all frequencies
    total_variance: float  # its variance: 0 if it is known


@dataclass(frozen=True, eq=False)
class Nodes:
    """Quadrature nodes k with the logarithms of their weights, and the basis functions there."""

    k: Vector
    log_weights: Vector
    basis: Vector


@dataclass(frozen=True, eq=False)
class Solution:
    """The maximum, and the marginal likelihood of the penalty."""

    theta: Vector
    log_marginal_likelihood: float


@dataclass(frozen=True, eq=False)
class _Held:
    """What does not change while Newton's method runs: the penalties, their centers, and the variance V of the sum."""

    penalty: Vector
    center: Vector
    variance: float


@dataclass(frozen=True, eq=False)
class _Value:
    """The penalized log-likelihood at some theta, with its derivatives; `curvature` is minus the Hessian."""

    objective: float
    gradient: Vector
    curvature: Vector
    sum_variance: float  # V, the variance of the sum of all frequencies
    missing: float  # M less the total

    @property
    def usable(self) -> bool:
        return bool(np.isfinite(self.objective) and np.isfinite(self.curvature).all())


@dataclass(frozen=True, eq=False)
class LogLinear:
    """A log-linear model of the prior and the data it is fitted to.

    The likelihood of the data is a sum over `data_nodes`; sums over all frequencies use the nodes `whole`.
    """

    data_nodes: Nodes
    whole: Nodes
    data: LikelihoodTerms

    @cached_property
    def _summands(self) -> Vector:
        """What is summed over the posterior of every point: 1, f, f^2, B and f B, a row for each node."""
        k, basis = self.data_nodes.k[:, None], self.data_nodes.basis
        return np.hstack([np.ones(k.shape), k, k**2, basis, k * basis])

    def solve(self, penalty: Vector, center: Vector, start: Vector) -> Solution:
        """The theta that maximizes the penalized likelihood: Newton's method with a line search, from `start`.

        V changes with theta, but is held while Newton's method runs and then brought up to date, a few times.
        """
        theta, value = start, self._value(start, _Held(penalty, center, 1.0))
        for _ in range(_UPDATES):
            # Far from the total its weight is reduced: the posteriors of a poor prior are too sure of themselves.
            held = _Held(penalty, center, max(value.sum_variance, (value.missing / _FARTHEST) ** 2))
            theta, value = self._climb(theta, held)
            if held.variance < 1.2 * max(value.sum_variance, _LEAST_VARIANCE) < 1.5 * held.variance:
                break
        eigenvalues = np.maximum(np.linalg.eigvalsh(value.curvature), 1e-12)
        marginal = value.objective + 0.5 * np.log(penalty[penalty > 0]).sum() - 0.5 * np.log(eigenvalues).sum()
        return Solution(theta, float(marginal) - 0.5 * np.log(held.variance))

    def _climb(self, theta: Vector, held: _Held) -> tuple[Vector, _Value]:
        """Newton's method from theta."""
        value = self._value(theta, held)
        for _ in range(_STEPS):
            eigenvalues, rotation = np.linalg.eigh(value.curvature)
            # Eigenvalues are replaced by their absolute values, so that every step goes uphill.
            positive = np.maximum(np.abs(eigenvalues), 1e-6 * max(eigenvalues.max(), 1e-12))
            step = rotation @ ((rotation.T @ value.gradient) / positive)
            moved = self._search(theta, step, value, held)
            if moved is None:
                break
            gain = moved[1].objective - value.objective
            theta, value = moved
            if gain < 1e-5:
                break
        return theta, value

    def _search(self, theta: Vector, step: Vector, value: _Value, held: _Held) -> tuple[Vector, _Value] | None:
        """The longest of the steps 1, 1/2, 1/4, .. that does not lower the objective; None if all do."""
        length = 1.0
        while length > 1e-6:
            candidate = theta + length * step
            found = self._value(candidate, held)
            if found.usable and found.objective >= value.objective - 1e-9:
                return candidate, found
            length /= 2
        return None

    def _value(self, theta: Vector, held: _Held) -> _Value:
        """The objective at theta.

        The line search may try steps so long that the objective overflows; it discards those.
        """
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self._evaluate(theta, held)

    def _evaluate(self, theta: Vector, held: _Held) -> _Value:
        whole, data, basis = self.whole, self.data, self.data_nodes.basis
        shape = whole.basis @ theta + whole.log_weights
        top = float(shape.max())
        mass = np.exp(shape - top)
        normalizer = top + float(np.log(mass.sum()))
        mass /= mass.sum()
        expected = mass @ whole.basis  # E[B] under the prior

        prior = np.exp(basis @ theta + self.data_nodes.log_weights - normalizer)
        sums = data.likelihood @ (self._summands * prior[:, None])  # each row is a point's
        density, means, squares = sums[:, 0], sums[:, 1] / sums[:, 0], sums[:, 2] / sums[:, 0]
        size = basis.shape[1]
        posterior = sums[:, 3 : 3 + size] / density[:, None]  # E[B | fhat], a row for each point
        likelihood = float(data.counts @ (np.log(density) + data.row_logs))
        likelihood += float((data.exact @ theta).sum()) - len(data.exact) * normalizer
        gradient = data.counts @ posterior + data.exact.sum(axis=0) - data.d * expected

        prior_covariance = (whole.basis * mass[:, None]).T @ whole.basis - np.outer(expected, expected)
        share = prior * ((data.counts / density) @ data.likelihood)
        explained = (basis * share[:, None]).T @ basis - (posterior * data.counts[:, None]).T @ posterior

        variance = float(data.counts @ (squares - means**2)) + data.exact_variance + data.total_variance
        cross = sums[:, 3 + size :] / density[:, None]
        sum_slope = data.counts @ (cross - means[:, None] * posterior)
        weight, penalty = 1 / held.variance, held.penalty
        off, away = float(data.counts @ means) + data.exact_sum - data.total, theta - held.center
        return _Value(
            likelihood - 0.5 * weight * off**2 - 0.5 * float(penalty @ away**2),
            gradient - weight * off * sum_slope - penalty * away,
            data.d * prior_covariance - explained + weight * np.outer(sum_slope, sum_slope) + np.diag(penalty),
            max(variance, _LEAST_VARIANCE),
            off,
        )
