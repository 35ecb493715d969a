"""Discoveries: create, list, read, the documents that devices fetch, uploads of a round, the next round, the result."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from localdp.collector.answers.discoveries import FoundAnswer
from localdp.collector.answers.queries import FORMATS
from localdp.collector.collections import Collection, iso_moment
from localdp.collector.discoveries import Held, requested
from localdp.collector.problems import Problem, invalid
from localdp.collector.routes import uploads
from localdp.collector.routes.route import Parameter, Route, json_body, json_response, shared
from localdp.collector.service import Service
from localdp.collector.storage.collections import SHORT
from localdp.rounds.series import LEAST_REPORTS
from localdp.validation import checked_level


async def create(service: Service, request: Request) -> Response:
    """Make a new discovery, whose first round begins at once. The same request again is answered with 200."""
    body = await json_body(service, request)
    discovery, terms = await service.pools.for_operators(requested, body)
    now = int(time.time())
    made = await service.writer.call(lambda session: service.discoveries.add(session, discovery, terms, now))
    held = await service.pools.for_operators(service.discoveries.find, discovery.fingerprint)
    if not made and held.terms != terms:
        raise Problem(
            409,
            "discovery-exists",
            f"this collector has the discovery {discovery.fingerprint} already, with another title, question, need of "
            'a token or way to advance, and these are never changed. Give the new one another "name"',
        )
    answer = await service.pools.for_operators(described, service, held)
    return json_response(answer, 201 if made else 200, {"Location": f"/v1/discoveries/{held.fingerprint}"})


async def every(service: Service, request: Request) -> Response:  # noqa: ARG001
    """All discoveries, the newest first."""

    def answer() -> list[dict[str, Any]]:
        return [described(service, held) for held in service.discoveries.every()]

    return json_response({"discoveries": await service.pools.for_operators(answer)})


async def one(service: Service, request: Request) -> Response:
    """One discovery: the round under way, and those that are over."""
    held = await _held(service, request)
    return json_response(await service.pools.for_operators(described, service, held))


async def document(service: Service, request: Request) -> Response:
    """The discovery as devices need it. It never changes, so a device may keep it."""
    held = await _held(service, request)
    return _tagged(request, held.document, held.fingerprint, "public, max-age=86400, immutable")


async def current(service: Service, request: Request) -> Response:
    """The round under way, as devices need it. They ask again, and get 304 as long as it is the same."""
    held = await _held(service, request)
    if held.current is None:
        raise Problem(410, "discovery-done", "this discovery is done, and asks nothing any more")
    return _tagged(request, held.current.document, held.current.fingerprint, "public, no-cache")


async def advance(service: Service, request: Request) -> Response:
    """End a round and begin the next one. If the round is over already, nothing happens."""
    number = request.query_params.get("round", "")
    if not (number.isascii() and number.isdecimal() and len(number) < 7):
        raise invalid('"round" is the number of the round to end, as in ?round=0')
    name = request.path_params["discovery"]
    held = await service.pools.for_rounds(service.discoveries.advance, name, int(number))
    return json_response(await service.pools.for_operators(described, service, held))


async def result(service: Service, request: Request) -> Response:
    """The values that were found."""
    kind = request.query_params.get("format", "json")
    if kind not in FORMATS:
        raise invalid(f'"format" is one of {", ".join(FORMATS)}')
    try:
        level = checked_level(float(request.query_params.get("level", "0.9")))
    except ValueError:
        raise invalid('"level" is a number between 0 and 1') from None
    held = await _held(service, request)
    if held.done is None:
        detail = f"this discovery is not done: round {held.discovery.number} is under way"
        raise Problem(409, "not-done", detail)

    def answer() -> Response:
        rendered = FoundAnswer(held.discovery.result(), level).rendered(kind)
        return Response(rendered.body, 200, None, rendered.media_type)

    return await service.pools.for_analysts((held.id, "result"), answer)


class RoundUploads(uploads.Uploads):
    """The endpoint that takes the uploads of a round."""

    async def collection(self, scope: Scope) -> Collection:
        name, fingerprint = scope["path_params"]["discovery"], scope["path_params"]["round"]
        return await self.service.pools.for_devices(self.service.discoveries.round, name, fingerprint)


async def _unused(service: Service, request: Request) -> Response:
    raise NotImplementedError("the endpoint of uploads answers by itself")


async def _held(service: Service, request: Request) -> Held:
    return await service.pools.for_devices(service.discoveries.find, request.path_params["discovery"])


def _tagged(request: Request, text: str, fingerprint: str, caching: str) -> Response:
    """A document with its fingerprint as a tag, or 304 for who has it."""
    tag = f'"{fingerprint}"'
    headers = {"ETag": tag, "Cache-Control": caching}
    known = {one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")}
    if tag in known or "*" in known:
        return Response(None, 304, headers)
    return Response(shared(text), 200, headers, "application/json")


def described(service: Service, held: Held) -> dict[str, Any]:
    """A discovery as a JSON value: what it looks for, and how far it is."""
    discovery = held.discovery
    return {
        "fingerprint": held.fingerprint,
        "short": held.fingerprint[:SHORT],
        "state": "running" if held.done is None else "done",
        "created": iso_moment(held.created),
        "done": None if held.done is None else iso_moment(held.done),
        **asdict(held.terms),
        "name": discovery.name,
        "values": {key: value for key, value in discovery.code.document().items() if key != "code"},
        "epsilon": discovery.epsilon,
        "users": discovery.users,
        "top": discovery.top,
        "expected_rounds": discovery.expected_rounds,
        "round": _under_way(service, held),
        "rounds": [
            {"number": one.number, "reports": one.reports, "suspect": one.suspect}
            for one in held.rounds
            if one.reports is not None
        ],
    }


def _under_way(service: Service, held: Held) -> dict[str, Any] | None:
    if held.current is None:
        return None
    asked = held.discovery.round
    return {
        "number": asked.number,
        "fingerprint": asked.fingerprint,
        "share": asked.span.share,
        "reports": service.discoveries.reports(held),
        "needed": held.current.needed,
        "least": LEAST_REPORTS,
        "prefixes": len(asked.candidates.open),
        "values": len(asked.candidates.finished),
        "cells": asked.candidates.cells,
        "report_bytes": asked.plan.mechanism.report_bytes,
    }


_TEXT = {"type": "string"}
_TERMS = {
    "title": {"type": "string", "maxLength": 200},
    "question": {"type": "string", "maxLength": 2000},
    "automatic": {"type": "boolean", "default": False, "description": "End a round as soon as it has its reports."},
    "write_token": {"type": "boolean", "default": False, "description": "Whether uploads need a write token."},
}
REQUEST = {
    "type": "object",
    "additionalProperties": False,
    "required": ["epsilon", "users"],
    "properties": {
        "epsilon": {"type": "number", "exclusiveMinimum": 0, "maximum": 16},
        "users": {"type": "integer", "minimum": 100, "description": "About how many people will take part."},
        "top": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 20},
        "bits": {"type": "integer", "minimum": 1, "maximum": 64, "description": "Values are keys of so many bits."},
        "most_bytes": {"type": "integer", "minimum": 1, "description": "Values are texts of at most so many bytes."},
        "rounds": {"type": "integer", "minimum": 1, "maximum": 24},
        "name": {"type": "string", "description": "Tells discoveries apart that are otherwise alike."},
        **_TERMS,
    },
}
DISCOVERY = {
    "type": "object",
    "required": ["fingerprint", "short", "state", "epsilon", "users", "top", "round", "rounds"],
    "properties": {
        "fingerprint": _TEXT,
        "short": _TEXT,
        "state": {"enum": ["running", "done"]},
        **_TERMS,
        "round": {"type": ["object", "null"], "description": "The round under way, with its reports so far."},
        "rounds": {"type": "array", "description": "The rounds that are over."},
    },
}
_ONE = {"application/json": DISCOVERY}
_LIST = {"type": "object", "properties": {"discoveries": {"type": "array", "items": DISCOVERY}}}
_DOCUMENT = {200: ("The document.", {"application/json": {"type": "object"}}), 304: ("Unchanged.", {})}
_RESULT = {
    200: (
        "The values.",
        {
            "application/json": {"type": "object"},
            "text/csv": {"type": "string"},
            "application/vnd.apache.arrow.file": {"type": "string", "format": "binary"},
        },
    )
}
_ROUND = Parameter(
    "round", "The number of the round to end.", {"type": "integer", "minimum": 0, "maximum": 999_999}, required=True
)
_LEVEL = Parameter(
    "level", "How probable it is that an interval holds the true frequency.",
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.9},
)  # fmt: skip
_FORMAT = Parameter("format", "How the answer is written.", {"enum": list(FORMATS), "default": "json"})
_PATH = "/v1/discoveries/{discovery}"

UPLOADS = Route(
    "POST", f"{_PATH}/rounds/{{round}}/reports", "write",
    "Store reports of a round. The answers 201 and 200 are sent when they are on the disk.", _unused,
    uploads.ROUTE.answers, (uploads.UPLOAD_ID_HEADER,), uploads.ROUTE.body, uploads.ROUTE.problems, open=True,
)  # fmt: skip
ROUTES = (
    UPLOADS,
    Route("POST", "/v1/discoveries", "admin", "Create a discovery.", create,
          {201: ("Created.", _ONE), 200: ("Created before.", _ONE)}, body={"application/json": REQUEST},
          problems=(400, 408, 409, 413, 415, 422, 429, 503, 507)),
    Route("GET", "/v1/discoveries", "read", "All discoveries.", every, {200: ("", {"application/json": _LIST})},
          problems=(422, 503)),
    Route("GET", _PATH, "read", "One discovery, and how far it is.", one, {200: ("The discovery.", _ONE)},
          problems=(404, 422, 503)),
    Route("GET", f"{_PATH}/document", None, "The discovery as devices need it.", document, _DOCUMENT,
          problems=(404, 422, 503), open=True),
    Route("GET", f"{_PATH}/round", None, "The round under way as devices need it.", current, _DOCUMENT,
          problems=(404, 410, 422, 503), open=True),
    Route("POST", f"{_PATH}/advance", "admin", "End a round and begin the next one.", advance,
          {200: ("The discovery.", _ONE)}, (_ROUND,), problems=(404, 409, 422, 503, 507)),
    Route("GET", f"{_PATH}/result", "read", "The values that were found.", result, _RESULT, (_LEVEL, _FORMAT),
          problems=(404, 409, 422, 503)),
)  # fmt: skip
