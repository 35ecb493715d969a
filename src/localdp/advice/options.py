"""The options to choose from: one mechanism at one epsilon, with its report length, its errors and what it detects."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from localdp.advice.expectation import calibrated_error
from localdp.advice.shapes import Shape
from localdp.errors import EpsilonError, ImpureMechanismError
from localdp.estimate.thresholds import (
    BETA,
    approximate_chances,
    count_threshold,
    exact_threshold,
    significance_threshold,
    smallest_detected,
    smallest_passing,
)
from localdp.mechanisms import Mechanism, create, offered
from localdp.priors import Noise

ORDER = ("grr", "sue", "oue", "ss", "olh", "blh", "llh", "hr")
"""The order of the mechanisms in tables: simple ones first."""

_NONE: Mapping[str, Any] = MappingProxyType({})

SHARES = (0.0, 0.01, 0.1, 0.5)
"""The shares of the users at which tables and sentences show the standard error."""


@dataclass(frozen=True, eq=False)
class Option:
    """A mechanism at an epsilon, and what to expect of it. Errors are in users.

    The error after Calibrate depends on how frequencies are distributed. `shapes` are the distributions that are
    thought possible: one if the caller knows, and several otherwise.

    >>> from localdp.advice.shapes import shaped
    >>> option = best_option(1.0, (shaped("zipf", items=1_000, users=100_000),))
    >>> option.mechanism, option.report_bytes, round(option.standard_error)
    ('llh', 2, 607)
    >>> [round(option.standard_error_at(share)) for share in (0.01, 0.1, 0.5)]
    [608, 617, 655]
    """

    made: Mechanism
    shapes: tuple[Shape, ...]

    @property
    def mechanism(self) -> str:
        """The name of the mechanism."""
        return self.made.name

    @property
    def epsilon(self) -> float:
        """The requested privacy budget."""
        return self.made.requested_epsilon

    @property
    def users(self) -> int:
        """The number of users."""
        return self.shapes[0].users

    @property
    def report_bytes(self) -> int:
        """The length of a report in bytes."""
        return self.made.report_bytes

    @property
    def standard_error(self) -> float:
        """The standard deviation of the raw estimate of an item that nobody holds, in users."""
        return self.standard_error_at(0.0)

    def standard_error_at(self, share: float) -> float:
        """The standard deviation of the raw estimate of an item that this share of the users holds, in users."""
        own = self.made.excess_variance * share * self.users
        return math.sqrt(max(self.made.variance(self.users) + own, 0.0))

    @cached_property
    def threshold(self) -> float:
        """The significance threshold in users: with probability 95%, no unheld item's raw estimate exceeds it.

        It is exact for a pure mechanism, and that of Gaussian noise for any other.
        """
        if not self.made.pure:
            return significance_threshold(self.standard_error, self.made.size)
        return exact_threshold(self.users, self.made.p, self.made.q, self.made.size)

    @cached_property
    def smallest_share(self) -> float:
        """The smallest share of users that is detected: whose raw estimate exceeds the threshold 90% of the time.

        A value above 1 means that not even an item held by everybody is detected. Tables call it "share seen", and
        the collector `visible_share`.
        """
        if not self.made.pure:
            noise = self.noise
            return smallest_passing(self.threshold, noise.variance, noise.excess) / self.users
        return smallest_detected(self.users, self.made.p, self.made.q, self.made.size) / self.users

    @property
    def raw_error(self) -> float:
        """The expected mean squared error of the raw estimates over all items, with the variance that holders add."""
        return self.standard_error_at(1 / self.made.size) ** 2

    @property
    def raw_rms(self) -> float:
        """The root of the raw error, in users: a little more than the standard error, because of held items."""
        return math.sqrt(self.raw_error)

    @cached_property
    def calibrated(self) -> dict[str, float]:
        """By the name of each shape, the root of the mean squared error over all items to expect after Calibrate."""
        return {shape.name: math.sqrt(calibrated_error(shape, self.noise)) for shape in self.shapes}

    @property
    def lowest(self) -> tuple[str, float]:
        """The shape with the smallest error after Calibrate, and this error."""
        return min(self.calibrated.items(), key=lambda entry: entry[1])

    @property
    def highest(self) -> tuple[str, float]:
        """The shape with the largest error after Calibrate, and this error."""
        return max(self.calibrated.items(), key=lambda entry: entry[1])

    @property
    def calibrated_rms(self) -> float:
        """The error after Calibrate for the one shape, or the highest for several."""
        return self.highest[1]

    @cached_property
    def items_seen(self) -> dict[str, float]:
        """By the name of each shape, how many items exceed the significance threshold on average."""
        if not self.made.pure:
            return {shape.name: self._seen(shape) for shape in self.shapes}
        p, q = self.made.p_star, self.made.q_star
        limit = count_threshold(self.users, q, BETA / self.made.size)
        chances = (approximate_chances(limit, shape.frequencies, self.users, p, q) for shape in self.shapes)
        return {s.name: float(s.items * (s.masses @ c)) for s, c in zip(self.shapes, chances, strict=True)}

    def _seen(self, shape: Shape) -> float:
        """How many items of a shape exceed the significance threshold on average, if the noise is Gaussian."""
        from scipy.special import ndtr

        deviations = np.sqrt(self.noise.variance_at(shape.frequencies))
        return float(shape.items * (shape.masses @ ndtr((shape.frequencies - self.threshold) / deviations)))

    @property
    def items_detected(self) -> int:
        """How many items are so frequent that they are detected, for the shape with most of them."""
        least = self.smallest_share * self.users
        return max(round(s.items * float(s.masses @ (s.frequencies >= least))) for s in self.shapes)

    @property
    def spread(self) -> float:
        """The standard deviation of the true frequencies, for the shape where it is largest."""
        mean = self.users / self.made.size
        return math.sqrt(max(float(s.masses @ (s.frequencies - mean) ** 2) for s in self.shapes))

    @property
    def noise(self) -> Noise:
        """The noise of a raw estimate."""
        return Noise(self.made.variance(self.users), self.made.excess_variance)

    def __repr__(self) -> str:
        return f"<{self.mechanism} at epsilon {self.epsilon:g}: standard error {self.standard_error:.6g}>"


def every_option(epsilon: float, shapes: tuple[Shape, ...], options: Mapping[str, Any] = _NONE) -> tuple[Option, ...]:
    """All mechanisms to compare at this epsilon with these options, which are `once`, `set_size` or none."""
    found, known = [], offered(options)
    simple = [name for name in ORDER if name in known]
    for name in (*simple, *(name for name in known if name not in ORDER)):
        try:
            found.append(Option(create(name, shapes[0].items, epsilon, **options).mechanism, shapes))
        except (ImpureMechanismError, EpsilonError):
            continue
    return tuple(found)


def best_option(epsilon: float, shapes: tuple[Shape, ...], options: Mapping[str, Any] = _NONE) -> Option:
    """The mechanism that `auto` takes at this epsilon with these options."""
    return Option(create("auto", shapes[0].items, epsilon, **options).mechanism, shapes)
