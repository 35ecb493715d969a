"""Folding: uploads that are stored become part of the aggregate of their part and day, exactly once.

Threads look for uploads that are not counted, count a piece of them outside any transaction, and let the writer add the
counts and mark the uploads in one transaction. If one of them was marked in the meantime, by another collector on the
same database, the transaction is undone and nothing was counted. After a restart they go on where the marks end.

Every part is counted by itself, so one that takes long keeps nobody waiting but those who ask about it, and these only
until their deadline: then they get what is counted, and are told since when. Pieces are so small that counting one
takes about a second; under a mechanism that compares every report with every item, they hold few reports.

Uploads are also tested for forgery (`localdp.forgery.uploads`, at a rate of one false alarm in 1e9 uploads at most).
One that looks forged is set aside: it is counted apart, and its verdict is kept with it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from localdp.collector.checking import stored_reports
from localdp.collector.collections import Collection, Collections
from localdp.collector.metrics import Metrics
from localdp.collector.storage import Database, aggregates, uploads
from localdp.collector.storage.aggregates import COUNTED, SUSPECT
from localdp.collector.storage.database import DayOfUploads, FoldConflictError, Gathered, Session, StorageError, Where
from localdp.collector.workers import Worker
from localdp.collector.writer import Writer
from localdp.errors import LocalDPError
from localdp.forgery.uploads import verdicts
from localdp.plan import Aggregate, Plan, Reports
from localdp.types import Counts

PIECE = 20_000
"""Uploads that are counted at once, at most."""
PIECE_BYTES = 32 << 20
"""Bytes that are counted at once, about."""
PIECE_PAIRS = 1 << 29
"""Pairs of a report and an item that are looked at at once, about, where a mechanism looks at all of them."""
THREADS = 2
"""Threads that count, so that one long count does not stop all others."""
_LEAST_PIECE = 64
_LONG = 1.0  # seconds after which a piece was too large
_log = logging.getLogger("localdp.collector")


@dataclass(frozen=True, eq=False)
class CountedDay:
    """The counts of the uploads of a day: of those that look honest, and of those that do not (None if all do)."""

    honest: Aggregate
    aside: Aggregate | None
    verdicts: Counts
    """For each upload, how many of its reports look forged."""


class Folder:
    """The threads that count. `fold_all` is called from other threads too, for an answer that is up to date."""

    def __init__(
        self, database: Database, writer: Writer, collections: Collections, metrics: Metrics, every: float
    ) -> None:
        self._database, self._writer, self._collections, self._metrics = database, writer, collections, metrics
        self._one_at_a_time: defaultdict[tuple[int, str], threading.Lock] = defaultdict(threading.Lock)
        self._pieces: defaultdict[tuple[int, str], int] = defaultdict(lambda: PIECE)
        self._complete: dict[tuple[int, str], float] = {}
        self.worker = Worker("folder", self.round, every, threads=THREADS)

    def round(self) -> bool:
        """Count a piece of every part that has uploads waiting; return whether more are waiting."""
        behind = False
        try:
            with self._database.reading() as session:
                waiting = uploads.parts_waiting(session)
        except LocalDPError as error:
            self._failed(error)
            return False
        for part in waiting:
            if self.worker.stopping:
                return False
            try:
                collection = self._collections.by_part(*part)
                if not collection.has_end:  # a round is counted once, when it ends
                    behind |= self.fold(collection, 0.0)
            except FoldConflictError:
                continue  # somebody else counts this part
            except Exception as error:  # one damaged part must not stop the counting of the others
                self._failed(error)
        return behind

    def fold_all(self, collection: Collection, deadline: float) -> bool:
        """Count what waits for one part now, until this moment of `time.monotonic`; False if something is left."""
        while time.monotonic() < deadline:
            try:
                if not self.fold(collection, max(0.001, deadline - time.monotonic())):
                    return True
            except FoldConflictError:
                time.sleep(0.02)  # another collector is at it
        return False

    def complete_at(self, collection: Collection) -> float | None:
        """The last moment, in seconds since 1970, at which nothing waited to be counted; None if never since start."""
        return self._complete.get((collection.id, collection.part))

    def fold(self, collection: Collection, patience: float) -> bool:
        """Count one piece of a part's uploads, if it is free within so many seconds; whether more may wait."""
        key = (collection.id, collection.part)
        if not self._one_at_a_time[key].acquire(timeout=patience):
            raise FoldConflictError("this part is being counted")
        try:
            started, now = time.perf_counter(), time.time()
            plan = collection.plan
            with self._database.reading() as session:
                piece = session.gather(*key, self._pieces[key], at_once(plan))
            if not piece.days:
                self._complete[key] = now
                return False
            # Never seeded: nobody may foresee which uploads are drawn to be tested whole.
            parts = [counted(plan, day, np.random.default_rng()) for day in piece.days]
            self._writer.run(lambda session: _count(session, piece, parts))
            took = time.perf_counter() - started
            self._pieces[key] = max(_LEAST_PIECE, piece.uploads // 2) if took > _LONG else PIECE
            self._metrics.observe("fold", took)
            self._metrics.add("uploads_folded", piece.uploads)
            if not piece.more:
                self._complete[key] = now
            return piece.more
        finally:
            self._one_at_a_time[key].release()

    def _failed(self, error: Exception) -> None:
        self._metrics.add("fold_errors")
        _log.error("uploads could not be counted, and stay for the next round: %s", error)


def at_once(plan: Plan) -> int:
    """How many reports of a plan are counted at once, about."""
    mechanism = plan.mechanism
    by_bytes = max(1, PIECE_BYTES // mechanism.report_bytes)
    return min(by_bytes, max(1, PIECE_PAIRS // mechanism.size)) if mechanism.counts_pairs else by_bytes


def counted(plan: Plan, day: DayOfUploads, random: np.random.Generator) -> CountedDay:
    """The counts of these uploads, and what is thought of each."""
    reports = stored_reports(day.rows, plan)
    if len(reports) != day.reports:
        raise StorageError(f"the uploads of day {day.day} hold {len(reports)} reports, and should hold {day.reports}")
    found = verdicts(plan.mechanism, reports.rows, day.sizes, random)
    if not found.any():
        return CountedDay(aggregated(plan, reports), None, found)
    forged = np.repeat(found > 0, day.sizes)
    parts = (Reports.of_checked_rows(plan, reports.rows[chosen]) for chosen in (~forged, forged))
    honest, aside = (aggregated(plan, part) for part in parts)
    return CountedDay(honest, aside, found)


def aggregated(plan: Plan, reports: Reports) -> Aggregate:
    """The counts of reports, of which a mechanism that looks at every pair gets a few at a time.

    In between, other threads have their turn, and a single processor does the work, so that others are left.
    """
    mechanism, step = plan.mechanism, at_once(plan)
    if not mechanism.counts_pairs:
        return plan.aggregate(reports)
    sums = np.zeros(mechanism.partial_size, np.int64)
    for start in range(0, len(reports), step):
        sums += mechanism.tally_partial(reports.rows[start : start + step], threads=1)
    return Aggregate(plan, mechanism.complete(sums, len(reports)), len(reports))


def _count(session: Session, piece: Gathered, parts: list[CountedDay]) -> None:
    """Mark uploads and add their counts, in the transaction of this session."""
    if not session.try_lock(piece.collection) or not session.mark(piece):
        raise FoldConflictError("another collector counts these uploads")
    for day, part in zip(piece.days, parts, strict=True):
        where = Where(piece.collection, piece.part, day.segment)
        for counts, standing in ((part.honest, COUNTED), (part.aside, SUSPECT)):
            if counts is not None and counts.n:
                aggregates.add(session, where, day.day, counts.n, counts.counts, standing=standing)
        for place in np.flatnonzero(part.verdicts).tolist():
            uploads.judge(session, int(day.seqs[place]), int(part.verdicts[place]), SUSPECT)
