"""One HTTP request with a deadline: a server cannot hold the caller by answering a byte at a time.

The timeout of a socket starts anew with every byte. So a timer hangs up when the whole request takes too long. Finding
the address of the server (DNS) is up to the operating system, which gives up by itself; each address is tried for
`TIMEOUT` seconds at most.

This file is loaded with the first upload, because `urllib.request` takes longer to load than the rest of the client.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from functools import cache
from http.client import HTTPConnection, HTTPException
from threading import Timer
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, OpenerDirector, Request, build_opener

TIMEOUT = 10.0
"""Seconds to wait for a server to connect, and then for each part of its answer."""
DEADLINE = 30.0
"""Seconds that a whole request may take."""
_LONGEST_DETAIL = 300


def post(url: str, body: bytes, headers: dict[str, str]) -> tuple[int, str | None, bytes]:
    """The status, the Retry-After, and the beginning of what the server says if it does not say 2xx.

    An `OSError` says that there was no answer, or none in time.
    """
    return _asked(_Watched(url, body, headers, method="POST"), most=0)


def get(url: str, headers: dict[str, str], most: int) -> tuple[int, str | None, bytes]:
    """The status, the Retry-After and what the server says, at most so many bytes; otherwise like `post`."""
    return _asked(_Watched(url, None, headers, method="GET"), most)


def _asked(request: _Watched, most: int) -> tuple[int, str | None, bytes]:
    timer = Timer(DEADLINE, request.hang_up)
    timer.daemon = True
    with suppress(RuntimeError):  # no threads can be started while Python ends; then only TIMEOUT holds
        timer.start()
    try:
        return _answer(request, most)
    except (HTTPException, ValueError, OSError) as error:
        if request.late:
            raise TimeoutError(f"the server did not answer within {DEADLINE:g} seconds") from error
        if isinstance(error, HTTPException | ValueError):
            raise ConnectionError(f"the server did not answer in HTTP: {type(error).__name__}") from error
        raise
    finally:
        timer.cancel()


def _answer(request: _Watched, most: int) -> tuple[int, str | None, bytes]:
    try:
        with _opener().open(request, timeout=TIMEOUT) as response:
            said = response.read(most + 1) if most else b""
            request.check_in_time()
            if len(said) > most:
                raise ValueError("a longer answer than can be used")
            return response.status, None, said
    except HTTPError as error:
        with error:
            request.check_in_time()
            return error.code, error.headers.get("Retry-After"), _detail(error)


class _Watched(Request):
    """A request that knows its connection, so that another thread can end it."""

    late = False
    connection: HTTPConnection | None = None
    _socket: socket.socket | None = None

    def connected(self) -> None:
        """Remember the socket. `HTTPConnection` forgets it while the answer is still being read."""
        self._socket = self.connection.sock if self.connection else None
        if self.late:
            self.hang_up()

    def check_in_time(self) -> None:
        """Raise a `TimeoutError` if headers end because of hanging up, which looks like the end of an answer."""
        if self.late:
            raise TimeoutError

    def hang_up(self) -> None:
        """End the connection, now or as soon as there is one. Whoever reads from it gets an error."""
        self.late = True
        found = self._socket or (self.connection.sock if self.connection else None)  # which a proxy may hold up
        if found is not None:
            with suppress(OSError):
                socket.socket.shutdown(found, socket.SHUT_RDWR)  # SSLSocket's own would meddle with TLS


class _Watching:
    """What a handler of urllib does in addition: it tells the request which connection it uses."""

    def do_open(self, http_class: Any, req: Any, **options: Any) -> Any:
        def connection(*args: Any, **kwargs: Any) -> HTTPConnection:
            made: HTTPConnection = http_class(*args, **kwargs)
            req.connection, connect = made, made.connect

            def connect_and_tell() -> None:
                connect()
                req.connected()

            made.connect = connect_and_tell  # type: ignore[method-assign]
            return made

        return super().do_open(connection, req, **options)  # type: ignore[misc]


class _WatchingHTTP(_Watching, HTTPHandler):
    pass


class _WatchingHTTPS(_Watching, HTTPSHandler):
    pass


class _NoRedirects(HTTPRedirectHandler):
    def http_error_302(self, *_: Any) -> None:
        return None

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302  # type: ignore[assignment]


@cache
def _opener() -> OpenerDirector:
    """What sends requests. Making it reads the certificates of the system, so it is made once, when it is needed."""
    return build_opener(_NoRedirects, _WatchingHTTP, _WatchingHTTPS)


def _detail(error: HTTPError) -> bytes:
    """The beginning of what the server says; nothing if it cannot be read."""
    try:
        return error.read(_LONGEST_DETAIL)
    except (HTTPException, OSError, ValueError):
        return b""
