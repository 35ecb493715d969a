"""How frequencies moved: some items by UTC day or by ISO week, all periods estimated together.

What one period says helps its neighbours (`localdp.changes.history`), and the mean of the lines over all reports in
them is the table of those reports. Only periods that are shown are used: whoever reads the answer may see them.

A period with fewer reports than the plan's minimum is *withheld*: the answer has the period and its number of reports,
and no estimates. It is not merged with its neighbours, because then a point of the curve would stand for another
stretch of time than its label says, and for another one tomorrow. Weeks are there for plans whose days are thin. A
period without reports is a gap, which the answer lists too.

Days are released in blocks (`collector/releases.py`): most are a block by themselves, thin ones are released together
with others. A block that lies in several periods belongs to none of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Any

import numpy as np

from localdp.changes.history import Lines
from localdp.changes.refusals import repeated_outcomes, share_noise
from localdp.collector.answers.fitted import NUMBERS, Fit, Fitted, fit, merged
from localdp.collector.answers.queries import HistoryQuery
from localdp.collector.answers.released import Blocks, Released
from localdp.collector.answers.rendering import Answer, plain, without_apostrophe
from localdp.errors import InvalidInputError, UnknownItemError
from localdp.files.base import UNKNOWN
from localdp.files.csv import item_finder
from localdp.items import Item
from localdp.plan import Aggregate, Plan
from localdp.table import Table
from localdp.types import Places, Vector

MOST_PERIODS = 1_000
"""The largest number of periods in one history."""

ESTIMATED, WITHHELD, EMPTY = "estimated", "withheld", "no reports"

_ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, eq=False)
class Period:
    """One day, or the days of one ISO week that lie in the range, with what its reports say."""

    name: str
    first: date
    last: date
    n: int
    numbers: dict[str, Vector] | None
    """The estimates of the chosen items; None if there are no reports, or fewer than the minimum."""

    @property
    def status(self) -> str:
        """Whether the period is estimated, withheld, or without reports."""
        if self.numbers is not None:
            return ESTIMATED
        return WITHHELD if self.n else EMPTY


@dataclass(frozen=True, eq=False)
class HistoryAnswer(Answer):
    """The periods in order, and the estimates of the chosen items in each of them."""

    plan: Plan
    query: HistoryQuery
    minimum: int
    places: Places
    """The indices of the items: in the order asked for, or the most frequent first."""
    periods: tuple[Period, ...]
    doubts: tuple[str, ...] = ()
    """What a reader should know of the lines."""

    @property
    def items(self) -> list[Item]:
        return [self.plan.domain.items[place] for place in self.places.tolist()]

    @cached_property
    def _numbers(self) -> list[dict[str, Vector]]:
        """For each period, the estimates of the chosen items."""
        nothing = dict.fromkeys(NUMBERS, np.full(self.places.size, np.nan))
        return [nothing if period.numbers is None else period.numbers for period in self.periods]

    def overview(self) -> Table:
        """The periods: their names and days, their numbers of reports, and whether they are estimated."""
        columns = {
            "period": [period.name for period in self.periods],
            "from": [period.first.isoformat() for period in self.periods],
            "to": [period.last.isoformat() for period in self.periods],
            "n": np.array([period.n for period in self.periods], np.int64),
            "status": [period.status for period in self.periods],
        }
        return Table(columns, f"{len(self.periods):,} periods")

    @property
    def remarks(self) -> tuple[str, ...]:
        """Whether periods share people, and how many are withheld."""
        withheld = sum(period.status == WITHHELD for period in self.periods)
        some = "1 period is" if withheld == 1 else f"{withheld:,} periods are"
        few = (f"{some} withheld: a period is shown from {max(self.minimum, 1):,} reports on",) if withheld else ()
        return (*self.doubts, *few)

    def table(self) -> Table:
        """One row for each period and item; numbers that are not estimated are NaN."""
        count, overview = len(self.items), self.overview()
        columns: dict[str, Any] = {}
        for name, values in overview.columns.items():
            repeated = isinstance(values, np.ndarray)
            columns[name] = np.repeat(values, count) if repeated else [value for value in values for _ in range(count)]
        columns["item"] = self.items * len(self.periods)
        for name in NUMBERS:
            columns[name] = np.concatenate([numbers[name] for numbers in self._numbers])
        return Table(columns, f"{count} items in {overview.title}")

    def content(self) -> dict[str, Any]:
        """The answer as a JSON value. Each item has one list for each number, with null where nothing is estimated."""
        series = []
        for place, item in enumerate(self.items):
            found: dict[str, Any] = {"item": item}
            for name in NUMBERS:
                column = [float(numbers[name][place]) for numbers in self._numbers]
                found[name] = [None if np.isnan(value) else value for value in column]
            series.append(found)
        return {
            "plan": self.plan.fingerprint,
            "by": self.query.by,
            "level": self.query.level,
            "prior": self.query.prior,
            "minimum": self.minimum,
            "notes": list(self.remarks),
            "periods": plain(self.overview()),
            "series": series,
        }


def answer_history(plan: Plan, blocks: Blocks, asked: HistoryQuery, minimum: int, fit: Fit = fit) -> HistoryAnswer:
    """Answer how items moved, from the aggregates of blocks of days.

    Without a range in the query, it runs from the first to the last day with reports. If all days of the range together
    have fewer reports than `minimum`, that is a `TooFewReportsError`. `fit` may be a function that remembers what it
    has fitted.
    """
    inside = {block for block in blocks.days if all(_inside(day, asked) for day in block)}
    reported = {day: n for day, n in blocks.reported.items() if n and _inside(day, asked)}
    if not inside:
        Released.all_of(0, minimum).check()
    first, last = asked.first or min(reported), asked.last or max(reported)
    stretches, places = list(_stretches(first, last, asked.by)), _places(plan, asked.items)
    # Only now the counts are read: what is refused costs nothing.
    if not asked.items:
        whole = merged(plan, map(blocks.read, sorted(inside)))
        Released.all_of(whole.n, minimum).check()
        places = np.argsort(-fit(whole, asked.prior).calibrated.frequencies, kind="stable")[: asked.top]
    counted = []
    for _, start, end in stretches:
        own = [blocks.read(block) for block in sorted(inside) if start <= min(block) and max(block) <= end]
        aggregate = own[0] if len(own) == 1 else merged(plan, own)
        counted.append(aggregate if aggregate.n >= max(minimum, 1) else Aggregate(plan))
    lines, doubts = _lines(plan, counted, asked.prior, fit)
    periods = []
    for time, ((name, start, end), aggregate) in enumerate(zip(stretches, counted, strict=True)):
        n = aggregate.n or sum(number for day, number in reported.items() if start <= day <= end)
        numbers = None
        if aggregate.n and lines is not None:
            # What is known of all other items is not kept: it would be too much for many days.
            fitted = Fitted(plan, asked.prior, aggregate.estimate(), lines.calibrated(time, aggregate))
            none = dict.fromkeys(NUMBERS, np.full(places.size, np.nan))  # where there are no raw estimates
            numbers = {**none, **fitted.numbers(asked.level, places)}
        periods.append(Period(name, start, end, n, numbers))
    return HistoryAnswer(plan, asked, minimum, places, tuple(periods), doubts)


def _lines(plan: Plan, counted: list[Aggregate], prior: str, fit: Fit) -> tuple[Lines | None, tuple[str, ...]]:
    """How all items moved, and what to say about it; None if no period can be shown."""
    whole = merged(plan, counted)
    if whole.n == 0:
        return None, ()
    if not share_noise(counted):
        return Lines.of(counted, fit(whole, prior).calibrated), ()
    most = min(sum(period.n > 0 for period in counted), whole.n)
    shared = 0.0 if plan.mechanism.shows_raw else repeated_outcomes(counted)
    estimate = whole.estimate(reports_per_person=1 + shared * (most - 1) if shared else (1, most))
    note = "the same people reported in several periods, and their noise is the same in all: intervals know that"
    return Lines.of(counted, estimate.calibrate(prior, warn=False)), (note,)


def _inside(day: date, query: HistoryQuery) -> bool:
    return (query.first is None or query.first <= day) and (query.last is None or day <= query.last)


def _places(plan: Plan, items: tuple[str, ...]) -> Places:
    """The indices of items that are given as text; `UnknownItemError` for one that the plan does not have."""
    find = item_finder(plan.domain)
    places = [find(item) for item in items]
    places = [
        find(without_apostrophe(item)) if place == UNKNOWN else place for item, place in zip(items, places, strict=True)
    ]
    if UNKNOWN in places:
        unknown = items[places.index(UNKNOWN)]
        hint = plan.domain.near_miss(unknown)
        raise UnknownItemError(
            f"{unknown!r:.60} is not an item of this plan" + (f": {hint}" if hint else ": items are written as in CSV")
        )
    return np.array(places, np.intp)


def _stretches(first: date, last: date, by: str) -> Iterable[tuple[str, date, date]]:
    """The name, the first and the last day of each period of the range, in order."""
    length = (last - first).days + 1
    count = length if by == "day" else length // 7 + 2
    if count > MOST_PERIODS:
        other = "ask for fewer days, or for by=week" if by == "day" else "ask for fewer days"
        raise InvalidInputError(
            f"a history has at most {MOST_PERIODS:,} periods, and the range from {first} to {last} has about "
            f"{count:,}: {other}"
        )
    start = first
    while start <= last:
        end = start if by == "day" else min(start + timedelta(days=7 - start.isoweekday()), last)
        year, week, _ = start.isocalendar()
        yield start.isoformat() if by == "day" else f"{year}-W{week:02}", start, end
        if end == date.max:
            return
        start = end + _ONE_DAY
