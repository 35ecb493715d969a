"""What analysts ask, read from the parameters of a web address. What cannot be read is one plain sentence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, ClassVar, Self

from localdp.collector.fields import BETWEEN_0_AND_1, FORMAT, FROM, TO, Parameter, Parameters, check_days, read_query
from localdp.errors import InvalidInputError
from localdp.estimate.frequencies import DISCOVERIES, INTERVALS
from localdp.hitters.rules import RULES
from localdp.priors import PRIORS
from localdp.reading import reports_range, threshold

PERIODS = ("day", "week")
SUSPECTS = ("out", "in")
"""Whether reports that look forged are left out, or counted."""
ASKED_BY_NAME = tuple(name for name in PRIORS if name not in ("fixed", "opt-in"))
"""The priors that need nothing but their name."""

MOST_OF_TOP = 1_000
"""The largest number of top items: the probability of each takes seconds to compute where there are more."""

MOST_ITEMS = 100
"""The largest number of items whose history can be asked for at once."""

_FEW = 10  # items of a history, unless others are asked for

_PRIOR = Parameter("prior", "The family of the prior.", {"enum": ASKED_BY_NAME, "default": "auto"})
LEVEL = Parameter(
    "level",
    "The probability with which an interval holds the true frequency.",
    {**BETWEEN_0_AND_1, "default": INTERVALS},
)
ESTIMATES = (
    FROM,
    TO,
    _PRIOR,
    Parameter("top", "Only the most frequent items.", {"type": "integer", "minimum": 1, "maximum": MOST_OF_TOP}),
    Parameter(
        "threshold",
        "Only heavy hitters: above this number of users, or share such as 0.5%.",
        {"type": "string", "minLength": 1, "pattern": r"^[0-9]+(\.[0-9]+)?%?$"},
        reader=threshold,
    ),
    Parameter("rule", "How heavy hitters are chosen.", {"enum": RULES}),
    Parameter("fdr", "With the rule fdr: the share of false ones among the hitters.", BETWEEN_0_AND_1),
    LEVEL,
    FORMAT,
    Parameter("suspects", "Whether reports that look forged are counted.", {"enum": SUSPECTS, "default": SUSPECTS[0]}),
    Parameter("by", "The same for each segment, and for the rest.", {"enum": ("segment",)}),
    Parameter(
        "reports_per_person",
        "How many reports each person has sent in this range of days: 7, or 1-7 if that is not known.",
        {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?(-[0-9]+(\.[0-9]+)?)?$"},
        reader=reports_range,
    ),
)
HISTORY = (
    Parameter("by", "By day, or by ISO week.", {"enum": PERIODS, "default": PERIODS[0]}),
    FROM,
    TO,
    Parameter("item", "An item to show, as it is written in CSV; may be repeated.", repeatable=True),
    Parameter("top", "The most frequent items.", {"type": "integer", "minimum": 1, "maximum": MOST_ITEMS}),
    _PRIOR,
    LEVEL,
    FORMAT,
)


_ONE_DAY = timedelta(days=1)
Days = tuple[date, date]
"""The first and the last day of a range; both belong to it."""


def days_of(text: str, name: str) -> Days:
    """A day, or a range of days, as text.

    >>> days_of("2026-11-01..2026-11-07", "before")
    (datetime.date(2026, 11, 1), datetime.date(2026, 11, 7))
    """
    first, between, last = text.partition("..")
    found = replace(FROM, name=name).read(first), replace(FROM, name=name).read(last if between else first)
    if found[0] > found[1]:
        raise InvalidInputError(f"the first day of {name} comes after the last one: {text!r:.40}")
    return found


_RANGE = {"type": "string", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(\.\.[0-9]{4}-[0-9]{2}-[0-9]{2})?$"}
DIFFERENCE = (
    Parameter(
        "before",
        "A day such as 2026-11-01, or a range such as 2026-11-01..2026-11-07; by default as many days just before.",
        _RANGE,
        reader=days_of,
    ),
    Parameter(
        "after", "The same for the days that are compared with it; the last seven by default.", _RANGE, reader=days_of
    ),
    Parameter("top", "Only the largest changes.", {"type": "integer", "minimum": 1, "maximum": MOST_OF_TOP}),
    Parameter(
        "fdr", "The share of false ones among the items listed as changed.", {**BETWEEN_0_AND_1, "default": DISCOVERIES}
    ),
    LEVEL,
    FORMAT,
)


class Query(ABC):
    """What is asked, from the values of the parameters that `known` lists."""

    known: ClassVar[tuple[Parameter, ...]]

    @classmethod
    def read(cls, parameters: Parameters) -> Self:
        """The query of these parameters of an address."""
        return cls.of(read_query(cls.known, parameters))

    @classmethod
    @abstractmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """The query of these values; an `InvalidInputError` for values that do not go together."""


@dataclass(frozen=True)
class DifferenceQuery(Query):
    """Which difference is asked for.

    >>> DifferenceQuery.read({"after": "2026-11-08..2026-11-14"}).ranges(date(2026, 11, 16))[0]
    (datetime.date(2026, 11, 1), datetime.date(2026, 11, 7))
    """

    known = DIFFERENCE
    before: Days | None = None
    after: Days | None = None
    top: int | None = None
    fdr: float = DISCOVERIES
    level: float = INTERVALS
    format: str = "json"

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        made = cls(**values)
        if made.before and made.after:
            made.ranges(made.after[1])
        return made

    def ranges(self, last: date) -> tuple[Days, Days]:
        """Both ranges, if reports came until this day; an `InvalidInputError` if they have days in common."""
        after = self.after or (last - timedelta(days=6), last)
        length, before = after[1] - after[0], self.before
        if before is None:
            if (after[0] - date.min) <= length:
                raise InvalidInputError("there are not as many days before after: give before, or a later after")
            before = after[0] - length - _ONE_DAY, after[0] - _ONE_DAY
        if before[0] <= after[1] and after[0] <= before[1]:
            both = f"before is {before[0]} to {before[1]}, and after is {after[0]} to {after[1]}"
            raise InvalidInputError(f"{both}: days in common would put the same reports on both sides")
        return before, after


@dataclass(frozen=True)
class EstimatesQuery(Query):
    """Which estimates are asked for: the range of UTC days (both ends belong to it), the prior, the items, the format.

    `top` and `threshold` narrow the answer to the most frequent items, or to the heavy hitters; without them it has all
    items. `level` is the probability with which an interval holds the true frequency.

    >>> EstimatesQuery.read({"from": "2026-11-01", "threshold": "0.5%"}).threshold
    '0.5%'
    >>> EstimatesQuery.read({"top": "many"})
    Traceback (most recent call last):
    ...
    localdp.errors.InvalidInputError: top is a whole number of at least 1, not 'many'
    """

    known = ESTIMATES
    first: date | None = None
    last: date | None = None
    prior: str = "auto"
    top: int | None = None
    threshold: float | str | None = None
    rule: str | None = None
    fdr: float | None = None
    level: float = INTERVALS
    format: str = "json"
    suspects: bool = False
    """Whether reports that look forged are counted too."""
    by: str | None = None
    """"segment" for one answer for each segment."""
    reports_per_person: tuple[float, float] = (1.0, 1.0)
    """The fewest and the most reports that each person has sent in this range."""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        given = dict(values)
        first, last = given.pop("from", None), given.pop("to", None)
        check_days(first, last)
        rule, fdr = given.get("rule"), given.get("fdr")
        if fdr is not None and rule not in (None, "fdr"):
            raise InvalidInputError(f"fdr belongs to rule=fdr, and rule={rule} was given: leave one of them out")
        if rule is not None or fdr is not None:
            given.setdefault("threshold", threshold(None, "threshold"))
        kind = given["format"]
        if kind != "json" and "top" in given and "threshold" in given:
            raise InvalidInputError(
                f"format={kind} holds one table, and both top and threshold were given: leave one of them out, or ask "
                "for format=json"
            )
        given["suspects"] = given["suspects"] == SUSPECTS[1]
        return cls(first, last, **given)


@dataclass(frozen=True)
class HistoryQuery(Query):
    """Which history is asked for: by day or by ISO week, of these items or else of the most frequent ones.

    >>> HistoryQuery.read([("by", "week"), ("item", "tea"), ("item", "milk")]).items
    ('tea', 'milk')
    """

    known = HISTORY
    by: str = "day"
    first: date | None = None
    last: date | None = None
    items: tuple[str, ...] = ()
    """The items as text, as they are written in a CSV file."""
    top: int = _FEW
    prior: str = "auto"
    level: float = INTERVALS
    format: str = "json"

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        given = dict(values)
        first, last = given.pop("from", None), given.pop("to", None)
        check_days(first, last)
        items = tuple(dict.fromkeys(given.pop("item")))
        if items and "top" in given:
            raise InvalidInputError("top chooses the most frequent items, and item names them: leave one of them out")
        if len(items) > MOST_ITEMS:
            raise InvalidInputError(f"a history shows at most {MOST_ITEMS} items at once, not {len(items)}")
        return cls(first=first, last=last, items=items, **given)
