"""The options to choose from: one mechanism at one epsilon, with its report length, its errors and what it detects."""

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
"""An item counts as detected if its raw estimate exceeds the significance threshold with this probability."""

ORDER = ("grr", "sue", "oue", "ss", "olh", "blh", "llh", "hr")
"""The order of the mechanisms in tables: simple ones first."""


@dataclass(frozen=True, eq=False)
class Option:
    """A mechanism at an epsilon, and what to expect of it for frequencies of this shape. Errors are in users.

    >>> from localdp.advice.shapes import shaped
    >>> option = best_option(1.0, shaped("zipf", items=1_000, users=100_000))
    >>> option.mechanism, option.report_bytes, round(option.standard_error), round(option.calibrated_rms)
    ('llh', 2, 607, 155)
    """

    made: Mechanism
    shape: Shape

    @property
    def mechanism(self) -> str:
        """The name of the mechanism."""
        return self.made.name

    @property
    def epsilon(self) -> float:
        """The requested privacy budget."""
        return self.made.requested_epsilon

    @property
    def report_bytes(self) -> int:
        """The length of a report in bytes."""
        return self.made.report_bytes

    @property
    def standard_error(self) -> float:
        """The standard deviation of the raw estimate of an item that nobody holds, in users."""
        return math.sqrt(self.made.variance(self.shape.users))

    @property
    def threshold(self) -> float:
        """The significance threshold in users. With probability 95%, no unheld item's raw estimate exceeds it."""
        return significance_threshold(self.standard_error, self.made.size)

    @property
    def smallest_share(self) -> float:
        """The smallest share of users that is detected.

        A value above 1 means that not even an item held by everybody is detected.

        The estimate of an item with f holders exceeds the threshold T with probability Phi(z) when
        f = T + z sqrt(Var + f excess). This is a quadratic equation in f.
        """
        z, excess = NormalDist().inv_cdf(SEEN), self.made.excess_variance
        own = z * excess / 2
        at_threshold = self.standard_error**2 + excess * self.threshold
        return (self.threshold + z * (own + math.sqrt(max(own**2 + at_threshold, 0.0)))) / self.shape.users

    @property
    def raw_error(self) -> float:
        """The expected mean squared error of the raw estimates over all items, with the variance that holders add."""
        return self.made.variance(self.shape.users) + self.made.excess_variance * self.shape.users / self.made.size

    @cached_property
    def calibrated_error(self) -> float:
        """The expected mean squared error over all items after Calibrate (`ldp.metrics.estimation_error`)."""
        return calibrated_error(self.shape, self.noise)

    @property
    def raw_rms(self) -> float:
        """The root of the raw error, in users: a little more than the standard error, because of held items."""
        return math.sqrt(self.raw_error)

    @property
    def calibrated_rms(self) -> float:
        """The root of the calibrated error, in users."""
        return math.sqrt(self.calibrated_error)

    @property
    def items_seen(self) -> float:
        """How many items exceed the significance threshold, on average."""
        deviations = np.sqrt(self.noise.variance_at(self.shape.frequencies))
        chances = ndtr((self.shape.frequencies - self.threshold) / deviations)
        return float(self.shape.items * (self.shape.masses @ chances))

    @property
    def noise(self) -> Noise:
        """The noise of a raw estimate."""
        return Noise(self.made.variance(self.shape.users), self.made.excess_variance)

    def __repr__(self) -> str:
        return f"<{self.mechanism} at epsilon {self.epsilon:g}: standard error {self.standard_error:.6g}>"


def every_option(epsilon: float, shape: Shape) -> tuple[Option, ...]:
    """All mechanisms that can be made at this epsilon."""
    options = []
    for name in (*ORDER, *(name for name in MECHANISMS if name not in ORDER)):
        try:
            options.append(Option(create(name, shape.items, epsilon).mechanism, shape))
        except (ImpureMechanismError, EpsilonError):
            continue
    return tuple(options)


def best_option(epsilon: float, shape: Shape) -> Option:
    """The mechanism that `auto` takes at this epsilon."""
    return Option(create("auto", shape.items, epsilon).mechanism, shape)
