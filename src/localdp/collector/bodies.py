"""Bodies of requests, read up to a limit: in length, and in the memory that all of them take together.

How long a body may take to arrive is limited by the server (`server.py`), which sees when nothing comes.
"""

from __future__ import annotations

from collections.abc import Iterable

from starlette.types import Receive

from localdp.collector.problems import Problem, busy

_CLOSE = {"Connection": "close"}  # the rest of the body is not read, so the connection cannot be used again


class GoneError(Exception):
    """The sender went away before everything had arrived, so there is nobody to answer."""


class Memory:
    """The bytes that bodies may take, all together. Only the event loop uses it."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0

    def take(self, size: int) -> None:
        """Count more bytes; a `Problem` if they are too many."""
        if self.taken + size > self.most:
            raise busy("the collector holds as many bytes as it can; send it again a little later")
        self.taken += size

    def give_back(self, size: int) -> None:
        """Count bytes that are not needed any more."""
        self.taken -= size


class Body:
    """The body of one request. Whoever reads it must call `release` in the end."""

    def __init__(self, memory: Memory, most: int) -> None:
        self._memory, self._most = memory, most
        self._taken = 0

    async def read(self, headers: Iterable[tuple[bytes, bytes]], receive: Receive) -> bytes:
        """All of the body; a `Problem` if it is too long, or if there is no memory for it."""
        for name, value in headers:
            if name == b"content-length" and int(value) > self._most:
                raise self._too_long()
            if name == b"content-encoding" and value.lower() != b"identity":
                raise Problem(415, "encoded", "a body is sent as it is, without a Content-Encoding", _CLOSE)
        parts: list[bytes] = []
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise GoneError
            part = message.get("body", b"")
            if self._taken + len(part) > self._most:
                raise self._too_long()
            self._memory.take(len(part))
            self._taken += len(part)
            if not message.get("more_body", False):
                return b"".join((*parts, part)) if parts else part
            parts.append(part)

    def release(self) -> None:
        """Give back the memory."""
        self._memory.give_back(self._taken)
        self._taken = 0

    def _too_long(self) -> Problem:
        return Problem(413, "too-long", f"a body may have at most {self._most:,} bytes", _CLOSE)
