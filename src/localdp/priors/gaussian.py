"""The Gaussian: frequencies scatter around a common level.

    p_f(k) proportional to exp(-(k - location)^2 / (2 scale^2)) on k = 0..n

The distribution is cut off at 0, so its mean is larger than the location and its deviation smaller than the scale. The
location may lie far below 0: only the falling flank is then left, which is nearly geometric.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localdp.priors.fitting.moments import NARROWEST, WIDEST, match_moments, narrowest_visible
from localdp.priors.fitting.observations import Observations
from localdp.priors.fitting.parametric import ParametricFamily, Search
from localdp.types import Vector


class Gaussian(ParametricFamily):
    """For frequencies that scatter around a common level. Theta: the location and the logarithm of the scale.

    The mean-variance method solves for the location and the scale that give the mean n/d and the variance of Eq. 18.
    No Gaussian on 0..n varies more than a geometric distribution with the same mean. Where the frequencies do, the
    nearest Gaussian is taken and a note says so.

    `mean="estimates"` uses the mean of the estimates (the paper's Eq. 19) in place of n/d.

    >>> Gaussian().methods
    ('mean-variance', 'mle')
    """

    name = "gaussian"
    parameter_count = 2

    def log_shape(self, k: Vector, theta: Vector) -> Vector:
        # Relative to the largest value on 0..n: a location far below 0 would cost all digits.
        location, scale = theta[0], np.exp(theta[1])
        peak = max(location, 0.0)
        return np.asarray(-0.5 * ((k - peak) / scale) * ((k + peak - 2 * location) / scale))

    def gradient(self, k: Vector, theta: Vector) -> Vector:
        location, scale = theta[0], np.exp(theta[1])
        by_location = (k - max(location, 0.0)) / scale**2
        return np.stack([by_location, -2 * self.log_shape(k, theta)], axis=1)

    def from_moments(self, observations: Observations) -> tuple[Vector, tuple[str, ...]]:
        mean, notes = self.mean_of(observations)
        n = observations.n
        natural = _Natural([(-np.inf, np.inf), (1e-300, np.inf)], np.ones(2), mean, _deviation(observations))
        theta, more = match_moments(self, natural, lambda g: _nearly_geometric(g, n), mean, observations.spread, n)
        return theta, (*notes, *more)

    def search(self, observations: Observations) -> Search:
        narrowest = narrowest_visible(observations)
        geometric = float(np.sqrt(observations.mean * (1 + observations.mean)))  # no member with this mean varies more
        unit = max(min(_deviation(observations), geometric), narrowest)
        limits = [(-1e9, 1e9), (WIDEST**-2, (unit / narrowest) ** 2)]
        return _Natural(limits, np.ones(2), observations.mean, unit)

    def describe(self, theta: Vector) -> dict[str, float]:
        return {"location": float(theta[0]), "scale": float(np.exp(theta[1]))}

    def feature(self, theta: Vector) -> tuple[float, float] | None:
        location, scale = float(theta[0]), float(np.exp(theta[1]))
        # With a location below 0 only the flank is left: it falls to 1/e within scale^2/|location|, or within the scale
        # if that is less.
        return max(location, 0.0), scale / (1 + max(-location / scale, 0.0))


@dataclass(frozen=True, eq=False)
class _Natural(Search):
    """Coordinates in which Gaussians and geometric distributions are alike.

    The log-mass is slope z - bend z^2/2 for z = (k - centre)/unit. A geometric distribution has bend 0. In terms of
    the location and the scale it would be infinitely far away, and a search would hardly get near it.
    """

    centre: float
    unit: float

    def place(self, theta: Vector) -> Vector:
        bend = (self.unit / np.exp(theta[1])) ** 2
        return np.array([bend * (theta[0] - self.centre) / self.unit, bend])

    def theta(self, place: Vector) -> Vector:
        slope, bend = place
        return np.array([self.centre + self.unit * slope / bend, np.log(self.unit) - 0.5 * np.log(bend)])

    def slopes(self, place: Vector) -> Vector:
        slope, bend = place
        return np.array([[self.unit / bend, -self.unit * slope / bend**2], [0.0, -0.5 / bend]])


def _nearly_geometric(g: float, n: int) -> Vector:
    """theta of a Gaussian that is as good as geometric with scale g on 0..n."""
    scale = WIDEST * min(g, n)
    return np.array([-(scale**2) / g, np.log(scale)])


def _deviation(observations: Observations) -> float:
    """The deviation of the frequencies, as far as the estimates tell."""
    return max(float(np.sqrt(observations.spread)), NARROWEST)
