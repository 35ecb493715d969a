"""Send a batch to a collector by HTTP, with the standard library alone.

    POST <url>
    Content-Type: application/octet-stream
    Upload-Id: <32 hexadecimal digits>

The upload id is drawn once for each report and sent with every attempt, so that a collector counts the report once. A
redirection is not followed: it would turn the request into another one, whose success means nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from localdp.errors import InvalidInputError

if TYPE_CHECKING:
    from urllib.error import HTTPError
    from urllib.request import OpenerDirector

TIMEOUT = 10.0
"""Seconds to wait for a server to connect, and then for its answer."""
_LONGEST_DETAIL = 300
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_NEVER = frozenset({400, 409, 410, 413, 415, 422})
"""Answers about the report itself, which sending it again cannot change. Other answers 4xx, such as 401 or 404, may be
about a wrong token or a wrong route, which somebody can mend: the report waits."""


@dataclass(frozen=True)
class Answer:
    """What a server said: its status, for how many seconds it wants to be left alone, and its words."""

    status: int
    retry_after: float | None = None
    detail: str = ""

    @property
    def delivered(self) -> bool:
        """Whether the server has the report."""
        return 200 <= self.status < 300

    @property
    def final(self) -> bool:
        """Whether the same request can never succeed."""
        return self.status in _NEVER


Upload = Callable[[bytes, bytes], int | Answer | None]
"""Sends a batch with its upload id. None means success; a number is the status that a server answered.

An `OSError` (no network, a timeout) means that it is tried again later.
"""


def by_http(url: str, fingerprint: str, token: str | None = None) -> Upload:
    """A function that posts batches to this URL. A URL without a path is completed to the collector's route."""
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise InvalidInputError("an address for uploads has no user name and no password; give a token instead")
    whole = parts.path not in ("", "/")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.fragment or (parts.query and not whole):
        raise InvalidInputError(f"reports are uploaded to an http:// or https:// address, not to {url!r:.100}")
    if token is not None and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise InvalidInputError(
            "a token is sent to https:// addresses only: on the way to this one anybody can read it"
        )
    if token is not None and not re.fullmatch(r"[!-~]+", token):
        raise InvalidInputError("a token is visible ASCII characters without spaces")
    target = url if whole else f"{url.rstrip('/')}/v1/plans/{fingerprint}/reports"
    headers = {"Content-Type": "application/octet-stream", "User-Agent": "localdp"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"

    def upload(body: bytes, upload_id: bytes) -> Answer:
        return _post(target, body, headers | {"Upload-Id": upload_id.hex()})

    return upload


@cache
def _opener() -> OpenerDirector:
    """What sends requests. Making it reads the certificates of the system, so it is made once, when it is needed."""
    from urllib.request import HTTPRedirectHandler, build_opener  # these take longer to load than all the rest

    class NoRedirects(HTTPRedirectHandler):
        def http_error_302(self, *_: Any) -> None:
            return None

        http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302  # type: ignore[assignment]

    return build_opener(NoRedirects)


def _post(url: str, body: bytes, headers: dict[str, str]) -> Answer:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request

    request = Request(url, body, headers, method="POST")  # noqa: S310 (by_http has checked the scheme)
    try:
        with _opener().open(request, timeout=TIMEOUT) as response:
            return Answer(response.status)
    except HTTPError as error:
        with error:
            return Answer(error.code, _seconds(error.headers.get("Retry-After")), _detail(error))
    except (HTTPException, ValueError) as error:
        raise ConnectionError(f"the server did not answer in HTTP: {type(error).__name__}") from error


def _detail(error: HTTPError) -> str:
    """The beginning of what the server says; nothing if it cannot be read."""
    from http.client import HTTPException

    try:
        return _words(error.read(_LONGEST_DETAIL))
    except (HTTPException, OSError, ValueError):
        return ""


def _seconds(text: str | None) -> float | None:
    """The seconds of a Retry-After. A date is not obeyed, because clocks of devices are often wrong."""
    try:
        seconds = float(text) if text is not None and text.isascii() else math.nan
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) else None


def _words(body: bytes) -> str:
    """The beginning of an answer on one line, without characters that could change a terminal or a log."""
    return " ".join("".join(c if c.isprintable() else " " for c in body.decode("utf-8", "replace")).split())
