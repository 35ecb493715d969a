"""The HTTP server: uvicorn, with limits that it does not have by itself, and without a log of addresses."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import sys
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from localdp.collector.app import create_app
from localdp.collector.guard import HEADERS
from localdp.collector.metrics import Metrics
from localdp.collector.problems import Problem
from localdp.collector.service import Service
from localdp.errors import InvalidInputError

_SWITCH = 0.0005  # seconds after which a thread lets another one run: the writer must not wait for a busy event loop


MOST_HEAD = 1 << 16
"""Bytes of a request before its body, at most: about. As many may come between two parts of the body, or after it."""


def protocol(seconds: float, most_connections: int, metrics: Metrics) -> type[asyncio.Protocol]:
    """The HTTP protocol, with limits on connections, on what is not body, and on the time a request takes to arrive.

    A timer runs only while part of a request is missing. A request that arrives in one piece, as nearly all do, never
    starts one.
    """

    class Limited(HttpToolsProtocol):
        _deadline: asyncio.TimerHandle | None = None
        _head = _complete = False  # whether all of the head, and of the whole request, has come
        _head_bytes = 0  # that came since the request began, or since the last part of its body

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.access_log = False  # uvicorn would log addresses wherever a program has set up logging

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > most_connections:
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

        def on_body(self, body: bytes) -> None:
            self._head_bytes = 0
            super().on_body(body)

        def on_message_complete(self) -> None:
            self._complete = True
            super().on_message_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._cancel()
            super().connection_lost(exc)

        def send_400_response(self, msg: str) -> None:
            self._refuse(400, "bad-http", msg)

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
            if self._head and not self._complete and self.cycle.response_started:
                self.transport.close()  # it was answered before all of it had come
            elif not self.transport.is_closing():
                metrics.response(status)
                body = json.dumps(Problem(status, code, detail).document()).encode()
                given = ((b"content-type", b"application/problem+json"), (b"content-length", b"%d" % len(body)))
                lines = b"".join(b"%s: %s\r\n" % one for one in (*given, *HEADERS, *more, (b"connection", b"close")))
                self.transport.write(STATUS_LINE[status] + lines + b"\r\n" + body)
                self.transport.close()

    return Limited


def config(service: Service, **options: Any) -> uvicorn.Config:
    """How uvicorn runs the collector. It logs no requests, because its log would hold addresses."""
    settings = service.settings
    return uvicorn.Config(
        create_app(service),
        http=protocol(settings.request_time, settings.most_connections, service.metrics),
        ws="none",
        lifespan="on",
        access_log=False,
        server_header=False,
        proxy_headers=settings.rate > 0,  # only the rate looks at addresses
        timeout_keep_alive=30,
        timeout_graceful_shutdown=30,
        log_config=None,
        **options,
    )


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens at this address; an error that says so if it cannot."""
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, number)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)
    except (OSError, OverflowError) as error:
        raise InvalidInputError(f"cannot listen at {host} port {port}: {error}") from error
    return listening


def run(service: Service, listening: socket.socket) -> None:
    """Serve until the process is told to stop; then everything that was taken is stored."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    # Warnings of uvicorn are about malformed requests, and anybody could fill the log with them. /metrics counts them.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    sys.setswitchinterval(_SWITCH)
    uvicorn.Server(config(service)).run(sockets=[listening])
