"""Whether the database can be written. It is tried at most once a second, because everybody may ask."""

from __future__ import annotations

import asyncio
import math
import time

from localdp.collector.problems import Problem, full, unavailable
from localdp.collector.storage.database import Session, StorageError, StorageFullError
from localdp.collector.writer import Writer

_PATIENCE = 5.0  # seconds for the database to show that it can be written
_FAILING = 10.0  # seconds after uploads could not be stored: a single row may fit where uploads do not
_REMEMBERED = 1.0  # seconds for which the outcome is told to others who ask


class Readiness:
    """Tries to write, and remembers the outcome. Only the event loop uses it."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._one_at_a_time = asyncio.Lock()
        self._tried = -math.inf
        self._problem: Problem | None = None

    async def check(self) -> None:
        """A `Problem` if uploads cannot be stored."""
        async with self._one_at_a_time:
            if time.monotonic() - self._tried >= _REMEMBERED:
                self._problem = await self._try()
                self._tried = time.monotonic()
        if self._problem is not None:
            raise self._problem

    async def _try(self) -> Problem | None:
        failure = self._writer.failure
        if failure is not None and time.monotonic() - failure[0] < _FAILING:
            return full() if isinstance(failure[1], StorageFullError) else unavailable("uploads cannot be stored")
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._writer.call(_write)
        except StorageFullError:
            return full()
        except (StorageError, TimeoutError):
            return unavailable("the database cannot be written at the moment")
        return None


def _write(session: Session) -> None:
    now = int(time.time())
    session.change(
        "INSERT INTO probes (id, written) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET written = ?", (now, now)
    )
