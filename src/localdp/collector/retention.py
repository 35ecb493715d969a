"""Retention: the bodies of uploads can be dropped some days after they were counted.

The row of an upload stays, without its body, so that an upload that is sent again is still recognised. Aggregates stay.
Bodies are dropped a few at a time, so that uploads do not wait.
"""

from __future__ import annotations

import logging
import time

from localdp.collector.collections import day_of
from localdp.collector.storage import uploads
from localdp.collector.workers import Worker
from localdp.collector.writer import Writer

_PIECE = 1_000
_EVERY = 600.0
_log = logging.getLogger("localdp.collector")


class Retention:
    """Drops bodies older than `keep_days` days; with None it drops nothing."""

    def __init__(self, writer: Writer, keep_days: int | None) -> None:
        self._writer, self._keep_days = writer, keep_days
        self.worker = Worker("retention", self._look, _EVERY, threads=0 if keep_days is None else 1, at_once=True)

    def drop(self, now: float | None = None) -> int:
        """Drop the bodies that are old enough now; return how many there were."""
        if self._keep_days is None:
            return 0
        before = day_of(time.time() if now is None else now) - self._keep_days
        dropped = 0
        while not self.worker.stopping:
            done = self._writer.run(lambda session: uploads.drop_bodies(session, before, _PIECE))
            dropped += done
            if done < _PIECE:
                break
        return dropped

    def _look(self) -> bool:
        dropped = self.drop()
        if dropped:
            _log.info("dropped the bodies of %d counted uploads", dropped)
        return False
