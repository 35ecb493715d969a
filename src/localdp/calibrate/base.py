"""What every posterior can be asked: about single items, and about weighted sums of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from localdp.types import Places, Vector


@dataclass(frozen=True)
class Quantity:
    """A number with the interval (low, high) that contains the true one with probability `level`.

    It prints with as many digits as the interval leaves room for.

    >>> print(Quantity(31.7263, 30.3817, 33.0692, level=0.9))
    31.7, with 90% probability between 30.4 and 33.1
    """

    value: float
    low: float
    high: float
    level: float

    @property
    def places(self) -> int:
        """How many digits behind the point the interval leaves room for; 6 if it has no width."""
        width = self.high - self.low
        return max(1 - math.floor(math.log10(width)), 0) if width > 0 else 6

    def __str__(self) -> str:
        shown = f",.{self.places}f" if self.high > self.low else ",.6g"
        # Adding 0.0 turns -0.0, which rounding leaves of a tiny negative end, into 0.0.
        rounded = (format(round(number, self.places) + 0.0, shown) for number in (self.value, self.low, self.high))
        value, low, high = rounded
        return f"{value}, with {100 * self.level:.4g}% probability between {low} and {high}"


class AnyPosterior(ABC):
    """What is known about the true frequencies of all items, given the counts.

    Groups, ranges, means, margins and conditional shares are weighted sums of frequencies or nearly so: they ask
    `linear`, and so they need not know how the frequencies depend on each other.
    """

    @abstractmethod
    def means(self) -> Vector:
        """The mean frequency of every item."""

    @abstractmethod
    def deviations(self) -> Vector:
        """The standard deviation of the frequency of every item."""

    @abstractmethod
    def probability_above(self, limit: int) -> Vector:
        """The probability that the frequency of an item is larger than the limit, for every item."""

    @abstractmethod
    def shortest_intervals(self, level: float) -> tuple[Vector, Vector]:
        """For every item, the shortest range of frequencies that has at least this probability."""

    @abstractmethod
    def quantiles(self, level: float) -> Vector:
        """For every item, the smallest frequency that the true one does not exceed with this probability."""

    @abstractmethod
    def quantiles_of(self, items: Places, levels: Vector) -> Vector:
        """The quantile of each of these items at its own level; items ascend and may be repeated."""

    @abstractmethod
    def linear(self, weights: Vector, level: float) -> Quantity:
        """The sum of weight times frequency over all items, with its interval."""
