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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import SplitResult, urlsplit

from localdp.errors import InvalidInputError

_SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9 ._+-]{0,39}")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_PORTS = {"http": 80, "https": 443}
_NEVER = frozenset({400, 409, 410, 413, 415, 422})
"""Answers about the report itself, which sending it again cannot change. Other answers 4xx, such as 401 or 404, may be
about a wrong token or a wrong route, which somebody can mend: the report waits."""


@dataclass(frozen=True)
class Answer:
    """What a server said: its status, for how many seconds it wants to be left alone, and its words.

    The status is 0 if there was no answer.
    """

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

    @property
    def busy(self) -> bool:
        """Whether the server as a whole is in trouble, so that other requests to it would fail as well."""
        return self.status in (0, 429) or self.status >= 500


Upload = Callable[[bytes, bytes], int | Answer | None]
"""Sends a batch with its upload id. None means success; a number is the status that a server answered, or 0 if there
was no answer. Anything else, also True and False, is an `InvalidInputError`, because it is not clear what it means.

An `OSError` (no network, a timeout) means that it is tried again later.
"""


def answered(answer: object) -> Answer:
    """What a function said that was given as `upload`."""
    if isinstance(answer, Answer):
        return answer
    if answer is None:
        return Answer(200)
    if isinstance(answer, int) and not isinstance(answer, bool) and (answer == 0 or 100 <= answer <= 599):
        return Answer(int(answer))
    raise InvalidInputError(
        "a function for uploads returns None if the report was delivered, or a status as in HTTP (a whole number such "
        f"as 201 or 503, or 0 for no answer), not {answer!r:.60}; the report is kept, and will be sent again"
    )


@dataclass(frozen=True)
class HttpUpload:
    """Posts batches to one address."""

    address: str
    headers: Mapping[str, str] = field(repr=False)  # there may be a token in them

    def __call__(self, body: bytes, upload_id: bytes) -> Answer:
        """Post a batch, and wait for the answer."""
        from localdp.client.http_post import post  # this loads more than all the rest of the client

        status, retry_after, said = post(self.address, body, {**self.headers, "Upload-Id": upload_id.hex()})
        return Answer(status, _seconds(retry_after), shown(said.decode("utf-8", "replace")))

    def showing(self, wording: str) -> HttpUpload:
        """The same for reports of people who were shown this version of the wording."""
        return replace(self, headers={**self.headers, "Wording": wording})

    def at(self, address: str) -> HttpUpload | None:
        """The same for another address of the same server; None if it is one of another server.

        A report that was made for one server, and a token for it, are no business of another one.
        """
        try:
            same = _server(_split(address)) == _server(_split(self.address))
        except InvalidInputError:
            return None
        return replace(self, address=address) if same else None


def to_route(url: str, route: str, token: str | None = None, segment: str | None = None) -> HttpUpload:
    """A function that posts batches to this URL, which is completed by the route if it has no path."""
    parts = _split(url)
    whole = parts.path not in ("", "/")
    if parts.query and not whole:
        raise _refused(url)
    if token is not None and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise InvalidInputError(
            "a token is sent to https:// addresses only: on the way to this one anybody can read it"
        )
    if token is not None and not _visible(token):
        raise InvalidInputError("a token is visible ASCII characters without spaces")
    headers = {"Content-Type": "application/octet-stream", "User-Agent": "localdp"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    if segment is not None:
        if not isinstance(segment, str) or not _SEGMENT.fullmatch(segment):
            raise InvalidInputError(f"a segment is one of the labels that the collection lists, not {segment!r:.60}")
        headers["Segment"] = segment
    return HttpUpload(url if whole else f"{url.rstrip('/')}{route}", headers)


def _split(url: str) -> SplitResult:
    """The parts of an address that reports can be posted to."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # a number, if there is one
    except ValueError:
        raise _refused(url) from None
    if "@" in parts.netloc:
        raise InvalidInputError("an address for uploads has no user name and no password; give a token instead")
    if parts.scheme not in _PORTS or not parts.hostname or parts.fragment or not _visible(url):
        raise _refused(url)
    return parts


def _visible(text: str) -> bool:
    """Whether a text is of ASCII characters that can be seen, and so cannot smuggle anything into a request."""
    return bool(text) and all("!" <= character <= "~" for character in text)


def _refused(url: str) -> InvalidInputError:
    said = "an address with a password" if "@" in url else f"{url!r:.100}"
    return InvalidInputError(f"reports are uploaded to an http:// or https:// address, not to {said}")


def _server(parts: SplitResult) -> tuple[str, str | None, int]:
    return parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme]


def _seconds(text: str | None) -> float | None:
    """The seconds of a Retry-After. A date is not obeyed, because clocks of devices are often wrong."""
    try:
        seconds = float(text) if text is not None and text.isascii() else math.nan
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) else None


def shown(said: str) -> str:
    """What a server said on one line, without characters that could change a terminal or a log."""
    return " ".join("".join(c if c.isprintable() else " " for c in said).split())
