"""The Laplace distribution: frequencies scatter around a common level, with more outliers than a Gaussian has.

    p_f(k) proportional to exp(-|k - location| / scale) on k = 0..n

The distribution is cut off at 0. With a location of 0 it is geometric, and a location below 0 would change nothing.
"""

from __future__ import annotations

import numpy as np

from localdp.priors.fitting.moments import NARROWEST, match_moments, narrowest_visible
from localdp.priors.fitting.observations import Observations
from localdp.priors.fitting.parametric import ParametricFamily, Search
from localdp.types import Vector


class Laplace(ParametricFamily):
    """For frequencies around a common level, with outliers. Theta: the location and the logarithm of the scale.

    The mean-variance method solves for the location and the scale that give the mean n/d and the variance of Eq. 18.
    No Laplace distribution on 0..n varies more than the geometric one with the same mean. Where the frequencies do,
    the geometric one is taken and a note says so.

    `mean="estimates"` uses the mean of the estimates (the paper's Eq. 19) in place of n/d.

    >>> Laplace().name
    'laplace'
    """

    name = "laplace"
    parameter_count = 2

    def log_shape(self, k: Vector, theta: Vector) -> Vector:
        return np.asarray(-np.abs(k - max(theta[0], 0.0)) / np.exp(theta[1]))

    def gradient(self, k: Vector, theta: Vector) -> Vector:
        scaled = (k - max(theta[0], 0.0)) / np.exp(theta[1])
        return np.stack([np.sign(scaled) / np.exp(theta[1]), np.abs(scaled)], axis=1)

    def from_moments(self, observations: Observations) -> tuple[Vector, tuple[str, ...]]:
        mean, notes = self.mean_of(observations)
        unit = max(float(np.sqrt(observations.spread)), NARROWEST)
        search = Search([(0.0, np.inf), (np.log(NARROWEST), np.inf)], np.array([unit, 1.0]))
        theta, more = match_moments(self, search, _geometric, mean, observations.spread, observations.n)
        return theta, (*notes, *more)

    def search(self, observations: Observations) -> Search:
        narrowest = narrowest_visible(observations)
        unit = max(float(np.sqrt(observations.spread)), narrowest)
        widest = np.log(max(observations.n, 2 * narrowest))
        return Search([(0.0, observations.n / unit), (float(np.log(narrowest)), float(widest))], np.array([unit, 1.0]))

    def describe(self, theta: Vector) -> dict[str, float]:
        return {"location": float(theta[0]), "scale": float(np.exp(theta[1]))}

    def feature(self, theta: Vector) -> tuple[float, float] | None:
        return max(float(theta[0]), 0.0), float(np.exp(theta[1]))


def _geometric(g: float) -> Vector:
    """theta of the geometric distribution with scale g."""
    return np.array([0.0, np.log(g)])
