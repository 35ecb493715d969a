"""The Gaussian: frequencies scatter around a common level.

p_f(k) proportional to exp(-(k - mean)^2 / (2 deviation^2)) on k = 0..n
"""

from __future__ import annotations

import numpy as np

from localdp.priors.fitting.observations import Observations
from localdp.priors.fitting.parametric import ParametricFamily
from localdp.types import Vector

NARROWEST = 0.5
"""The smallest scale: a narrower distribution has all its mass on one or two whole numbers."""


class Gaussian(ParametricFamily):
    """For frequencies that scatter around a common level. Theta: the mean and the logarithm of the deviation.

    >>> Gaussian().methods
    ('mean-variance', 'mle')
    """

    name = "gaussian"
    parameter_count = 2

    def log_shape(self, k: Vector, theta: Vector) -> Vector:
        return np.asarray(-0.5 * ((k - theta[0]) / np.exp(theta[1])) ** 2)

    def gradient(self, k: Vector, theta: Vector) -> Vector:
        scaled = (k - theta[0]) / np.exp(theta[1])
        return np.stack([scaled / np.exp(theta[1]), scaled**2], axis=1)

    def from_moments(self, observations: Observations) -> tuple[Vector, tuple[str, ...]]:
        return location_and_scale(observations, 1.0)

    def limits(self, observations: Observations) -> list[tuple[float, float]]:
        return location_and_scale_limits(observations)

    def describe(self, theta: Vector) -> dict[str, float]:
        return {"mean": float(theta[0]), "deviation": float(np.exp(theta[1]))}

    def feature(self, theta: Vector) -> tuple[float, float] | None:
        return float(theta[0]), float(np.exp(theta[1]))


def location_and_scale(observations: Observations, share: float) -> tuple[Vector, tuple[str, ...]]:
    """theta by moments: the known mean, and the log of the scale, where scale^2 = share * Var(f)."""
    scale = np.sqrt(share * observations.spread)
    notes: tuple[str, ...] = ()
    if scale <= NARROWEST:
        notes = ("the estimates vary no more than their noise, so the frequencies are taken to be equal",)
    return np.array([observations.mean, np.log(np.clip(scale, NARROWEST, observations.n))]), notes


def location_and_scale_limits(observations: Observations) -> list[tuple[float, float]]:
    """The ranges of the mean and of the log scale that maximum likelihood searches."""
    narrowest = max(NARROWEST, 0.02 * min(observations.noise.deviation, observations.n))
    return [(0.0, float(observations.n)), (float(np.log(narrowest)), float(np.log(max(observations.n, 2 * narrowest))))]
