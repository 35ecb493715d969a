"""The writer: one thread that stores everything, in groups.

A commit waits for the disk, for some milliseconds, however much it stores. So the writer takes all uploads that wait,
stores them in one transaction, and then wakes the requests that brought them; meanwhile the next group gathers. Other
changes (plans, tokens, counts) go through the same thread, each in a transaction of its own.

The reports of a group are checked together before they are stored: checking one costs as much as checking hundreds.

Nothing is answered before its transaction has ended. If the transaction fails, all requests of its group hear so, and
may send again: an upload that was stored after all is recognised by its id.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from localdp.collector.metrics import Metrics
from localdp.collector.notes import CURRENT, Note
from localdp.collector.quotas import Quotas
from localdp.collector.storage import Database, uploads, wordings
from localdp.collector.storage.database import FoldConflictError, NewUpload, Session, StorageError
from localdp.errors import LocalDPError

T = TypeVar("T")
Outcome = bool | None | Exception
"""Whether an upload was new, None if its plan is closed, or what went wrong."""

Check = Callable[[Sequence[NewUpload]], Mapping[int, Exception]]
"""Says which uploads of a group, by their places, hold what is not a report, and why."""

GROUP = 512
"""Uploads in one transaction, at most."""
GROUP_BYTES = 32 << 20
"""Bytes in one transaction, about: enough to keep a disk busy."""
_LOG_EVERY = 1.0  # seconds between two lines about transactions that failed
_log = logging.getLogger("localdp.collector")


class QueueFullError(LocalDPError):
    """More uploads wait for the disk than the collector is ready to hold."""


class Writer:
    """The thread, and the queue in front of it. `submit` is called by the event loop, `run` by any other thread."""

    def __init__(self, database: Database, check: Check, metrics: Metrics, most_waiting: int, quotas: Quotas) -> None:
        self._database = database
        self._check = check
        self._quotas = quotas
        self._metrics = metrics
        self._most_waiting = most_waiting
        self._uploads: deque[tuple[NewUpload, asyncio.Future[Outcome]]] = deque()
        self._jobs: deque[tuple[Callable[[Session], Any], Note | None, Future[Any]]] = deque()
        self._wake = threading.Condition()
        self._stopping = False
        self._idle = True
        self.failure: tuple[float, Exception] | None = None
        """When the last group of uploads failed, and why; None if it was stored."""
        self._logged_at, self._unlogged = -math.inf, 0
        self._thread = threading.Thread(target=self._work, name="localdp-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def waiting(self) -> int:
        return len(self._uploads)

    def submit(self, upload: NewUpload) -> asyncio.Future[Outcome]:
        """Queue an upload. The future is done when it is stored, or when storing it has failed."""
        if len(self._uploads) >= self._most_waiting or self._stopping:
            raise QueueFullError("too many uploads are waiting to be stored; send it again a little later")
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._uploads.append((upload, future))
        # Read without the lock: `_work` is idle before it looks at the queue, so one of the two sees the other.
        if self._idle:
            with self._wake:
                self._wake.notify()
        return future

    def run(self, job: Callable[[Session], T]) -> T:
        """Run a job in a transaction of its own, and return what it returns when that is on the disk."""
        return self.queue(job).result()

    async def call(self, job: Callable[[Session], T]) -> T:
        """`run`, for the event loop."""
        return await asyncio.wrap_future(self.queue(job))

    def queue(self, job: Callable[[Session], T]) -> Future[T]:
        """`run`, without waiting."""
        future: Future[T] = Future()
        with self._wake:
            if self._stopping:
                raise StorageError("the collector is stopping")
            self._jobs.append((job, CURRENT.get(), future))
            self._wake.notify()
        return future

    def stop(self) -> None:
        """Store what waits, and end the thread."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        while True:
            with self._wake:
                self._idle = True
                while not (self._uploads or self._jobs or self._stopping):
                    self._wake.wait()
                self._idle = False
                if self._stopping and not (self._uploads or self._jobs):
                    return
            if self._uploads:
                self._store_group()
            if self._jobs:
                self._run_job()

    def _store_group(self) -> None:
        group, size = [self._uploads.popleft()], 0
        while self._uploads and len(group) < GROUP and size < GROUP_BYTES:
            group.append(self._uploads.popleft())
            size += len(group[-1][0].body)
        started = time.perf_counter()
        outcomes: list[Outcome]
        try:
            outcomes = self._stored([upload for upload, _ in group])
        except Exception as error:
            outcomes = [error] * len(group)
            self._failed(error, len(group))
        else:
            self.failure = None
        self._metrics.observe("commit", time.perf_counter() - started)
        self._metrics.add("groups")
        loop = group[0][1].get_loop()
        answers = [(future, outcome) for (_, future), outcome in zip(group, outcomes, strict=True)]
        with suppress(RuntimeError):  # the loop is closed if the server was stopped without waiting for its requests
            loop.call_soon_threadsafe(_resolve, answers)

    def _failed(self, error: Exception, uploads: int) -> None:
        """Count and log a transaction that failed, in one line a second at most."""
        self._metrics.add("storage_errors")
        self._unlogged += 1
        now = time.monotonic()
        self.failure = (now, error)
        if now - self._logged_at >= _LOG_EVERY:
            trace = None if isinstance(error, StorageError) else error
            _log.error(
                "%d transactions failed; the last had %d uploads: %s", self._unlogged, uploads, error, exc_info=trace
            )
            self._logged_at, self._unlogged = now, 0

    def _stored(self, group: list[NewUpload]) -> list[Outcome]:
        """Store those of a group whose reports are valid; what became of each."""
        wrong = dict(self._check(group))
        if len(wrong) == len(group):
            return [wrong[place] for place in range(len(group))]
        try:
            with self._database.writing() as session:
                places = [place for place in range(len(group)) if place not in wrong]
                over = self._quotas.check(session, [group[place] for place in places])
                wrong |= {places[place]: error for place, error in over.items()}
                good = [group[place] for place in places if place not in wrong]
                outcomes = uploads.store(session, good) if good else []
                stored = [one for one, new in zip(good, outcomes, strict=True) if new]
                self._quotas.stored(session, stored)
                wordings.count(session, [one for one in stored if one.wording])
        except BaseException:
            self._quotas.forget()
            raise
        became = iter(outcomes)
        return [wrong[place] if place in wrong else next(became) for place in range(len(group))]

    def _run_job(self) -> None:
        job, note, future = self._jobs.popleft()
        if not future.set_running_or_notify_cancel():  # nobody waits for it any more
            return
        CURRENT.set(note)
        try:
            with self._database.writing() as session:
                result = job(session)
                if note is not None and not note.written:
                    note.write(session)
            if note is not None:
                note.written = True
        except Exception as error:
            if isinstance(error, StorageError) and not isinstance(error, FoldConflictError):
                self._failed(error, 0)
            future.set_exception(error)
        else:
            future.set_result(result)


def _resolve(answers: list[tuple[asyncio.Future[Outcome], Outcome]]) -> None:
    for future, outcome in answers:
        if not future.done():  # the sender may have gone away
            future.set_result(outcome)
