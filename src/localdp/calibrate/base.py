"""What every posterior can be asked: about single items, and about weighted sums of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from localdp.types import Places, Vector


@dataclass(frozen=True)
class Quantity:
    """A number with the interval (low, high) that contains the true one with probability `level`.

    >>> Quantity(41.5, 38.0, 45.0, level=0.9)
    Quantity(value=41.5, low=38.0, high=45.0, level=0.9)
    """

    value: float
    low: float
    high: float
    level: float


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
