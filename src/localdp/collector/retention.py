"""Retention: the bodies of uploads can be dropped some days after they were counted.

The row of an upload stays, without its body, so that an upload that is sent again is still recognised. Aggregates stay.
Bodies are dropped a few at a time, so that uploads do not wait.
"""

from __future__ import annotations

import logging
import threading
import time

from localdp.collector.collections import day_of
from localdp.collector.storage import uploads
from localdp.collector.writer import Writer
from localdp.errors import LocalDPError

_PIECE = 1_000
_EVERY = 600.0
_log = logging.getLogger("localdp.collector")


class Retention:
    """A thread that drops bodies older than `keep_days` days; with None it does nothing."""

    def __init__(self, writer: Writer, keep_days: int | None) -> None:
        self._writer, self._keep_days = writer, keep_days
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="localdp-retention", daemon=True)

    def start(self) -> None:
        """Start the thread, if there is something to do."""
        if self._keep_days is not None:
            self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def drop(self, now: float | None = None) -> int:
        """Drop the bodies that are old enough now; return how many there were."""
        if self._keep_days is None:
            return 0
        before = day_of(time.time() if now is None else now) - self._keep_days
        dropped = 0
        while not self._stopping.is_set():
            done = self._writer.run(lambda session: uploads.drop_bodies(session, before, _PIECE))
            dropped += done
            if done < _PIECE:
                break
        return dropped

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                dropped = self.drop()
                if dropped:
                    _log.info("dropped the bodies of %d counted uploads", dropped)
            except LocalDPError as error:
                _log.error("old uploads could not be dropped: %s", error)
            self._stopping.wait(_EVERY)
