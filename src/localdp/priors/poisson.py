"""The Poisson distribution: items are equally popular, and their frequencies differ by chance.

p_f(k) proportional to mean^k / k! on k = 0..n
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from localdp.priors.fitting.observations import Observations
from localdp.priors.fitting.parametric import ParametricFamily
from localdp.types import Vector


class Poisson(ParametricFamily):
    """For frequencies that differ by chance alone. Theta: the logarithm of the mean.

    >>> Poisson().name
    'poisson'
    """

    name = "poisson"
    parameter_count = 1

    def log_shape(self, k: Vector, theta: Vector) -> Vector:
        mean = np.exp(theta[0])
        # Relative to the value at the mean: the terms themselves are huge, and their difference would lose its digits.
        return np.asarray((k - mean) * theta[0] - (gammaln(k + 1) - gammaln(mean + 1)))

    def gradient(self, k: Vector, theta: Vector) -> Vector:
        return np.asarray(k - np.exp(theta[0]))[:, None]

    def from_moments(self, observations: Observations) -> tuple[Vector, tuple[str, ...]]:
        return np.array([np.log(observations.mean)]), ()

    def limits(self, observations: Observations) -> list[tuple[float, float]]:
        return [(np.log(1e-6), np.log(observations.n))]

    def describe(self, theta: Vector) -> dict[str, float]:
        return {"mean": float(np.exp(theta[0]))}

    def feature(self, theta: Vector) -> tuple[float, float] | None:
        mean = float(np.exp(theta[0]))
        return mean, max(1.0, float(np.sqrt(mean)))
