"""A number on a scale: ratings, ages, minutes, prices. Its cells have an order."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from localdp.domain import Domain
from localdp.errors import InvalidInputError, UnknownItemError
from localdp.frozen import read_only
from localdp.held import Held, OneEach
from localdp.items import Item
from localdp.questions.base import NO_ANSWER, Question, Words
from localdp.questions.numbers import has_comma, numbers_of
from localdp.validation import LARGEST_EXACT_INTEGER, shown

if TYPE_CHECKING:
    from localdp.estimate.calibrated import Calibrated
    from localdp.structures import Structure

MOST_CELLS = 1 << 16
"""The most cells of a scale. Devices get scales from elsewhere, and a short document must not fill their memory."""

_MOST_DECIMALS = 6


class Scale(Question):
    """Which number from `low` to `high`?

    With a step of 1 between whole numbers, the cells are the whole numbers: `Scale(1, 5)` has 1, 2, 3, 4 and 5. With
    any other step they are bins: `Scale(0, 120, step=5)` has [0, 5), [5, 10), .., and the last one, [115, 120], has
    its end too. A number counts for the cell that begins at or below it (an age of 17.9 is 17), and a number beyond
    the ends counts as the end.

    `other` names one more cell, for every value that is missing or no number; it is not part of the order.

    >>> Scale(1, 5, other="no answer").read([1, 5, 99, None]).items.tolist()
    [0, 4, 4, 5]
    >>> Scale(0, 15, step=5).cells.items
    ('0 to 5', '5 to 10', '10 to 15')
    """

    name = "scale"
    words = Words(answer="one number", example="37")

    def __init__(self, low: float, high: float, step: float = 1, other: str | None = None) -> None:
        ends = [_exact(number) for number in (low, high, step)]
        unit = 10 ** max(decimals for _, decimals in ends)
        first, last, width = (round(number * unit) for number, _ in ends)
        if max(abs(first), abs(last)) > LARGEST_EXACT_INTEGER:
            raise InvalidInputError(
                f"the ends of a scale have at most 15 digits, unlike {shown(low)} and {shown(high)}"
            )
        self.low, self.high, self.step = (_plain(number) for number, _ in ends)
        if first >= last or width <= 0 or (last - first) % width:
            left = (last - first) % width if 0 < width < last - first else 0
            hint = f"; a step ends at {_plain((last - left) / unit)}" if left else ""
            raise InvalidInputError(
                f"a scale goes up from low to high in equal steps, such as Scale(0, 120, step=5), not from {self.low} "
                f"to {self.high} in steps of {self.step}{hint}"
            )
        self.whole = width == unit and first % unit == 0
        """Whether the cells are whole numbers. Otherwise they are bins."""
        self.ordered = (last - first) // width + self.whole
        """How many cells have an order: all but that of `other`."""
        if not 2 <= self.ordered <= MOST_CELLS:
            raise InvalidInputError(
                f"a scale has between 2 and {MOST_CELLS:,} cells, and this one has {self.ordered:,}: take another step"
            )
        # Whole numbers divided by a power of ten: the same floats in every language.
        edges = (first + width * np.arange(self.ordered + 1)) / unit
        self.starts = read_only(edges[:-1])
        """Where each ordered cell begins, and where it ends. A whole number begins and ends with itself."""
        self.ends = read_only(edges[:-1] if self.whole else edges[1:])
        labels: list[Item] = [_plain(start) for start in self.starts.tolist()]
        if not self.whole:
            labels = [f"{start} to {_plain(end)}" for start, end in zip(labels, self.ends.tolist(), strict=True)]
        if other is not None and (not isinstance(other, str) or other in labels):
            raise InvalidInputError(
                f"the answer for values that are missing or no number is a text that is no cell of the scale, such as "
                f"other='no answer', not {shown(other)}"
            )
        self.cells = Domain(labels, other)
        self._freeze()

    @property
    def other(self) -> str | None:
        """The cell for values that are missing or no number, if there is one. It comes last."""
        return None if self.cells.other is None else str(self.cells.other)

    def read(self, values: Any) -> Held:
        numbers = numbers_of(values)
        missing = np.isnan(numbers)
        if missing.any() and self.other is None:
            count = int(missing.sum())
            commas = " (numbers have a decimal point, and no commas)" if has_comma(values) else ""
            raise UnknownItemError(
                f"{count:,} of {numbers.size:,} values {'is' if count == 1 else 'are'} missing or no number{commas}; "
                f"give the scale a cell for them, as in Scale({self.low}, {self.high}, other='no answer'). Leaving "
                "such users out would tell that they have none"
            )
        places = np.clip(np.searchsorted(self.starts, numbers, side="right") - 1, 0, self.ordered - 1)
        return OneEach(np.where(missing, self.ordered, places).astype(np.int64))

    def taking_everything(self) -> Question:
        return self if self.takes_everything else Scale(self.low, self.high, self.step, NO_ANSWER)

    def typed(self, text: str) -> str:
        return text  # `read` takes numbers as text

    @cached_property
    def structure(self) -> Structure:
        from localdp.structures import Ordered  # devices need no statistics

        return Ordered(apart=0 if self.other is None else 1)

    def options(self) -> dict[str, Any]:
        return {"ordered": self.ordered}

    def result(self, calibrated: Calibrated) -> Calibrated:
        return calibrated.on_scale(self.starts, self.ends)

    def describe(self, where: str = "") -> str:
        cells = "whole numbers" if self.whole else f"{self.ordered:,} bins of {self.step}"
        rest = "" if self.other is None else f", and {self.other!r} for what is missing or no number"
        beyond = "numbers beyond these count as the nearer one"
        return f"{cells} from {self.low} to {self.high}{where} ({beyond}){rest}"

    def details(self) -> dict[str, Any]:
        given = {"low": self.low, "high": self.high, "step": self.step}
        return given if self.other is None else {**given, "other": self.other}

    @classmethod
    def from_details(cls, details: dict[str, Any]) -> Self:
        if set(details) - {"other"} != {"low", "high", "step"} or details.get("other", "") is None:
            raise TypeError("a scale has low, high, step and perhaps other")
        return cls(**details)


def _exact(number: Any) -> tuple[float, int]:
    """A number with few decimals, and how many it has."""
    counts = isinstance(number, int | float | np.integer | np.floating) and not isinstance(number, bool | np.bool_)
    if counts and abs(number) <= LARGEST_EXACT_INTEGER:  # a larger whole number may be no float at all
        for decimals in range(_MOST_DECIMALS + 1):
            scaled = float(number) * 10**decimals
            if abs(scaled) > LARGEST_EXACT_INTEGER:
                break
            if (found := round(scaled) / 10**decimals) == number:
                return found, decimals  # of float32 0.1, which has more digits as a float
    raise InvalidInputError(
        f"the ends and the step of a scale are numbers of at most 15 digits, {_MOST_DECIMALS} of them after the point, "
        f"not {shown(number)}"
    )


def _plain(number: float) -> int | float:
    """The number, without a point if it is whole."""
    return int(number) if number == int(number) else float(number)
