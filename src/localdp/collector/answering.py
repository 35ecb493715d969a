"""Answers to analysts: aggregates are read, merged over the days that were asked for, and what was fitted is kept.

Fitting a prior takes most of the time. What was fitted is kept under the counts behind it, so it is used until one of
the days changes. Two requests about one collection are fitted one after the other, and the second one finds it done.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from datetime import date, timedelta
from typing import Any

from localdp.collector.answers import (
    EstimatesQuery,
    Fitted,
    HistoryQuery,
    Remembering,
    Rendered,
    answer_estimates,
    answer_history,
    answer_prior,
    answer_progress,
    check_enough,
)
from localdp.collector.collections import Collection
from localdp.collector.folding import Folder
from localdp.collector.storage import Database, aggregates
from localdp.collector.storage.aggregates import Day
from localdp.collector.storage.database import Session
from localdp.plan import Aggregate

_EPOCH = date(1970, 1, 1)


class Answering:
    """Answers queries about collections. Threads may share it."""

    def __init__(self, database: Database, folder: Folder, patience: float) -> None:
        self._database, self._folder, self._patience = database, folder, patience
        self._fit = Remembering()
        self._one_at_a_time: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)

    def estimates(self, collection: Collection, query: EstimatesQuery) -> Rendered:
        """The estimates of a range of days, in the format that was asked for."""
        self._count(collection)
        with self._database.reading() as session:
            days = _days(session, collection, query.first, query.last)
            check_enough(sum(day.n for day in days), collection.terms.minimum)
            whole = _merged(session, collection, days)
        with self._one_at_a_time[collection.id]:
            fitted = self._fit(whole, query.prior)
        minimum, suspect = collection.terms.minimum, sum(day.suspect for day in days)
        return answer_estimates(whole, query, minimum=minimum, suspect=suspect, fitted=fitted).render()

    def history(self, collection: Collection, query: HistoryQuery) -> Rendered:
        """How items moved, by day or by week."""
        self._count(collection)
        with self._database.reading() as session:
            days = _days(session, collection, query.first, query.last)
            check_enough(sum(day.n for day in days), collection.terms.minimum)
            by_date = {_EPOCH + timedelta(days=day.day): _merged(session, collection, [day]) for day in days}
        minimum = collection.terms.minimum

        def fit(aggregate: Aggregate, prior: str) -> Fitted:
            with self._one_at_a_time[collection.id]:  # for one period: other questions need not wait for all of them
                return self._fit(aggregate, prior)

        return answer_history(collection.plan, by_date, query, minimum=minimum, fit=fit).rendered(query.format)

    def prior(self, collection: Collection) -> dict[str, Any]:
        """The fitted prior against the raw estimates of all days."""
        self._count(collection)
        with self._database.reading() as session:
            days = _days(session, collection, None, None)
            check_enough(sum(day.n for day in days), collection.terms.minimum)
            whole = _merged(session, collection, days)
        with self._one_at_a_time[collection.id]:
            return answer_prior(self._fit(whole, "auto"))

    def progress(self, collection: Collection, reports: int, suspect: int) -> dict[str, Any]:
        """How far a collection is, and what more reports would give."""
        terms = collection.terms
        return answer_progress(collection.plan, reports, minimum=terms.minimum, suspect=suspect).document()

    def _count(self, collection: Collection) -> None:
        """Count what waits, as far as there is time, so that an answer holds what was sent before it was asked for."""
        self._folder.fold_all(collection, time.monotonic() + self._patience)


def _days(session: Session, collection: Collection, first: date | None, last: date | None) -> list[Day]:
    """The days of the range that have reports."""
    low = -(2**40) if first is None else (first - _EPOCH).days
    high = 2**40 if last is None else (last - _EPOCH).days
    return [day for day in aggregates.days(session, collection.where) if low <= day.day <= high]


def _merged(session: Session, collection: Collection, days: list[Day]) -> Aggregate:
    n, counts = aggregates.merged(session, collection.where, days, collection.plan.domain.size)
    return Aggregate(collection.plan, counts, n)
