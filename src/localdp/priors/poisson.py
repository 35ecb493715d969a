"""The Poisson distribution: items are equally popular, and their frequencies differ by chance.

    p_f(k) proportional to level^k / k! on k = 0..n

The mean is the level, unless there are so few items that n cuts the distribution off.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln

from localdp.priors.fitting.moments import moments
from localdp.priors.fitting.observations import Observations
from localdp.priors.fitting.parametric import ParametricFamily, Search
from localdp.types import Vector


class Poisson(ParametricFamily):
    """For frequencies that differ by chance alone. Theta: the logarithm of the level.

    `mean="estimates"` uses the mean of the estimates (the paper's Eq. 19) in place of n/d.

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
        mean, notes = self.mean_of(observations)
        n, start = observations.n, float(np.log(mean))

        def off(log_level: float) -> float:
            return moments(self, np.array([log_level]), n)[0] - mean

        if mean + 40 * np.sqrt(mean) < n or off(start) >= 0:  # n is out of reach
            return np.array([start]), notes
        if off(start + 5.0) <= 0:  # the mean is n, or nearly so
            return np.array([start + 5.0]), notes
        return np.array([brentq(off, start, start + 5.0, xtol=1e-12)]), notes

    def search(self, observations: Observations) -> Search:
        return Search([(np.log(1e-6), np.log(observations.n) + 5.0)], np.ones(1))

    def describe(self, theta: Vector) -> dict[str, float]:
        return {"level": float(np.exp(theta[0]))}

    def feature(self, theta: Vector) -> tuple[float, float] | None:
        mean = float(np.exp(theta[0]))
        return mean, max(1.0, float(np.sqrt(mean)))
