"""Answers to analysts: what is released is read, merged over the days that were asked for, and what was fitted is kept.

Fitting a prior takes most of the time. What was fitted is kept under the counts behind it, so it is used until one of
the days changes. Two requests about one collection are fitted one after the other, and the second one finds it done.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from localdp.collector.answers.difference import DifferenceAnswer
from localdp.collector.answers.estimates import EstimatesAnswer, SegmentsAnswer
from localdp.collector.answers.fitted import Fitted, Remembering, merged
from localdp.collector.answers.history import answer_history
from localdp.collector.answers.prior import answer_prior
from localdp.collector.answers.progress import ProgressAnswer
from localdp.collector.answers.queries import DifferenceQuery, EstimatesQuery, HistoryQuery
from localdp.collector.answers.released import Blocks, Released
from localdp.collector.answers.rendering import Rendered
from localdp.collector.collections import Collection, date_of, days_between, iso_moment
from localdp.collector.folding import Folder
from localdp.collector.problems import invalid
from localdp.collector.releases import block_of, by_days, release, segment_of, whole_blocks
from localdp.collector.storage import Database, aggregates
from localdp.collector.storage.aggregates import COUNTED, SUSPECT, Day
from localdp.collector.storage.database import FoldConflictError, Session
from localdp.collector.writer import Writer
from localdp.plan import Aggregate


@dataclass(frozen=True)
class Seen:
    """What readers see of a range of days: the rows of whole blocks, and the numbers behind them."""

    blocks: list[tuple[Day, ...]]
    suspects: list[tuple[Day, ...]]
    released: Released

    def days(self, *, suspects: bool = False) -> list[Day]:
        """The rows of all blocks, with those of reports that look forged or without."""
        return [day for block in (*self.blocks, *(self.suspects if suspects else ())) for day in block]


class Answering:
    """Answers queries about collections. Threads may share it."""

    def __init__(self, database: Database, writer: Writer, folder: Folder, patience: float) -> None:
        self._database, self._writer, self._folder, self._patience = database, writer, folder, patience
        self._fit = Remembering()
        self._one_at_a_time: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)

    def estimates(self, collection: Collection, query: EstimatesQuery) -> Rendered:
        """The estimates of a range of days, in the format that was asked for."""
        answer = self.answer if query.by is None else self.by_segment
        return answer(collection, query).rendered(query.format)

    def by_segment(self, collection: Collection, query: EstimatesQuery) -> SegmentsAnswer:
        """The estimates of every segment, each of which learns from the others how its people may be."""
        if not collection.terms.segments:
            raise invalid("this collection has no segments: they are listed when it is created")
        since = self._count(collection)
        with self._database.reading() as session:
            seen = _released(session, collection, query.first, query.last, since)
            blocks: dict[str, list[Day]] = defaultdict(list)
            for block in (*seen.blocks, *(seen.suspects if query.suspects else ())):
                blocks[segment_of(block)].extend(block)
            counted = {label: _merged(session, collection, days) for label, days in blocks.items()}
        made = []
        for label in (*collection.terms.segments, ""):
            if label not in counted:
                continue
            others = merged(collection.plan, (one for name, one in counted.items() if name != label))
            with self._one_at_a_time[collection.id]:
                fitted = self._fit(counted[label], query.prior, others if others.n else None, query.reports_per_person)
            n = counted[label].n
            released = replace(seen.released, shown=n, shown_with=n, suspect=0, held_back=0)
            made.append((label, EstimatesAnswer(query, fitted, released)))
        waiting = tuple(label for label in collection.terms.segments if label not in counted)
        return SegmentsAnswer(tuple(made), waiting)

    def answer(self, collection: Collection, query: EstimatesQuery) -> EstimatesAnswer:
        """The estimates of a range of days."""
        whole, released = self._whole(collection, query)
        with self._one_at_a_time[collection.id]:
            fitted = self._fit(whole, query.prior, reports=query.reports_per_person)
        return EstimatesAnswer(query, fitted, released)

    def _whole(self, collection: Collection, query: EstimatesQuery) -> tuple[Aggregate, Released]:
        """The counts of a range of days, of which some must be released; and the numbers behind them."""
        since = self._count(collection)
        with self._database.reading() as session:
            seen = _released(session, collection, query.first, query.last, since)
            return _merged(session, collection, seen.days(suspects=query.suspects)), seen.released

    def released(self, collection: Collection, segment: str | None = None) -> tuple[Aggregate, Released]:
        """The counts that readers may see, of all days, which may be none; and the numbers behind them.

        With a segment, those of its own blocks only.
        """
        since = self._count(collection)
        with self._database.reading() as session:
            seen = _seen(session, collection, None, None, since)
            if segment is None:
                return _merged(session, collection, seen.days()), seen.released
            days = [day for block in seen.blocks if segment_of(block) == segment for day in block]
            rows = aggregates.days(session, collection.where)
            held = sum(row.n for row in rows if row.standing == COUNTED and not row.released and row.segment == segment)
            return _merged(session, collection, days), replace(seen.released, held_back=max(0, held))

    def history(self, collection: Collection, query: HistoryQuery) -> Rendered:
        """How items moved, by day or by week."""
        since = self._count(collection)
        with self._database.reading() as session:
            rows = [row for row in aggregates.days(session, collection.where) if row.standing == COUNTED]
            seen = _released(session, collection, query.first, query.last, since)
        reported: dict[date, int] = defaultdict(int)
        for row in rows:
            reported[date_of(row.day)] += row.n
        blocks = {tuple(map(date_of, days)): names for days, names in by_days(seen.blocks).items()}

        def read(days: tuple[date, ...]) -> Aggregate:
            with self._database.reading() as session:  # the rows anew: they may have changed since, or be withdrawn
                rows = [row for row in aggregates.days(session, collection.where) if row.standing == COUNTED]
                inside = [row for row in rows if row.released and block_of(row) in blocks[days]]
                return _merged(session, collection, inside)

        def fit(aggregate: Aggregate, prior: str) -> Fitted:
            with self._one_at_a_time[collection.id]:  # for one period: other questions need not wait for all of them
                return self._fit(aggregate, prior)

        known = Blocks(tuple(blocks), read, reported)
        return answer_history(collection.plan, known, query, collection.terms.minimum, fit).rendered(query.format)

    def difference(self, collection: Collection, query: DifferenceQuery) -> Rendered:
        """What changed between two ranges of days, each of which must have enough reports."""
        since = self._count(collection)
        with self._database.reading() as session:
            everything = _released(session, collection, None, None, since)
            ranges = query.ranges(date_of(max(day.day for day in everything.days())))
            seen = [_released(session, collection, *days, since) for days in ranges]
            before, after = (_merged(session, collection, one.days()) for one in seen)
        with self._one_at_a_time[collection.id]:
            released = seen[0].released, seen[1].released
            return DifferenceAnswer(query, ranges, (before, after), released).rendered(query.format)

    def prior(self, collection: Collection) -> dict[str, Any]:
        """The fitted prior against the raw estimates of all days."""
        whole, _ = self._whole(collection, EstimatesQuery())
        with self._one_at_a_time[collection.id]:
            return answer_prior(self._fit(whole, "auto"))

    def progress(self, collection: Collection, reports: int, suspect: int) -> dict[str, Any]:
        """How far a collection is, and what more reports would give."""
        self._count(collection)
        with self._database.reading() as session:
            seen = _seen(session, collection, None, None, None)
        minimum, shown = collection.terms.minimum, seen.released.shown
        return ProgressAnswer(collection.plan, reports, minimum, suspect, shown).document()

    def _count(self, collection: Collection) -> float | None:
        """Count what waits, as far as there is time, and release what is due.

        So an answer holds what was sent before it was asked for, if there was enough of it. Returns None if all is
        counted, or else since when something is waiting.
        """
        deadline = time.monotonic() + self._patience
        complete = self._folder.fold_all(collection, deadline)
        with suppress(FoldConflictError):  # another collector releases it, or the next answer will
            release(self._database, self._writer, collection)
        if complete:
            return None
        return self._folder.complete_at(collection) or float(collection.created)


def _seen(session: Session, collection: Collection, first: date | None, last: date | None, since: float | None) -> Seen:
    """What readers see of a range of days."""
    low, high = days_between(first, last)
    rows = aggregates.days(session, collection.where)
    blocks, suspects = (whole_blocks(rows, low, high, standing) for standing in (COUNTED, SUSPECT))
    shown, more = (sum(day.n for block in some for day in block) for some in (blocks, suspects))
    inside = [row for row in rows if low <= row.day <= high]
    counted = sum(row.n for row in inside if row.standing == COUNTED)
    aside = sum(row.n for row in inside if row.standing == SUSPECT) + sum(row.suspect for row in inside)
    until = None if since is None else iso_moment(since)
    numbers = Released(collection.terms.minimum, shown, shown + more, aside, max(0, counted - shown), until)
    return Seen(blocks, suspects, numbers)


def _released(
    session: Session, collection: Collection, first: date | None, last: date | None, since: float | None
) -> Seen:
    """What readers see of a range of days; a `TooFewReportsError` if that is nothing."""
    seen = _seen(session, collection, first, last, since)
    seen.released.check()
    return seen


def _merged(session: Session, collection: Collection, days: Iterable[Day]) -> Aggregate:
    n, counts = aggregates.merged(session, collection.where, days, collection.plan.mechanism.outcomes)
    return Aggregate(collection.plan, counts, n)
