"""What analysts ask, read from the parameters of a web address. What cannot be read is one plain sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Self

from localdp.errors import InvalidInputError
from localdp.estimate.frequencies import INTERVALS
from localdp.hitters.rules import RULES
from localdp.priors import PRIORS
from localdp.reading import number, one_of, share, threshold, whole_number
from localdp.validation import checked_level

Parameters = Mapping[str, str] | Iterable[tuple[str, str]]
"""The parameters of an address: a mapping, or pairs of names and values in which a name may be repeated."""

FORMATS = ("json", "csv", "arrow")
PERIODS = ("day", "week")
SUSPECTS = ("out", "in")
"""Whether reports that look forged are left out, or counted."""
ASKED_BY_NAME = tuple(name for name in PRIORS if name not in ("fixed", "opt-in"))
"""The priors that need nothing but their name."""

MOST_OF_TOP = 1_000
"""The largest number of top items: the probability of each takes seconds to compute where there are more."""

MOST_ITEMS = 100
"""The largest number of items whose history can be asked for at once."""

_ESTIMATES = ("from", "to", "prior", "top", "threshold", "rule", "fdr", "level", "format", "suspects")
_FEW = 10  # items of a history, unless others are asked for
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class EstimatesQuery:
    """Which estimates are asked for: the range of UTC days (both ends belong to it), the prior, the items, the format.

    `top` and `threshold` narrow the answer to the most frequent items, or to the heavy hitters; without them it has all
    items. `level` is the probability with which an interval holds the true frequency.

    >>> EstimatesQuery.read({"from": "2026-11-01", "threshold": "0.5%"}).threshold
    '0.5%'
    >>> EstimatesQuery.read({"top": "many"})
    Traceback (most recent call last):
    ...
    localdp.errors.InvalidInputError: top is a whole number, not 'many'
    """

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

    @classmethod
    def read(cls, parameters: Parameters) -> Self:
        """Read the parameters that `_ESTIMATES` lists."""
        given = _once_each(parameters, _ESTIMATES)
        first, last = _days(given)
        limit = None
        if "threshold" in given or "rule" in given or "fdr" in given:
            limit = threshold(given.get("threshold"), "threshold")
        rule = one_of(given["rule"], "rule", RULES) if "rule" in given else None
        fdr = checked_level(share(given["fdr"], "fdr"), "fdr") if "fdr" in given else None
        if fdr is not None and rule not in (None, "fdr"):
            raise InvalidInputError(f"fdr belongs to rule=fdr, and rule={rule} was given: leave one of them out")
        kind = one_of(given.get("format", "json"), "format", FORMATS)
        if kind != "json" and "top" in given and limit is not None:
            raise InvalidInputError(
                f"format={kind} holds one table, and both top and threshold were given: leave one of them out, or ask "
                "for format=json"
            )
        top = whole_number(given.get("top"), "top")
        if top is not None and top > MOST_OF_TOP:
            raise InvalidInputError(f"top is at most {MOST_OF_TOP:,}, not {top}: leave it out to get all items")
        suspects = one_of(given.get("suspects", SUSPECTS[0]), "suspects", SUSPECTS) == SUSPECTS[1]
        return cls(first, last, _prior(given), top, limit, rule, fdr, _level(given), kind, suspects)


@dataclass(frozen=True)
class HistoryQuery:
    """Which history is asked for: by day or by ISO week, of these items or else of the most frequent ones.

    >>> HistoryQuery.read([("by", "week"), ("item", "tea"), ("item", "milk")]).items
    ('tea', 'milk')
    """

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
    def read(cls, parameters: Parameters) -> Self:
        """Read the parameters `by`, `from`, `to`, `item` (repeated for each), `top`, `prior`, `level` and `format`."""
        pairs = _pairs(parameters)
        items = tuple(dict.fromkeys(value for name, value in pairs if name == "item"))
        given = _once_each(
            [(name, value) for name, value in pairs if name != "item"],
            ("by", "from", "to", "top", "prior", "level", "format"),
            "item",
        )
        if items and "top" in given:
            raise InvalidInputError("top chooses the most frequent items, and item names them: leave one of them out")
        top = whole_number(given.get("top"), "top") or _FEW
        if max(len(items), top) > MOST_ITEMS:
            raise InvalidInputError(f"a history shows at most {MOST_ITEMS} items at once, not {max(len(items), top)}")
        first, last = _days(given)
        by = one_of(given.get("by", "day"), "by", PERIODS)
        kind = one_of(given.get("format", "json"), "format", FORMATS)
        return cls(by, first, last, items, top, _prior(given), _level(given), kind)


def _pairs(parameters: Parameters) -> list[tuple[str, str]]:
    return list(parameters.items() if isinstance(parameters, Mapping) else parameters)


def _once_each(parameters: Parameters, known: Sequence[str], *repeatable: str) -> dict[str, str]:
    """The value of each parameter; an error for one that is not known, or given twice."""
    given: dict[str, str] = {}
    for name, value in _pairs(parameters):
        if name not in known:
            names = ", ".join((*known, *repeatable))
            raise InvalidInputError(f"there is no parameter {name!r:.40}: there are {names}")
        if name in given:
            raise InvalidInputError(f"{name} was given twice: give it once")
        given[name] = value
    return given


def _days(given: Mapping[str, str]) -> tuple[date | None, date | None]:
    """The first and the last day of the range."""
    first, last = (_day(given[name], name) if name in given else None for name in ("from", "to"))
    if first is not None and last is not None and first > last:
        raise InvalidInputError(f"from is a day after to: {first} and {last}. Both days belong to the range")
    return first, last


def _day(text: str, name: str) -> date:
    try:
        if _DAY.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise InvalidInputError(f"{name} is a day in UTC, written as 2026-11-16, not {text!r:.40}")


def _prior(given: Mapping[str, str]) -> str:
    return one_of(given.get("prior", "auto"), "prior", ASKED_BY_NAME)


def _level(given: Mapping[str, str]) -> float:
    text = given.get("level")
    return INTERVALS if text is None else checked_level(number(text, "level", "a probability such as 0.95"), "level")
