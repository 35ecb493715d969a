"""The power law: few items are frequent, many are rare.

p_f(k) proportional to k^-alpha on k = 1..n                                                   (Eq. 15)
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from localdp.kernels.quadrature import logarithmic
from localdp.priors.fitting.observations import Observations
from localdp.priors.fitting.parametric import ParametricFamily
from localdp.types import Vector

STEEPEST = 30.0
"""The largest alpha: all but a billionth of the items then have frequency 1."""


class PowerLaw(ParametricFamily):
    """The paper's family for video views, clicks, words and sales.

    The mean-variance method solves E(f) = n/d for alpha. There is a solution if the mean lies between 1 and (n+1)/2.
    With two items or more it is below (n+1)/2. Where it is 1 or less, the steepest member is taken and a note says so.

    `mean="estimates"` uses the mean of the estimates (the paper's Eq. 19) in place of n/d:

    >>> PowerLaw(), PowerLaw(mean="estimates")
    (PowerLaw(), PowerLaw(mean='estimates'))

    >>> PowerLaw().name
    'power-law'
    """

    name = "power-law"
    first = 1
    parameter_count = 1
    limits = ((0.0, STEEPEST),)

    def log_shape(self, k: Vector, theta: Vector) -> Vector:
        return np.asarray(-theta[0] * np.log(k))

    def gradient(self, k: Vector, theta: Vector) -> Vector:  # noqa: ARG002 (it is linear)
        return -np.log(k)[:, None]

    def from_moments(self, observations: Observations) -> tuple[Vector, tuple[str, ...]]:
        mean, notes = self.mean_of(observations)
        frequencies = logarithmic(1, observations.n)
        logs = np.log(frequencies.nodes)

        def log_ratio(alpha: float) -> float:
            """log( E(f) under alpha / the wanted mean )."""
            masses = frequencies.weights * np.exp(-alpha * logs)  # at most 1, and 1 at frequency 1
            return float(np.log(masses @ frequencies.nodes / masses.sum() / mean))

        if log_ratio(STEEPEST) >= 0:
            note = (
                f"the mean frequency {mean:.4g} is not above 1, so the steepest power law (alpha {STEEPEST:g}) is used"
            )
            return np.array([STEEPEST]), (*notes, note)
        if log_ratio(0.0) <= 0:  # only a total that is not n can be as large
            note = (
                f"the mean frequency {mean:.4g} is more than half of all users, so all frequencies are equally likely"
            )
            return np.array([0.0]), (*notes, note)
        return np.array([brentq(log_ratio, 0.0, STEEPEST, xtol=1e-13)]), notes

    def describe(self, theta: Vector) -> dict[str, float]:
        return {"alpha": float(theta[0])}
