"""Calibrated frequencies of the cells of a scale, with what people ask of one: mean, percentiles, ranges."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from localdp.calibrate.base import AnyPosterior, Quantity
from localdp.calibrate.ordered_cells import OrderedCells
from localdp.errors import InvalidInputError
from localdp.estimate.calibrated import Calibrated
from localdp.estimate.frequencies import INTERVALS
from localdp.types import Vector
from localdp.validation import checked_level, checked_number, shown

_SUMMED_UP = (10, 25, 75, 90)
"""The percentiles of a summary, beside the median."""

_NEARLY_WHOLE = 1e-6  # of a person


class Placed:
    """Frequencies of cells that have places on a scale: mean, percentiles and shares of ranges.

    They speak of the people who reported.

    `starts` and `ends` say where each ordered cell begins and ends. The cell of `other`, if there is one, comes last.
    It has a share like any cell, and is left out of means and percentiles.

    >>> from localdp import Plan, Scale
    >>> cal = Plan(Scale(1, 5), epsilon=4.0).simulate([100, 200, 300, 900, 500], seed=1).estimate().calibrate()
    >>> cal.percentile(50)
    Quantity(value=4.0, low=4.0, high=4.0, level=0.9)
    """

    starts: Vector
    ends: Vector
    in_order: ClassVar[bool] = True

    if TYPE_CHECKING:

        def interval(self, level: float = INTERVALS) -> tuple[Vector, Vector]: ...

        @property
        def frequencies(self) -> Vector: ...
        @property
        def n(self) -> int: ...
        @property
        def _posterior(self) -> AnyPosterior: ...

    def mean(self, level: float = INTERVALS) -> Quantity:
        """The mean of the people who gave a number. The mean of a bin is its middle."""
        return self.ordered.mean(checked_level(level))

    def percentile(self, percent: float, level: float = INTERVALS) -> Quantity:
        """The number that `percent` of the people who gave a number do not exceed; 50 is the median.

        Inside a bin people are taken as spread evenly, but the interval ends where bins do.
        """
        return self.ordered.percentile(checked_percent(percent), checked_level(level))

    def share_between(self, low: float, high: float, level: float = INTERVALS) -> Quantity:
        """The share of all people who reported a number from `low` to `high`, both included: from 0 to 1.

        A range of bins begins where a bin begins and ends where one ends. Of bins over whole numbers, such as
        [5, 10), the end may also be given as its last whole number, 9. The ends of the interval are whole people:
        otherwise one that begins at a thousandth of a person would not hold a range that nobody is in.
        """
        found = self.ordered.amount(*self._range(low, high), checked_level(level))
        ends = math.floor(found.low + _NEARLY_WHOLE), math.ceil(found.high - _NEARLY_WHOLE)
        value, low_end, high_end = np.clip([found.value, *ends], 0, self.n).tolist()
        return Quantity(value / self.n, min(low_end, value) / self.n, max(high_end, value) / self.n, found.level)

    def summary(self, level: float = INTERVALS) -> dict[str, Quantity]:
        """The mean, the median and four percentiles around it, with their intervals."""
        around = {f"{percent}th percentile": self.percentile(percent, level) for percent in _SUMMED_UP}
        return {"mean": self.mean(level), "median": self.percentile(50, level), **around}

    @cached_property
    def ordered(self) -> OrderedCells:
        """The posterior, asked about cells that have an order."""
        return OrderedCells(self._posterior.linear, self.frequencies, self.starts, self.ends)

    def _range(self, low: Any, high: Any) -> tuple[int, int]:
        """The first and the last cell of a range."""
        sentence = "a range on a scale goes from one number to another"
        first, last = checked_number(low, sentence), checked_number(high, sentence)
        if math.isnan(first) or math.isnan(last) or first > last:
            raise InvalidInputError(f"{sentence} that is not smaller, not from {shown(low)} to {shown(high)}")
        begin, end = self._begins(first), self._ends(last)
        if first > self.ends[-1] or last < self.starts[0]:
            raise InvalidInputError(
                f"the range from {first:g} to {last:g} lies outside of the scale, which goes from {self.starts[0]:g} "
                f"to {self.ends[-1]:g}: people beyond its ends were counted as the ends"
            )
        if begin is None or end is None or begin > end:
            cut = first if begin is None else last
            raise InvalidInputError(
                f"the range from {first:g} to {last:g} cuts a cell of the scale at {cut:g}: give numbers at which "
                f"cells begin and end, such as {self.starts[0]:g} and {self.ends[-1]:g}"
            )
        return begin, end

    def _begins(self, number: float) -> int | None:
        """The cell that begins here; the first one for any number below the scale."""
        if number <= self.starts[0]:
            return 0
        place = int(np.searchsorted(self.starts, number))
        return place if place < self.starts.size and self.starts[place] == number else None

    def _ends(self, number: float) -> int | None:
        """The cell that ends here; the last one for any number above the scale."""
        if number >= self.ends[-1]:
            return self.ends.size - 1
        place = int(np.searchsorted(self.ends, number))
        of_whole_numbers = not (self.ends % 1).any() and not (self.starts % 1).any()
        if self.ends[place] == number or (of_whole_numbers and self.ends[place] == number + 1 > self.starts[place] + 1):
            return place
        return None


@dataclass(frozen=True, eq=False, repr=False)
class OnScale(Placed, Calibrated):
    """Calibrated frequencies of a scale."""

    starts: Vector = field(kw_only=True)
    ends: Vector = field(kw_only=True)

    @classmethod
    def of(cls, calibrated: Calibrated, starts: Vector, ends: Vector) -> Self:
        """The calibrated frequencies of cells that begin and end here."""
        same = {one.name: getattr(calibrated, one.name) for one in fields(Calibrated)}
        return cls(**same, starts=starts, ends=ends)


def checked_percent(percent: Any) -> float:
    """A percentile that may be asked for, or an error."""
    asked = checked_number(percent, "a percentile is a number between 0 and 100, such as 50 for the median")
    if not 0 < asked < 100:
        raise InvalidInputError(f"a percentile is above 0 and below 100, such as 50 for the median, not {asked:g}")
    return asked
