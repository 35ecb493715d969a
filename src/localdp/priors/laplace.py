"""The Laplace distribution: frequencies scatter around a common level, with more outliers than a Gaussian has.

p_f(k) proportional to exp(-|k - mean| / scale) on k = 0..n
"""

from __future__ import annotations

import numpy as np

from localdp.priors.fitting.observations import Observations
from localdp.priors.fitting.parametric import ParametricFamily
from localdp.priors.gaussian import location_and_scale, location_and_scale_limits
from localdp.types import Vector


class Laplace(ParametricFamily):
    """For frequencies around a common level, with outliers. Theta: the mean and the logarithm of the scale.

    >>> Laplace().name
    'laplace'
    """

    name = "laplace"
    parameter_count = 2

    def log_shape(self, k: Vector, theta: Vector) -> Vector:
        return np.asarray(-np.abs(k - theta[0]) / np.exp(theta[1]))

    def gradient(self, k: Vector, theta: Vector) -> Vector:
        scaled = (k - theta[0]) / np.exp(theta[1])
        return np.stack([np.sign(scaled) / np.exp(theta[1]), np.abs(scaled)], axis=1)

    def from_moments(self, observations: Observations) -> tuple[Vector, tuple[str, ...]]:
        return location_and_scale(observations, 0.5)  # the variance is twice the square of the scale

    def limits(self, observations: Observations) -> list[tuple[float, float]]:
        return location_and_scale_limits(observations)

    def describe(self, theta: Vector) -> dict[str, float]:
        return {"mean": float(theta[0]), "scale": float(np.exp(theta[1]))}

    def feature(self, theta: Vector) -> tuple[float, float] | None:
        return float(theta[0]), float(np.exp(theta[1]))
