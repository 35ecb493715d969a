"""Responses that readers take in time: sent in pieces, of which one at a time waits in memory.

A body that is written whole lies in the buffer of its connection until it is read, once for each connection. Here the
next piece is written only when the last one has left, and all connections read from one copy of the bytes. A reader
must take `LEAST_RATE` bytes a second, after a grace of some seconds; otherwise the connection is cut.
"""

from __future__ import annotations

import asyncio

from starlette.types import Message, Scope, Send

from localdp.collector.metrics import Metrics

PIECE = 1 << 14
"""Bytes that are written at once, and that a connection may hold before it has to wait."""
LEAST_RATE = 1 << 14
"""Bytes a second that a reader takes at least."""
ABORT = "localdp.abort"
"""The extension in the scope of a request: its `cut` ends the connection without sending what waits."""


class Paced:
    """A `send` for one response that gives up on readers who do not read, `seconds` after they should have."""

    def __init__(self, send: Send, scope: Scope, seconds: float, metrics: Metrics) -> None:
        self._send, self._scope, self._seconds, self._metrics = send, scope, seconds, metrics
        self._deadline: float | None = None

    async def __call__(self, message: Message) -> None:
        body = message.get("body", b"")
        loop = asyncio.get_running_loop()
        if self._deadline is None:
            self._deadline = loop.time() + self._seconds
        try:
            async with asyncio.timeout_at(self._deadline) as limit:
                if len(body) <= PIECE:
                    await self._send(message)
                    self._deadline += len(body) / LEAST_RATE
                    return
                view, more = memoryview(body), message.get("more_body", False)
                for start in range(0, len(body), PIECE):
                    last = start + PIECE >= len(body)
                    piece = bytes(view[start : start + PIECE])
                    await self._send({**message, "body": piece, "more_body": more or not last})
                    self._deadline += len(piece) / LEAST_RATE
                    limit.reschedule(self._deadline)
        except TimeoutError:
            self._metrics.add("readers_cut")
            extension = self._scope.get("extensions", {}).get(ABORT)
            if extension is not None:
                extension["cut"]()
