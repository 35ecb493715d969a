"""What the paper's four families share: a smooth mass function with one or two parameters, and maximum likelihood.

    maximize   sum_i log sum_k p_f(k | theta) p_s(fhat_i - k)                                     (Eq. 16)

by L-BFGS with the analytic gradient: that of log p_f averaged over the posterior of each item, less its mean under p_f.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from localdp.kernels.quadrature import EXACT, Rule, logarithmic, panels, whole_numbers
from localdp.priors.base import FittedPrior, Prior, frozen_parameters
from localdp.priors.fitting.observations import Observations
from localdp.types import Vector

FEATURE_REACH = 40.0
"""How many widths from its place a narrow prior may still matter."""


class ParametricFamily(Prior):
    """A family with a smooth mass function; `theta` is a vector that any real numbers may fill."""

    methods = ("mean-variance", "mle")
    constant_noise = True
    first: ClassVar[int] = 0
    parameter_count: ClassVar[int]

    @abstractmethod
    def log_shape(self, k: Vector, theta: Vector) -> Vector:
        """log p_f(k | theta) up to a constant."""

    @abstractmethod
    def gradient(self, k: Vector, theta: Vector) -> Vector:
        """The derivatives of `log_shape`, a column for each parameter."""

    @abstractmethod
    def from_moments(self, observations: Observations) -> tuple[Vector, tuple[str, ...]]:
        """theta by the mean-variance method (Eq. 17 to 20), and what had to be decided."""

    @abstractmethod
    def describe(self, theta: Vector) -> dict[str, float]:
        """The parameters under their usual names."""

    def feature(self, theta: Vector) -> tuple[float, float] | None:  # noqa: ARG002 (most have none)
        """The place and width of the bulk, if it is narrow."""
        return None

    def limits(self, observations: Observations) -> list[tuple[float, float]]:
        """The range of each entry of theta that maximum likelihood searches."""
        raise NotImplementedError

    def fit_observations(self, observations: Observations, method: str) -> FittedPrior:
        theta, notes = self.from_moments(observations)
        if method == "mle" and np.isfinite(observations.noise.variance):
            theta = self._most_likely(observations, theta)
        return self.member(theta, observations.n, method, notes)

    def member(self, theta: Vector, n: int, method: str = "given", notes: tuple[str, ...] = ()) -> ParametricPrior:
        """The distribution with these parameters on 0..n."""
        parameters = frozen_parameters(**self.describe(theta))
        normalizer = log_total(self, theta, n)
        return ParametricPrior(self.name, n, parameters, method, notes, self, theta, normalizer)

    def _most_likely(self, observations: Observations, start: Vector) -> Vector:
        points, counts = observations.binned
        fixed = None
        if self.feature(start) is None:
            rule = observations.rule(self.first)
            fixed = rule, *observations.likelihood(rule.nodes), logarithmic(self.first, observations.n)

        def negative(theta: Vector) -> tuple[float, Vector]:
            rule, likelihood, row_logs, whole = fixed or self._moving_rules(observations, theta)
            shape = self.log_shape(whole.nodes, theta) + np.log(whole.weights)
            normalizer = float(logsumexp(shape))
            mean = np.exp(shape - normalizer) @ self.gradient(whole.nodes, theta)
            joint = likelihood * (np.exp(self.log_shape(rule.nodes, theta) - normalizer) * rule.weights)
            density = joint.sum(axis=1) + 1e-300
            expected = (joint @ self.gradient(rule.nodes, theta)) / density[:, None]
            value = float(counts @ (np.log(density) + row_logs))
            value += float((self.log_shape(observations.tail, theta) - normalizer).sum())
            slope = counts @ expected + self.gradient(observations.tail, theta).sum(axis=0) - observations.d * mean
            return -value / observations.d, -slope / observations.d

        limits = self.limits(observations)
        clipped = np.clip(start, [low for low, _ in limits], [high for _, high in limits])
        found = minimize(negative, clipped, jac=True, method="L-BFGS-B", bounds=limits)
        return np.asarray(found.x if points.size and np.isfinite(found.fun) else clipped)

    def _moving_rules(self, observations: Observations, theta: Vector) -> tuple[Rule, Vector, Vector, Rule]:
        """For a narrow bulk, nodes that move with it."""
        rule = feature_rule(self, theta, observations.n, observations.noise.deviation)
        return rule, *observations.likelihood(rule.nodes), rule


@dataclass(frozen=True, eq=False, repr=False)
class ParametricPrior(FittedPrior):
    """A member of a parametric family."""

    family: ParametricFamily = field(kw_only=False, default=None)  # type: ignore[assignment]
    theta: Vector = field(default_factory=lambda: np.zeros(0))
    normalizer: float = 0.0

    def log_mass(self, k: Vector) -> Vector:
        return self.family.log_shape(np.asarray(k, np.float64), self.theta) - self.normalizer

    @property
    def first(self) -> int:
        return self.family.first

    @property
    def constant_noise(self) -> bool:
        return self.family.constant_noise

    @property
    def feature(self) -> tuple[float, float] | None:
        return self.family.feature(self.theta)

    @property
    def edges(self) -> Vector:
        return np.array([] if self.feature is None else [self.feature[0]], np.float64)


def feature_rule(family: ParametricFamily, theta: Vector, n: int, finest: float = np.inf) -> Rule:
    """Nodes for sums of a mass function over all frequencies, in panels no wider than `finest` where it is narrow."""
    found = family.feature(theta)
    if found is None:
        return logarithmic(family.first, n)
    place, width = found
    low, high = (int(np.clip(round(place + side * FEATURE_REACH * width), family.first, n)) for side in (-1, 1))
    if high - low <= 4 * EXACT:
        return Rule.of(whole_numbers(low, high))
    middle = float(np.clip(place, low, high))
    step = max(min(width, finest), (high - low) / 2000)
    sides = [np.linspace(a, b, 2 + int((b - a) / step)) for a, b in ((low - 0.5, middle), (middle, high + 0.5))]
    return Rule.of(panels(np.unique(np.concatenate(sides)), 8))


def log_total(family: ParametricFamily, theta: Vector, n: int) -> float:
    """The logarithm of the sum of the shape over all frequencies."""
    rule = feature_rule(family, theta, n)
    return float(logsumexp(family.log_shape(rule.nodes, theta) + np.log(rule.weights)))
