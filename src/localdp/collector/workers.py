"""Threads that do one thing again and again: count uploads, end the parts of studies, drop old bodies."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

_REST = 20.0
_LONGEST_REST = 5.0  # seconds
_log = logging.getLogger("localdp.collector")


class Worker:
    """Threads that call `job` every so many seconds until they are stopped. It returns whether more is waiting.

    A job that takes long looks at `stopping` in between. One that fails is logged and called again later.
    """

    def __init__(
        self, name: str, job: Callable[[], bool], every: float, *, threads: int = 1, at_once: bool = False
    ) -> None:
        self._name, self._job, self._every = name, job, every
        self._first = 0.0 if at_once else every
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, name=f"localdp-{name}-{number}", daemon=True)
            for number in range(threads)
        ]

    @property
    def stopping(self) -> bool:
        """Whether the threads are to end."""
        return self._stopping.is_set()

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the threads. What they have not done is done after the next start."""
        self._stopping.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def _work(self) -> None:
        pause = self._first
        while not self._stopping.wait(pause):
            started, behind = time.perf_counter(), False
            try:
                behind = self._job()
            except Exception:  # the next time may succeed
                _log.exception("the thread %s failed, and goes on", self._name)
            pause = rest(time.perf_counter() - started, self._every, behind=behind)


def rest(took: float, every: float, *, behind: bool) -> float:
    """The seconds to rest after a job that took so long."""
    # While much is waiting, two thirds of the time are left to those who upload. Otherwise rest much longer than it
    # took, because small pieces one after the other would cost more than they are worth. The first round compiles, and
    # can take many seconds: what comes in meanwhile must not wait for minutes.
    return min(2 * took, _LONGEST_REST) if behind else max(every, min(_REST * took, _LONGEST_REST))
