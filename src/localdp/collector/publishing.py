"""Publishing: what readers may see is kept in tables for those who read by SQL, and what has happened is told.

A thread looks at every study now and then. Where the counts, the words or the state have changed, it asks for the
result as a reader would: so the minimum, the releases and the suspects are respected here because they are there.
Trials are not published, nor are results of more than `MOST` rows, of which the routes have an answer anyway.

Things that happen are told in a feed, which others ask for. Webhooks would make the collector send requests to
addresses that somebody typed in, keep secrets for them, and try again; whoever polls needs none of that.

- `minimum`: a study has its first estimates.
- `changed`: items of a plan changed from one week, Monday to Sunday, to the next. Every pair of weeks is looked at
  once, and of the items that are named, at most one in twenty is named by mistake.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from datetime import date, timedelta
from typing import Any

from localdp.collector.answers.queries import DifferenceQuery
from localdp.collector.answers.results import FlatRow, as_text, flat_rows
from localdp.collector.collections import day_of, iso_moment
from localdp.collector.results import Results
from localdp.collector.storage import Database, aggregates, published
from localdp.collector.storage.collections import PLAN
from localdp.collector.storage.database import FoldConflictError, Session, Where
from localdp.collector.storage.published import Publication
from localdp.collector.studies import Kept, Studies
from localdp.collector.workers import Worker
from localdp.collector.writer import Writer
from localdp.errors import InvalidInputError, LocalDPError, TooFewReportsError

MOST = 50_000
"""Rows of one study."""
_NAMED = 5  # items that an event names
_WRONG = 0.05
_log = logging.getLogger("localdp.collector")


class Publishing:
    """The thread that publishes. With `every` 0 there is none."""

    def __init__(
        self,
        database: Database,
        writer: Writer,
        studies: Studies,
        results: Results,
        every: float,
    ) -> None:
        self._database, self._writer, self._studies, self._results = database, writer, studies, results
        self._seen: dict[int, str] = {}
        self.worker = Worker("publishing", self.publish, every, threads=1 if every else 0)

    def publish(self, now: float | None = None) -> bool:
        """Publish what has changed, of all studies."""
        moment = time.time() if now is None else now
        for kept in self._studies.every():
            if self.worker.stopping:
                break
            if kept.terms.trial_of is not None or kept.terms.draft or (kept.study.goes_on and not kept.study.done):
                continue
            try:
                self._publish(kept, moment)
            except LocalDPError as error:  # it can wait, and the others must go on
                _log.warning("a study could not be published: %s", error)
            except Exception:  # a mistake with one study is not to stop the others
                _log.exception("a study could not be published")
        return False

    def _publish(self, kept: Kept, now: float) -> None:
        state = self._state(kept, now)
        if self._seen.get(kept.id) == state:
            return
        with self._database.reading() as session:
            before = published.find(session, kept.id)
        try:
            n, tables, notes = self._results.of(kept)
        except TooFewReportsError:
            if before is not None:
                self._writer.run(lambda session: published.withdraw(session, kept.id))
        else:
            self._put(kept, before, list(flat_rows(tables)), n, notes, now)
            self._compare(kept, now)
        self._seen[kept.id] = state  # that before: what is counted meanwhile must be noticed the next time

    def _put(
        self, kept: Kept, before: Publication | None, lines: list[FlatRow], n: int, notes: tuple[str, ...], now: float
    ) -> None:
        if len(lines) > MOST:
            lines, notes = [], (f"more than {MOST:,} rows, which are not published: ask the collector for them", *notes)
        terms = kept.terms
        digest = hashlib.sha256(repr((lines, n, notes, terms.title, terms.question)).encode()).hexdigest()
        if before is not None and before.digest == digest:
            return
        words = (terms.title, terms.question, terms.survey, "\n".join(notes))
        week = _week(now) if before is None else before.week
        made = Publication(kept.id, iso_moment(now), n, *words, digest, week)

        def job(session: Session) -> None:
            found = _alone(session, kept)
            if found is not None and found.digest == digest:
                return
            published.publish(session, made, lines)
            if found is None:
                sentence = f"{_called(kept)} has its first estimates, from {n:,} reports"
                published.happened(session, kept.id, int(now), "minimum", sentence)

        self._writer.run(job)

    def _compare(self, kept: Kept, now: float) -> None:
        """Tell what changed in the last whole week, once."""
        with self._database.reading() as session:
            found = published.find(session, kept.id)
        if found is None or kept.kind != PLAN or found.week >= _week(now):
            return
        monday = date.fromordinal(_week(now) * 7 + 1)
        weeks = [(monday - timedelta(days=days), monday - timedelta(days=days - 6)) for days in (14, 7)]
        sentence = None
        try:
            query = DifferenceQuery(weeks[0], weeks[1], fdr=_WRONG)
            answer = self._results.answering.difference(self._results.collections.by_part(kept.id), query)
            sentence = _changed(json.loads(answer.body))
        except InvalidInputError:
            pass  # one of the weeks had too few reports, or both have the same people's: there is nothing to tell

        def job(session: Session) -> None:
            there = _alone(session, kept)
            if there is None or there.week >= _week(now):
                return
            published.compared(session, kept.id, _week(now))
            if sentence is not None:
                published.happened(session, kept.id, int(now), "changed", f"{_called(kept)}: {sentence}")

        self._writer.run(job)

    def _state(self, kept: Kept, now: float) -> str:
        """What tells whether something may be new: the counts, the words, the study, and the week."""
        with self._database.reading() as session:
            rows = [row for part in kept.parts for row in aggregates.days(session, Where(kept.id, part.key))]
        return repr((rows, kept.step, kept.closed, _week(now)))


def _alone(session: Session, kept: Kept) -> Publication | None:
    """What is published of a study, which no other collector on this database can change until the transaction ends."""
    if not session.try_lock(kept.id):
        raise FoldConflictError("another collector counts, releases or publishes this study")
    return published.find(session, kept.id)


def _changed(answer: dict[str, Any]) -> str | None:
    """A sentence about the items that changed; None if none did."""
    items = answer["items"]
    rows = zip(items["item"], items["change"], items["changed"], strict=True)
    found = [f"{as_text(item)} {100 * change:+.1f} points" for item, change, listed in rows if listed]
    if not found:
        return None
    more = f", and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"changed in the week to {answer['after']['to']}: {', '.join(found[:_NAMED])}{more}"


def _called(kept: Kept) -> str:
    return kept.terms.title or kept.terms.question or kept.name


def _week(now: float) -> int:
    """The number of the week of a moment; weeks begin on Mondays, in UTC."""
    return (date(1970, 1, 1).toordinal() + day_of(now) - 1) // 7
