r"""Penalized maximum likelihood of log-linear priors, by Newton's method.

    log p(k) = B(k) theta - log Z(theta),     maximize   l(theta) - 1/2 sum_j penalty_j (theta_j - center_j)^2

The gradient of l is the difference between what the data expect of B and what the prior does,

    sum_i E[B | fhat_i] - d E[B],     and minus its Hessian   d Cov(B) - sum_i Cov(B | fhat_i).

With one more term the known mean enters: E(f) = n/d holds for the spectrum, which is a sample of d from the prior,
so the prior's mean lies within the deviation of f over sqrt(d) of it. (Frequencies are so skewed that this is far
from Gaussian; the term is given a twentieth of the weight.)

The marginal likelihood of the penalty, by which penalties are compared, is Laplace's approximation

    log p(data | penalty) = l - penalty term + 1/2 sum log penalty_j - 1/2 log det(-Hessian).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from localdp.types import Vector

MEAN_WEIGHT = 0.05
_STEPS = 60


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the data say: likelihoods at the nodes, counts, and observations that are exact."""

    likelihood: Vector  # a row for each point, a column for each node
    row_logs: Vector  # the logarithm each row was divided by
    counts: Vector
    exact: Vector  # basis functions at exactly observed frequencies
    d: int
    mean: float
    mean_variance: float


@dataclass(frozen=True, eq=False)
class Nodes:
    """Frequencies, logarithmic weights and basis functions there."""

    k: Vector
    log_weights: Vector
    basis: Vector


@dataclass(frozen=True, eq=False)
class Solution:
    """Where the maximum is, its likelihood without penalty, and the marginal likelihood of the penalty."""

    theta: Vector
    log_likelihood: float
    log_evidence: float


@dataclass(frozen=True, eq=False)
class _Value:
    objective: float
    gradient: Vector
    curvature: Vector
    log_likelihood: float

    @property
    def usable(self) -> bool:
        return bool(np.isfinite(self.objective) and np.isfinite(self.curvature).all())


@dataclass(frozen=True, eq=False)
class LogLinear:
    """A log-linear model of the prior: nodes of the data's integrals, nodes of the prior's, and the evidence."""

    seen: Nodes
    whole: Nodes
    evidence: Evidence

    def solve(self, penalty: Vector, center: Vector, start: Vector) -> Solution:
        """Newton's method with a line search, from `start`."""
        theta, value = start, self._value(start, penalty, center)
        for _ in range(_STEPS):
            spectrum, rotation = np.linalg.eigh(value.curvature)
            spectrum = np.maximum(np.abs(spectrum), 1e-6 * max(spectrum.max(), 1e-12))
            step = rotation @ ((rotation.T @ value.gradient) / spectrum)
            moved = self._search(theta, step, value, penalty, center)
            if moved is None:
                break
            gain = moved[1].objective - value.objective
            theta, value = moved
            if gain < 1e-5:
                break
        spectrum = np.maximum(np.linalg.eigvalsh(value.curvature), 1e-12)
        evidence = value.objective + 0.5 * np.log(penalty[penalty > 0]).sum() - 0.5 * np.log(spectrum).sum()
        return Solution(theta, value.log_likelihood, float(evidence))

    def _search(
        self, theta: Vector, step: Vector, value: _Value, penalty: Vector, center: Vector
    ) -> tuple[Vector, _Value] | None:
        length = 1.0
        while length > 1e-6:
            candidate = theta + length * step
            found = self._value(candidate, penalty, center)
            if found.usable and found.objective >= value.objective - 1e-9:
                return candidate, found
            length /= 2
        return None

    def _value(self, theta: Vector, penalty: Vector, center: Vector) -> _Value:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self._evaluate(theta, penalty, center)

    def _evaluate(self, theta: Vector, penalty: Vector, center: Vector) -> _Value:
        seen, whole, data = self.seen, self.whole, self.evidence
        shape = whole.basis @ theta + whole.log_weights
        normalizer = float(logsumexp(shape))
        mass = np.exp(shape - normalizer)
        expected = mass @ whole.basis

        joint = data.likelihood * np.exp(seen.basis @ theta + seen.log_weights - normalizer)
        density = joint.sum(axis=1)
        posterior = (joint @ seen.basis) / density[:, None]
        likelihood = float(data.counts @ (np.log(density) + data.row_logs))
        likelihood += float((data.exact @ theta).sum()) - len(data.exact) * normalizer
        gradient = data.counts @ posterior + data.exact.sum(axis=0) - data.d * expected

        prior_covariance = (whole.basis * mass[:, None]).T @ whole.basis - np.outer(expected, expected)
        share = (joint * (data.counts / density)[:, None]).sum(axis=0)
        explained = (seen.basis * share[:, None]).T @ seen.basis - (posterior * data.counts[:, None]).T @ posterior

        mean = float(mass @ whole.k)
        mean_slope = (mass * whole.k) @ whole.basis - mean * expected
        weight = MEAN_WEIGHT / data.mean_variance
        off, away = mean - data.mean, theta - center
        return _Value(
            likelihood - 0.5 * weight * off**2 - 0.5 * float(penalty @ away**2),
            gradient - weight * off * mean_slope - penalty * away,
            data.d * prior_covariance - explained + weight * np.outer(mean_slope, mean_slope) + np.diag(penalty),
            likelihood,
        )
