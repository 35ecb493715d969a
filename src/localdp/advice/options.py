"""What a mechanism would give: the size of a report, the noise, and what could be seen through it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
from scipy.special import ndtr

from localdp.advice.expectation import calibrated_error
from localdp.advice.shapes import Shape
from localdp.errors import EpsilonError, ImpureMechanismError
from localdp.estimate.frequencies import significance_threshold
from localdp.mechanisms import MECHANISMS, Mechanism, create
from localdp.priors import Noise

SEEN = 0.9
"""An item counts as seen if its raw estimate passes the significance threshold with this probability."""

ORDER = ("grr", "sue", "oue", "ss", "olh", "blh", "llh", "hr")


@dataclass(frozen=True, eq=False)
class Option:
    """A mechanism at an epsilon, for frequencies of a shape. Errors are in users."""

    made: Mechanism
    shape: Shape

    @property
    def mechanism(self) -> str:
        """The name of the mechanism."""
        return self.made.name

    @property
    def epsilon(self) -> float:
        """The budget asked for."""
        return self.made.requested_epsilon

    @property
    def report_bytes(self) -> int:
        """The length of a report."""
        return self.made.report_bytes

    @property
    def standard_error(self) -> float:
        """The standard deviation of the noise of an item that nobody holds."""
        return math.sqrt(self.made.variance(self.shape.users))

    @property
    def threshold(self) -> float:
        """The significance threshold: raw estimates above it are no accident."""
        return significance_threshold(self.standard_error, self.made.size)

    @property
    def smallest_share(self) -> float:
        """The share of the users that an item needs to be seen; above 1, nothing can be.

        The estimate of an item with f users passes the threshold T with probability Phi(z) when
        f = T + z sqrt(Var + f excess), a quadratic equation in f.
        """
        z, excess = NormalDist().inv_cdf(SEEN), self.made.excess_variance
        own = z * excess / 2
        at_threshold = self.standard_error**2 + excess * self.threshold
        return (self.threshold + z * (own + math.sqrt(max(own**2 + at_threshold, 0.0)))) / self.shape.users

    @property
    def raw_error(self) -> float:
        """The mean squared error over the items of the raw estimates, the noise that holders add included."""
        return self.made.variance(self.shape.users) + self.made.excess_variance * self.shape.users / self.made.size

    @cached_property
    def calibrated_error(self) -> float:
        """The mean squared error over the items to expect after Calibrate: `ldp.metrics.estimation_error`."""
        return calibrated_error(self.shape, self.noise)

    @property
    def raw_rms(self) -> float:
        """The root of the raw error, in users: the standard error, and a little more."""
        return math.sqrt(self.raw_error)

    @property
    def calibrated_rms(self) -> float:
        """The root of the calibrated error, in users."""
        return math.sqrt(self.calibrated_error)

    @property
    def items_seen(self) -> float:
        """How many items would pass the significance threshold, on average."""
        deviations = np.sqrt(self.noise.variance_at(self.shape.frequencies))
        chances = ndtr((self.shape.frequencies - self.threshold) / deviations)
        return float(self.shape.items * (self.shape.masses @ chances))

    @property
    def noise(self) -> Noise:
        """The noise of an estimate."""
        return Noise(self.made.variance(self.shape.users), self.made.excess_variance)

    def __repr__(self) -> str:
        return f"<{self.mechanism} at epsilon {self.epsilon:g}: standard error {self.standard_error:.6g}>"


def every_option(epsilon: float, shape: Shape) -> tuple[Option, ...]:
    """Every mechanism that exists at this epsilon."""
    options = []
    for name in (*ORDER, *(name for name in MECHANISMS if name not in ORDER)):
        try:
            options.append(Option(create(name, shape.items, epsilon).mechanism, shape))
        except (ImpureMechanismError, EpsilonError):
            continue
    return tuple(options)


def best_option(epsilon: float, shape: Shape) -> Option:
    """The mechanism that `auto` takes."""
    return Option(create("auto", shape.items, epsilon).mechanism, shape)
