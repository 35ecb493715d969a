"""Folding: uploads that are stored become part of the aggregate of their plan and day, exactly once.

A thread looks for uploads that are not counted, counts a piece of them outside any transaction, and lets the writer add
the counts and mark the uploads in one transaction. If one of them was marked in the meantime, by another collector on
the same database, the transaction is undone and nothing was counted. After a restart the thread goes on where the
marks end.

Uploads are also tested for forgery (`suspects.py`, at a rate of one false alarm in 1e9 uploads at most). Reports that
look forged are counted like all others, and their number is kept: analysts are warned.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass

import numpy as np

from localdp.collector.collections import Collection, Collections
from localdp.collector.metrics import Metrics
from localdp.collector.recount import reports_in
from localdp.collector.storage import Database, aggregates, uploads
from localdp.collector.storage.collections import PLAN
from localdp.collector.storage.database import DayOfUploads, FoldConflictError, Gathered, Session, StorageError, Where
from localdp.collector.suspects import suspect_reports
from localdp.collector.writer import Writer
from localdp.errors import LocalDPError
from localdp.plan import Aggregate, Plan

PIECE = 20_000
"""Uploads that are counted at once, at most."""
PIECE_BYTES = 32 << 20
"""Bytes that are counted at once, about."""
_REST = 20
_LONGEST_REST = 5.0  # seconds
_log = logging.getLogger("localdp.collector")


@dataclass(frozen=True)
class Folded:
    """What one piece of counting did: how many uploads, and whether more may wait."""

    uploads: int
    more: bool


class Folder:
    """The thread that counts. `fold` can be called from other threads too, for an answer that is up to date."""

    def __init__(
        self, database: Database, writer: Writer, collections: Collections, metrics: Metrics, every: float
    ) -> None:
        self._database, self._writer, self._collections, self._metrics = database, writer, collections, metrics
        self._every = every
        self._random = np.random.default_rng()
        self._one_at_a_time = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="localdp-folder", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread. What is not counted yet is counted after the next start."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        pause = self._every
        while not self._stopping.wait(pause):
            started = time.perf_counter()
            behind = self.round()
            pause = _rest(time.perf_counter() - started, self._every, behind=behind)

    def round(self) -> bool:
        """Count a piece of every plan that has uploads waiting; return whether more are waiting."""
        behind = False
        try:
            with self._database.reading() as session:
                waiting = uploads.parts_waiting(session)
        except LocalDPError as error:
            self._failed(error)
            return False
        for part in waiting:
            if self._stopping.is_set():
                return False
            try:
                collection = self._collections.by_part(*part)
                if collection.kind == PLAN:  # a round of a discovery is counted once, when it ends
                    behind |= self.fold(collection).more
            except FoldConflictError:
                continue  # another collector counts this plan
            except Exception as error:  # one damaged plan must not stop the counting of the others
                self._failed(error)
        return behind

    def fold_all(self, collection: Collection, deadline: float) -> bool:
        """Count what waits for one plan now, until this moment of `time.monotonic`; False if something is left."""
        while time.monotonic() < deadline:
            try:
                if not self.fold(collection).more:
                    return True
            except FoldConflictError:
                time.sleep(0.02)  # another collector is at it
        return False

    def fold(self, collection: Collection) -> Folded:
        """Count one piece of a plan's uploads."""
        with self._one_at_a_time:
            started = time.perf_counter()
            plan = collection.plan
            with self._database.reading() as session:
                most = max(1, PIECE_BYTES // plan.mechanism.report_bytes)
                piece = session.gather(collection.id, collection.part, PIECE, most)
            if not piece.days:
                return Folded(0, more=False)
            parts = [counted(plan, day, self._random) for day in piece.days]
            self._writer.run(lambda session: _count(session, piece, parts))
            self._metrics.observe("fold", time.perf_counter() - started)
            self._metrics.add("uploads_folded", piece.uploads)
            return Folded(piece.uploads, piece.more)

    def _failed(self, error: Exception) -> None:
        self._metrics.add("fold_errors")
        _log.error("uploads could not be counted, and stay for the next round: %s", error)


def _rest(took: float, every: float, *, behind: bool) -> float:
    """The seconds to rest after a round of counting that took so long."""
    # While much is waiting, two thirds of the time are left to those who upload. Otherwise rest much longer than it
    # took, because small pieces one after the other would cost more than they are worth. The first round compiles, and
    # can take many seconds: what comes in meanwhile must not wait for minutes.
    return min(2 * took, _LONGEST_REST) if behind else max(every, min(_REST * took, _LONGEST_REST))


def counted(plan: Plan, day: DayOfUploads, random: np.random.Generator) -> tuple[Aggregate, int]:
    """The counts of these uploads, and about how many of their reports look forged."""
    reports = reports_in(day.rows, plan)
    if len(reports) != day.reports:
        raise StorageError(f"the uploads of day {day.day} hold {len(reports)} reports, and should hold {day.reports}")
    return plan.aggregate(reports), suspect_reports(reports, day.sizes, random)


def _count(session: Session, piece: Gathered, parts: list[tuple[Aggregate, int]]) -> None:
    """Mark uploads and add their counts, in the transaction of this session."""
    if not session.try_lock(piece.collection) or not session.mark(piece):
        raise FoldConflictError("another collector counts these uploads")
    for day, (part, suspect) in zip(piece.days, parts, strict=True):
        where = Where(piece.collection, piece.part, day.segment)
        aggregates.add(session, where, day.day, part.n, part.counts, suspect)
