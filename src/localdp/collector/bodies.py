"""Bodies of requests, read up to a limit: in length, and in the memory that all of them take together.

Somebody who begins many long uploads and never ends them must not keep others out. So a quarter of the memory is for
bodies of at most `SMALL` bytes, as devices send them. And when the rest is full, the body that has been arriving for
the longest time gives way: an honest one is whole within a moment, unless its line is slow, and may be sent again.

How long a body may take to arrive is limited by the server (`protocol.py`), which sees when nothing comes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable

from starlette.types import Message, Receive

from localdp.collector.problems import Problem, busy

SMALL = 1 << 16
"""Bytes up to which a body is small."""
_YOUNG = 1.0  # seconds for which a body need not give way
_CLOSE = {"Connection": "close"}  # the rest of the body is not read, so the connection cannot be used again


class GoneError(Exception):
    """The sender went away before everything had arrived, so there is nobody to answer."""


class Memory:
    """The bytes that bodies may take, all together. Only the event loop uses it."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0
        self._long = 0  # bytes of bodies that are not small
        self._arriving: dict[Body, None] = {}  # those that are not small, the oldest first

    def take(self, body: Body, size: int) -> None:
        """Count more bytes of a body; a `Problem` if they are too many."""
        if body.taken + size > SMALL:
            more = size if body.is_long else body.taken + size
            while self._long + more > self.most - self.most // 4:
                self._make_room(body)
            body.is_long = True
            self._arriving.setdefault(body)
            self._long += more
        elif self.taken - self._long + size > self.most // 4:
            raise _no_room()
        self.taken += size
        body.taken += size

    def arrived(self, body: Body) -> None:
        """All of a body is there, so it need not give way any more."""
        self._arriving.pop(body, None)

    def give_back(self, body: Body) -> None:
        """Count the bytes of a body that are not needed any more."""
        self.taken -= body.taken
        if body.is_long:
            self._long -= body.taken
        self._arriving.pop(body, None)
        body.taken, body.is_long = 0, False

    def _make_room(self, newcomer: Body) -> None:
        """End the oldest body that is still arriving; a `Problem` if there is none that is old enough."""
        oldest = next((body for body in self._arriving if body is not newcomer), None)
        if oldest is None or time.monotonic() - oldest.began < _YOUNG:
            raise _no_room()
        self.give_back(oldest)
        oldest.give_way()


class Body:
    """The body of one request. Whoever reads it must call `release` in the end."""

    def __init__(self, memory: Memory, most: int) -> None:
        self._memory, self._most = memory, most
        self.began = time.monotonic()
        self.taken, self.is_long = 0, False
        self._gives_way = False
        self._reader: asyncio.Task[object] | None = None

    async def read(self, headers: Iterable[tuple[bytes, bytes]], receive: Receive) -> bytes:
        """All of the body; a `Problem` if it is too long, or if there is no memory for it."""
        for name, value in headers:
            if name == b"content-length" and int(value) > self._most:
                raise self._too_long()
            if name == b"content-encoding" and value.lower() != b"identity":
                raise Problem(415, "encoded", "a body is sent as it is, without a Content-Encoding", _CLOSE)
        parts: list[bytes] = []
        while True:
            message = await (self._interruptible(receive) if parts else receive())
            if message["type"] == "http.disconnect":
                raise GoneError
            part = message.get("body", b"")
            if self.taken + len(part) > self._most:
                raise self._too_long()
            self._memory.take(self, len(part))
            if not message.get("more_body", False):
                self._memory.arrived(self)
                return b"".join((*parts, part)) if parts else part
            parts.append(part)

    def release(self) -> None:
        self._memory.give_back(self)

    def give_way(self) -> None:
        """End reading, in favour of another body."""
        self._gives_way = True
        if self._reader is not None:
            self._reader.cancel()

    async def _interruptible(self, receive: Receive) -> Message:
        """The next part, unless the body has to give way while it is waited for."""
        self._reader = asyncio.current_task()
        try:
            if self._gives_way:
                raise _no_room(_CLOSE)
            return await receive()
        except asyncio.CancelledError:
            if not self._gives_way or self._reader is None:
                raise
            self._reader.uncancel()
            raise _no_room(_CLOSE) from None
        finally:
            self._reader = None

    def _too_long(self) -> Problem:
        return Problem(413, "too-long", f"a body may have at most {self._most:,} bytes", _CLOSE)


def _no_room(headers: dict[str, str] | None = None) -> Problem:
    problem = busy("the collector holds as many bytes as it can; send it again a little later")
    problem.headers.update(headers or {})
    return problem
