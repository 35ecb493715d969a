"""Quotas: how many bytes of uploads are stored of a collection, on a day, and in all; how many reports a round takes.

The writer asks before it stores. What is stored is noted in the same transaction, in the table `usage`, and is read
from there at the start and every few seconds after that, because other collectors may share the database. In between it
is counted here, so a single collector never stores more than a quota. Several together may go over by what they store
in these seconds.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence

from localdp.collector.problems import Problem
from localdp.collector.storage import Database, parts, usage
from localdp.collector.storage.database import NewUpload, Session

ROW_BYTES = 64
"""What an upload takes beside its body, about."""
ROUND_FACTOR = 10
"""A part of a study that waits for a number of reports takes this many times as many."""
_REMEMBERED = 5.0  # seconds for which what others store may be unknown
_SIZE_REMEMBERED = 1.0  # seconds for which the size of the database may have changed


class Quotas:
    """The limits in bytes, and what is taken of them. Only the writer's thread uses it; 0 means no limit."""

    def __init__(self, database: Database, a_day: int, a_collection: int, in_all: int) -> None:
        self._database = database
        self._a_day, self._a_collection, self._in_all = a_day, a_collection, in_all
        self._read_at = self._measured_at = -math.inf
        self._size = 0
        self._days: Counter[tuple[int, int]] = Counter()
        self._kept: Counter[int] = Counter()
        self._rounds: dict[tuple[int, str], tuple[int, int]] = {}

    def check(self, session: Session, uploads: Sequence[NewUpload]) -> dict[int, Exception]:
        """Which uploads of a group, by their places, would go over a quota."""
        self._refresh(session)
        wrong: dict[int, Exception] = {}
        days, kept, rounds, size = Counter[tuple[int, int]](), Counter[int](), Counter[tuple[int, str]](), 0
        for place, upload in enumerate(uploads):
            more, day, part = (
                len(upload.body) + ROW_BYTES,
                (upload.collection, upload.day),
                (upload.collection, upload.part),
            )
            most, taken = self._round(session, part)
            if self._in_all and self._size + size + more > self._in_all:
                wrong[place] = over("the database", "this collector")
            elif (
                self._a_collection
                and self._kept[upload.collection] + kept[upload.collection] + more > self._a_collection
            ):
                wrong[place] = over("this plan", "this plan")
            elif self._a_day and self._days[day] + days[day] + more > self._a_day:
                wrong[place] = over("this plan for today", "this plan today")
            elif most and taken + rounds[part] + upload.reports > most:
                wrong[place] = Problem(409, "round-full", "this round has all the reports that it takes")
            else:
                days[day] += more
                kept[upload.collection] += more
                rounds[part] += upload.reports
                size += more
        return wrong

    def stored(self, session: Session, uploads: Sequence[NewUpload]) -> None:
        """Note uploads that were new, in the transaction that stores them."""
        days: Counter[tuple[int, int]] = Counter()
        for upload in uploads:
            days[upload.collection, upload.day] += len(upload.body) + ROW_BYTES
            part = (upload.collection, upload.part)
            most, taken = self._rounds.get(part, (0, 0))
            if most:
                self._rounds[part] = (most, taken + upload.reports)
        for (collection, day), more in days.items():
            usage.add(session, collection, day, more)
            self._days[collection, day] += more
            self._kept[collection] += more
            self._size += more

    def forget(self) -> None:
        """Read everything anew: after a transaction that was undone, or when bodies were dropped."""
        self._read_at = -math.inf

    def _refresh(self, session: Session) -> None:
        now = time.monotonic()
        if now - self._read_at >= (_REMEMBERED if self._database.shared else 600.0):
            self._days, self._kept = Counter(usage.by_day(session)), Counter(usage.kept(session))
            self._rounds = {}
            self._read_at = now
        if self._in_all and now - self._measured_at >= _SIZE_REMEMBERED:
            self._size, self._measured_at = self._database.used(session), now

    def _round(self, session: Session, part: tuple[int, str]) -> tuple[int, int]:
        """How many reports a part takes (0 for all) and has."""
        if part not in self._rounds:
            needed, has = parts.filling(session, *part) if part[1] else (0, 0)
            self._rounds[part] = (needed * ROUND_FACTOR, has)
        return self._rounds[part]


def over(what: str, whose: str) -> Problem:
    """There is no room left for what was sent."""
    detail = f"the quota of {what} is full, so {whose} takes no more uploads for now"
    return Problem(507, "quota-full", detail, {"Retry-After": "600"})
