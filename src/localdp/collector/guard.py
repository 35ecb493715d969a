"""The outermost layer of the application: headers on every response, a count of them, and a limit on their rate.

A page that needs other headers, such as the dashboard, sets them itself; only those that are missing are added.
"""

from __future__ import annotations

import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from localdp.collector.metrics import Metrics
from localdp.collector.problems import Problem, busy, not_found
from localdp.collector.rates import BYTES, Rate
from localdp.collector.sending import Paced

HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
"""What every response has, unless it says otherwise itself."""


CORS: tuple[tuple[bytes, bytes], ...] = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"Retry-After"),
    (b"cross-origin-resource-policy", b"cross-origin"),
)
"""What the responses of open routes have, with which browsers let any page use them."""


_UNKNOWN = 1 << 23  # bytes of a body whose length is not announced
_UPLOAD = re.compile(r"/v1/plans/([^/]+)/reports")
# Not read off the routes: a request that is refused before it has found its route is answered by this list too.
OPEN = re.compile(
    r"/v1/plans/[^/]+/(reports|document)|/v1/studies/[^/]+/(document|wording|part|parts/[^/]+/reports)"
    r"|/v1/discoveries/[^/]+/(document|round|rounds/[^/]+/reports)|/client/.*"
)
"""The paths whose answers, errors too, any page may read."""


class Guard:
    """An ASGI application around another one. `uploads` is the route that is asked for most: it is found first here."""

    def __init__(self, app: ASGIApp, uploads: ASGIApp, metrics: Metrics, rate: Rate, patience: float) -> None:
        self._app, self._uploads, self._metrics, self._rate = app, uploads, metrics, rate
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        paced = Paced(send, scope, self._patience, self._metrics)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = message["headers"]
                present = {name for name, _ in given}
                if b"access-control-allow-origin" not in present and OPEN.fullmatch(scope["path"]):
                    given = [*given, *CORS]
                    present.update(name for name, _ in CORS)
                message["headers"] = [*given, *(one for one in HEADERS if one[0] not in present)]
                self._metrics.response(message["status"])
            await paced(message)

        try:
            if "\n" in scope["path"]:  # the routes would take a path that ends in one, and rules of a proxy would not
                raise not_found()
            if self._rate.rate:
                self._check_rate(scope)
            found = _UPLOAD.fullmatch(scope["path"]) if scope["method"] == "POST" else None
            if found:
                scope["path_params"] = {"plan": found[1]}
                await self._uploads(scope, receive, guarded)
            else:
                await self._app(scope, receive, guarded)
        except Problem as problem:
            await problem.response()(scope, receive, guarded)

    def _check_rate(self, scope: Scope) -> None:
        client = scope.get("client")
        if not client:  # a socket of this machine, behind which is a proxy that names nobody
            return
        seconds = self._rate.wait(client[0], cost=1 + _length(scope["headers"]) // BYTES)
        if seconds:
            detail = (
                f"this address sends more than {self._rate.rate:g} requests a second, of which each 64 KiB of a body "
                "are one"
            )
            raise busy(detail, seconds)


def _length(headers: list[tuple[bytes, bytes]]) -> int:
    """The length of a body as it is announced; of one that comes in chunks, the longest that is usual."""
    for name, value in headers:
        if name == b"content-length":
            return int(value)
        if name == b"transfer-encoding":
            return _UNKNOWN
    return 0
