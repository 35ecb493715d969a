"""The HTTP protocol: uvicorn's, with limits that it does not have by itself, and with answers written in one go.

uvicorn checks every header of every answer, which takes a fifth of the time of an upload. The answers to uploads never
change, so they are checked once, here, and are written as they are (`Whole`). A server without this extension, such as
one that a test brings, sends them header by header.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from localdp.collector.guard import CORS, HEADERS, OPEN
from localdp.collector.metrics import Metrics
from localdp.collector.problems import Problem
from localdp.collector.sending import ABORT, PIECE

MOST_HEAD = 1 << 16
"""Bytes of a request before its body, at most: about. As many may come between two parts of the body, or after it."""

WHOLE = "localdp.whole"
"""The extension in the scope of a request: its `write` writes a `Whole`, and says whether it could."""

_UNSAFE = re.compile(rb"[\x00-\x1f\x7f]")
_CLOSE = (b"connection", b"close")
_TYPE = (b"content-type", b"application/problem+json")


@dataclass(frozen=True)
class Whole:
    """An answer that never changes, as the bytes that are sent. Its headers are those of all answers, and these."""

    status: int
    head: bytes
    rest: bytes

    @classmethod
    def of(cls, status: int, body: bytes, headers: tuple[tuple[bytes, bytes], ...]) -> Whole:
        """The answer with this status, body and headers."""
        return cls(status, STATUS_LINE[status], _lines(_complete(body, headers)) + b"\r\n" + body)


def _complete(body: bytes, headers: tuple[tuple[bytes, bytes], ...]) -> tuple[tuple[bytes, bytes], ...]:
    """These headers, the length of the body, and those that all answers have."""
    present = {name for name, _ in headers}
    return (*headers, (b"content-length", b"%d" % len(body)), *(one for one in HEADERS if one[0] not in present))


def _lines(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    lines = [b"%s: %s" % one for one in headers]
    if any(map(_UNSAFE.search, lines)):
        raise ValueError("a header holds a control character")
    return b"".join(line + b"\r\n" for line in lines)


def protocol(seconds: float, most_connections: int, metrics: Metrics) -> type[asyncio.Protocol]:
    """The HTTP protocol, with limits on connections, on what is not body, and on the time a request takes to arrive.

    A timer runs only while part of a request is missing. A request that arrives in one piece, as nearly all do, never
    starts one.
    """

    peers: Counter[str] = Counter()  # so that nobody can hold all connections: half of them at most

    class Limited(HttpToolsProtocol):
        _peer = ""
        _deadline: asyncio.TimerHandle | None = None
        _head = _complete = False  # whether all of the head, and of the whole request, has come
        _head_bytes = 0  # that came since the request began, or since the last part of its body
        _dated: tuple[list[tuple[bytes, bytes]], bytes] = ([], b"")  # the headers of uvicorn, such as the date

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.access_log = False  # uvicorn would log addresses wherever a program has set up logging
            self._extensions: dict[str, dict[object, object]] = {
                WHOLE: {"write": self._whole},
                ABORT: {"cut": lambda: self.transport.abort()},
            }

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            transport.set_write_buffer_limits(PIECE)
            self._peer = self.client[0] if self.client else ""
            peers[self._peer] += 1
            if len(self.connections) > most_connections or peers[self._peer] > max(1, most_connections // 2):
                self._refuse(503, "unavailable", "too many connections are open", (b"retry-after", b"5"))
            else:
                self._start()

        def data_received(self, data: bytes) -> None:
            self._head_bytes += len(data)
            super().data_received(data)
            if self._complete:
                self._cancel()
            elif self._head_bytes > MOST_HEAD:  # the parser takes quadratic time for one long line, also in trailers
                self._refuse(431, "head-too-long", f"a request has at most {MOST_HEAD:,} bytes beside its body")
            elif self._deadline is None:
                self._start()

        def on_message_begin(self) -> None:
            self._head = self._complete = False
            self._head_bytes = 0
            super().on_message_begin()

        def on_header(self, name: bytes, value: bytes) -> None:
            if not self._head:  # what comes after a chunked body is not needed, and could be endless
                super().on_header(name, value)

        def on_headers_complete(self) -> None:
            self._head = True
            super().on_headers_complete()
            self.scope["extensions"] = self._extensions

        def on_body(self, body: bytes) -> None:
            self._head_bytes = 0
            super().on_body(body)

        def on_message_complete(self) -> None:
            self._complete = True
            super().on_message_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._cancel()
            peers[self._peer] -= 1
            if not peers[self._peer]:
                del peers[self._peer]
            self._extensions.clear()  # it refers to this object, which could not be freed at once
            super().connection_lost(exc)

        def send_400_response(self, msg: str) -> None:
            self._refuse(400, "bad-http", msg)

        def _whole(self, scope: Scope, answer: Whole) -> bool:
            """Write an answer as `send` would; False if it has to wait, because the sender does not read its answers.

            Also False if the sender has begun another request without waiting for the answer to this one.
            """
            cycle = self.cycle
            if cycle.scope is not scope or cycle.flow.write_paused or cycle.response_started:
                return False
            if not cycle.disconnected:
                cycle.response_started = cycle.response_complete = True
                cycle.waiting_for_100_continue = False
                last = b"" if cycle.keep_alive else b"connection: close\r\n"
                self.transport.write(b"".join((answer.head, self._date(cycle.default_headers), last, answer.rest)))
                metrics.response(answer.status)
                cycle.message_event.set()
                if not cycle.keep_alive:
                    self.transport.close()
                cycle.on_response()
            return True

        def _date(self, headers: list[tuple[bytes, bytes]]) -> bytes:
            if Limited._dated[0] is not headers:  # uvicorn makes them anew every second
                Limited._dated = headers, _lines(headers)
            return Limited._dated[1]

        def _start(self) -> None:
            self._deadline = self.loop.call_later(seconds, self._too_late)

        def _cancel(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def _too_late(self) -> None:
            self._refuse(408, "too-slow", f"the request did not arrive within {seconds:g} seconds")

        def _refuse(self, status: int, code: str, detail: str, *more: tuple[bytes, bytes]) -> None:
            """Answer what never reached the application, with the headers of all other answers, and hang up."""
            if self._would_be_mistaken():
                self.transport.close()
            elif not self.transport.is_closing():
                metrics.response(status)
                body = json.dumps(Problem(status, code, detail).document()).encode()
                given = (_TYPE, *(CORS if self._is_open() else ()), *more, _CLOSE)
                self.transport.write(STATUS_LINE[status] + _lines(_complete(body, given)) + b"\r\n" + body)
                self.transport.close()

        def _would_be_mistaken(self) -> bool:
            """Whether a refusal would be taken for the answer to an earlier request, or for a second answer."""
            if self.cycle is None or self.cycle.response_complete:
                return self._head and not self._complete  # it was answered before all of it had come
            first = self._head and not self._complete and not self.pipeline
            return not first or self.cycle.response_started

        def _is_open(self) -> bool:
            """Whether pages of other sites may read a refusal: those of open routes, and before a route is named."""
            path = getattr(self, "url", b"").partition(b"?")[0].decode("latin-1")
            return not path or OPEN.fullmatch(path) is not None

    return Limited
