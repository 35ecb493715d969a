"""What the collector says when it cannot do what was asked: a problem document (RFC 9457) with a `code`.

Clients in any language decide by the status and the code; the `detail` is a sentence for people.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from localdp.errors import LocalDPError

MEDIA_TYPE = "application/problem+json"


class Problem(LocalDPError):  # noqa: N818 (as RFC 9457 calls it)
    """A request that is answered with a problem document."""

    def __init__(self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})

    def document(self) -> dict[str, Any]:
        return {
            "type": f"urn:localdp:problem:{self.code}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "code": self.code,
            "detail": str(self),
        }

    def response(self) -> Response:
        body = json.dumps(self.document(), ensure_ascii=True).encode()
        return Response(body, self.status, {"Cache-Control": "no-store", **self.headers}, MEDIA_TYPE)


def not_found() -> Problem:
    """There is no such page."""
    return Problem(404, "not-found", "there is nothing at this address; /openapi.json lists what there is")


def unknown_plan(study: str | None = None) -> Problem:
    """There is no such plan here; perhaps there is a study with this name."""
    detail = "this collector has no such plan: name it by its fingerprint, in hex digits, or the first 16 of them"
    if study is not None:
        detail = f"this is the name of a study, and not the fingerprint of a plan: ask for /v1/studies/{study}"
    return Problem(404, "no-such-plan", detail)


def unknown_discovery() -> Problem:
    """There is no such discovery here, or no such round of it."""
    detail = "this collector has no such discovery, or no such round of it: name them by their fingerprints"
    return Problem(404, "no-such-discovery", detail)


def unknown_study() -> Problem:
    """There is no such study here, or no such part of it."""
    detail = "this collector has no such study, or no such part of it: name a study by its id or its fingerprint"
    return Problem(404, "no-such-study", detail)


def unauthorized(detail: str) -> Problem:
    """A token is missing or not valid."""
    return Problem(401, "unauthorized", detail, {"WWW-Authenticate": "Bearer"})


def invalid(detail: str, code: str = "invalid-request") -> Problem:
    """The request is understood, and cannot be used as it is."""
    return Problem(422, code, detail)


def busy(detail: str, seconds: int = 1) -> Problem:
    """The collector takes no more for the moment."""
    return Problem(429, "busy", detail, {"Retry-After": str(seconds)})


def full() -> Problem:
    return Problem(507, "disk-full", "the collector's disk is full, and nothing was stored", {"Retry-After": "60"})


def unavailable(detail: str) -> Problem:
    """The database does not answer."""
    return Problem(503, "unavailable", detail, {"Retry-After": "5"})
