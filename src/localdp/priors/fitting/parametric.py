"""The paper's four families: a smooth mass function with one or two parameters theta, and its maximum likelihood fit.

    maximize   sum_i log sum_k p_f(k | theta) p_s(fhat_i - k)                                     (Eq. 16)

The maximum is found by L-BFGS with the analytic gradient: the gradient of log p_f, averaged over the posterior of each
item, less its mean under p_f.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from localdp.kernels.quadrature import EXACT_UP_TO, Quadrature, logarithmic, panels, whole_numbers
from localdp.priors.base import FittedPrior, Prior, frozen_parameters
from localdp.priors.fitting.observations import Observations
from localdp.types import Vector

FEATURE_REACH = 40.0
"""A prior with a `feature` is covered up to this many widths from its centre."""


class ParametricFamily(Prior):
    """A family with a smooth mass function and a parameter vector `theta`, such as a mean and a log deviation."""

    methods = ("mean-variance", "mle")
    constant_noise = True
    first: ClassVar[int] = 0
    """The smallest frequency that has mass."""
    parameter_count: ClassVar[int]

    @abstractmethod
    def log_shape(self, k: Vector, theta: Vector) -> Vector:
        """log p_f(k | theta) up to a constant."""

    @abstractmethod
    def gradient(self, k: Vector, theta: Vector) -> Vector:
        """The derivatives of `log_shape`, a column for each parameter."""

    @abstractmethod
    def from_moments(self, observations: Observations) -> tuple[Vector, tuple[str, ...]]:
        """theta by the mean-variance method (Eq. 17 to 20), and notes about what had to be decided."""

    @abstractmethod
    def describe(self, theta: Vector) -> dict[str, float]:
        """The parameters under their usual names."""

    def feature(self, theta: Vector) -> tuple[float, float] | None:  # noqa: ARG002 (families with heavy tails have none)
        """The centre and width of the bulk, if the tails are light; see `FittedPrior.feature`."""
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
        """theta by maximum likelihood, searched from `start` within `limits`; `start` if the search cannot be done."""
        sums = None if self.feature(start) else self._fixed_sums(observations)

        def loss(theta: Vector) -> tuple[float, Vector]:
            value, gradient = self._log_likelihood(observations, theta, sums or self._moving_sums(observations, theta))
            return -value / observations.d, -gradient / observations.d

        limits = self.limits(observations)
        clipped = np.clip(start, [low for low, _ in limits], [high for _, high in limits])
        found = minimize(loss, clipped, jac=True, method="L-BFGS-B", bounds=limits)
        return np.asarray(found.x if observations.binned[0].size and np.isfinite(found.fun) else clipped)

    def _log_likelihood(self, observations: Observations, theta: Vector, sums: _Sums) -> tuple[float, Vector]:
        """The log-likelihood of all estimates (Eq. 16) and its gradient in theta."""
        data_nodes, whole, counts = sums.data_nodes, sums.whole, observations.binned[1]
        shape = self.log_shape(whole.nodes, theta) + np.log(whole.weights)
        normalizer = float(logsumexp(shape))
        mean = np.exp(shape - normalizer) @ self.gradient(whole.nodes, theta)
        joint = sums.likelihood * (np.exp(self.log_shape(data_nodes.nodes, theta) - normalizer) * data_nodes.weights)
        density = joint.sum(axis=1) + 1e-300
        expected = (joint @ self.gradient(data_nodes.nodes, theta)) / density[:, None]
        value = float(counts @ (np.log(density) + sums.row_logs))
        value += float((self.log_shape(observations.tail, theta) - normalizer).sum())
        slope = counts @ expected + self.gradient(observations.tail, theta).sum(axis=0) - observations.d * mean
        return value, slope

    def _fixed_sums(self, observations: Observations) -> _Sums:
        """For heavy tails, nodes that serve every theta."""
        data_nodes = observations.quadrature(self.first)
        return _Sums(data_nodes, *observations.likelihood(data_nodes.nodes), logarithmic(self.first, observations.n))

    def _moving_sums(self, observations: Observations, theta: Vector) -> _Sums:
        """For a narrow bulk, nodes that move with it."""
        data_nodes = mass_quadrature(self, theta, observations.n, observations.noise.deviation)
        return _Sums(data_nodes, *observations.likelihood(data_nodes.nodes), data_nodes)


@dataclass(frozen=True, eq=False)
class _Sums:
    """The nodes and likelihoods that enter the sums of the log-likelihood.

    Sums over the posterior of the binned estimates use `data_nodes`, and the likelihood of each bin there (see
    `Observations.likelihood`). Sums over the prior use the nodes `whole`.
    """

    data_nodes: Quadrature
    likelihood: Vector
    row_logs: Vector
    whole: Quadrature


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


def mass_quadrature(family: ParametricFamily, theta: Vector, n: int, finest: float = np.inf) -> Quadrature:
    """A quadrature for the sum of the mass function over all frequencies.

    A narrow bulk is covered by panels no wider than its width, nor than `finest` (the deviation of the noise, if the
    summand includes the noise).
    """
    feature = family.feature(theta)
    if feature is None:
        return logarithmic(family.first, n)
    centre, width = feature
    low, high = (int(np.clip(round(centre + side * FEATURE_REACH * width), family.first, n)) for side in (-1, 1))
    if high - low <= 4 * EXACT_UP_TO:
        return whole_numbers(low, high)
    middle = float(np.clip(centre, low, high))  # an edge, since the Laplace distribution has a kink there
    step = max(min(width, finest), (high - low) / 2000)
    sides = [np.linspace(a, b, 2 + int((b - a) / step)) for a, b in ((low - 0.5, middle), (middle, high + 0.5))]
    return panels(np.unique(np.concatenate(sides)), 8)


def log_total(family: ParametricFamily, theta: Vector, n: int) -> float:
    """The logarithm of the sum of the shape over all frequencies: the normalizer of the mass function."""
    everything = mass_quadrature(family, theta, n)
    return float(logsumexp(family.log_shape(everything.nodes, theta) + np.log(everything.weights)))
