"""Discoveries by the routes that they had before there were routes of studies, with the same answers.

All of them are studies, and can be asked for there too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from localdp.collector.answers.queries import LEVEL
from localdp.collector.answers.results import FoundAnswer
from localdp.collector.collections import Collection, iso_moment
from localdp.collector.fields import FORMAT, OF_DISCOVERY, TABLES, TERMS, TEXT, Parameter, record
from localdp.collector.problems import Problem, invalid, unknown_discovery
from localdp.collector.requests import KINDS, check_fields, made, terms_of
from localdp.collector.routes import uploads
from localdp.collector.routes.route import Route, json_body, json_response, tagged
from localdp.collector.service import Service
from localdp.collector.settings import Settings
from localdp.collector.storage.collections import DISCOVERY, SHORT
from localdp.collector.studies import Kept
from localdp.collector.terms import Terms
from localdp.discovery import Discovery
from localdp.studies import Study
from localdp.studies.series import LEAST_REPORTS

Found = TypeVar("Found", Kept, Collection)


async def create(service: Service, request: Request) -> Response:
    """Make a new discovery, whose first round begins at once. The same request again is answered with 200."""
    body = await json_body(service, request)
    study, terms = await service.pools.for_operators(_requested, body, service.settings)
    made = await service.pools.for_operators(service.studies.add, study, terms, int(time.time()))
    kept = await service.pools.for_operators(service.studies.find, study.fingerprint)
    if not made and kept.terms != terms:
        raise Problem(
            409,
            "discovery-exists",
            f"this collector has the discovery {study.fingerprint} already, with another title, question, need of "
            'a token or way to advance, and these are never changed. Give the new one another "name"',
        )
    answer = await service.pools.for_operators(described, service, kept)
    return json_response(answer, 201 if made else 200, {"Location": f"/v1/discoveries/{kept.fingerprint}"})


def _requested(body: Any, settings: Settings) -> tuple[Study, Terms]:
    if not isinstance(body, dict):
        raise invalid('a discovery is asked for by a JSON object, such as {"epsilon": 2, "users": 100000, "bits": 48}')
    check_fields(body, (*KINDS[DISCOVERY].fields, *_TERMS), "discovery")
    study = made(DISCOVERY, body, settings)
    return study, terms_of(study, body, automatic=False)


async def every(service: Service, request: Request) -> Response:  # noqa: ARG001
    def answer() -> list[dict[str, Any]]:
        return [described(service, kept) for kept in service.studies.every(DISCOVERY)]

    return json_response({"discoveries": await service.pools.for_operators(answer)})


async def one(service: Service, request: Request) -> Response:
    """One discovery: the round under way, and those that are over."""
    kept = await _kept(service, request)
    return json_response(await service.pools.for_operators(described, service, kept))


async def document(service: Service, request: Request) -> Response:
    """The discovery as devices need it. It never changes, so a device may keep it."""
    kept = await _kept(service, request)
    return tagged(request, kept.form, kept.fingerprint, "public, max-age=86400, immutable")


async def current(service: Service, request: Request) -> Response:
    """The round under way, as devices need it. They ask again, and get 304 as long as it is the same."""
    kept = await _kept(service, request)
    if not kept.under_way:
        raise Problem(410, "discovery-done", "this discovery is done, and asks nothing any more")
    (asked,) = kept.under_way
    return tagged(request, asked.document, asked.fingerprint, "public, no-cache")


async def advance(service: Service, request: Request) -> Response:
    """End a round and begin the next one. If the round is over already, nothing happens."""
    kept = await _kept(service, request)
    kept = await service.pools.for_rounds(service.studies.advance, kept.fingerprint, str(request.state.query["round"]))
    return json_response(await service.pools.for_operators(described, service, kept))


async def result(service: Service, request: Request) -> Response:
    kind, level = request.state.query["format"], request.state.query["level"]
    kept = await _kept(service, request)
    discovery = _discovery(kept)
    if not discovery.done:
        raise Problem(409, "not-done", f"this discovery is not done: round {discovery.number} is under way")

    def answer() -> Response:
        rendered = FoundAnswer(discovery.result(), level).rendered(kind)
        return Response(rendered.body, 200, None, rendered.media_type)

    return await service.pools.for_analysts((kept.id, "result"), answer)


class RoundUploads(uploads.Uploads):
    """The endpoint that takes the uploads of a round."""

    async def collection(self, scope: Scope) -> Collection:
        named = scope["path_params"]["discovery"], scope["path_params"]["round"]
        return await self.service.pools.for_devices(_of_discovery, self.service.studies.part, *named)


async def _unused(service: Service, request: Request) -> Response:
    raise NotImplementedError("the endpoint of uploads answers by itself")


async def _kept(service: Service, request: Request) -> Kept:
    return await service.pools.for_devices(_of_discovery, service.studies.find, request.path_params["discovery"])


def _of_discovery(find: Callable[..., Found], *names: str) -> Found:
    """What has these names, if it is of a discovery. A study that is not there is a discovery that is not there."""
    with suppress(Problem):
        found = find(*names)
        if found.kind == DISCOVERY:
            return found
    raise unknown_discovery()


def _discovery(kept: Kept) -> Discovery:
    return cast("Discovery", kept.study)


def described(service: Service, kept: Kept) -> dict[str, Any]:
    """A discovery as a JSON value: what it looks for, and how far it is."""
    discovery = _discovery(kept)
    return {
        "fingerprint": kept.fingerprint,
        "short": kept.fingerprint[:SHORT],
        "state": "running" if kept.closed is None else "done" if discovery.done else "closed",
        "created": iso_moment(kept.created),
        "done": None if kept.closed is None else iso_moment(kept.closed),
        **{name: getattr(kept.terms, name) for name in _TERMS},
        "name": discovery.name,
        "values": _values(discovery),
        "reach": {"share": discovery.reach.share(0.9), "probability": 0.9, "sentence": discovery.reach.sentence()},
        "epsilon": discovery.epsilon,
        "users": discovery.users,
        "top": discovery.top,
        "expected_rounds": discovery.expected_rounds,
        "round": _under_way(service, kept, discovery),
        "rounds": [
            {"number": one.number, "reports": one.reports, "suspect": one.suspect}
            for one in kept.parts
            if one.reports is not None
        ],
    }


def _values(discovery: Discovery) -> dict[str, Any]:
    """The kind of values, without the tables of its code, and with the number of known ones."""
    document = discovery.code.document()
    found = {key: document[key] for key in document if key not in ("code", "books", "known")}
    return found | ({"known": len(discovery.code.known)} if discovery.code.known else {})


def _under_way(service: Service, kept: Kept, discovery: Discovery) -> dict[str, Any] | None:
    if not kept.under_way:
        return None
    asked, (stored,) = discovery.round, kept.under_way
    return {
        "number": asked.number,
        "fingerprint": asked.fingerprint,
        "share": asked.span.share,
        "reports": service.studies.progress(kept, stored).reports,
        "needed": stored.needed,
        "least": LEAST_REPORTS,
        "prefixes": len(asked.candidates.open),
        "values": len(asked.candidates.finished),
        "cells": asked.candidates.cells,
        "report_bytes": asked.plan.mechanism.report_bytes,
    }


_TERMS = {
    **{name: TERMS[name] for name in ("title", "question", "write_token")},
    "automatic": {"type": "boolean", "default": False, "description": "End a round as soon as it has its reports."},
}
REQUEST = {
    "type": "object",
    "additionalProperties": False,
    "required": ["epsilon", "users"],
    "properties": {**OF_DISCOVERY, **_TERMS},
}
_DISCOVERY = record(
    ("fingerprint", "short", "state", "epsilon", "users", "top", "round", "rounds"),
    {
        "fingerprint": TEXT,
        "short": TEXT,
        "state": {"enum": ["running", "done", "closed"]},
        **_TERMS,
        "round": {"type": ["object", "null"], "description": "The round under way, with its reports so far."},
        "rounds": {"type": "array", "description": "The rounds that are over."},
    },
)
_ONE = {"application/json": _DISCOVERY}
_LIST = {"type": "object", "properties": {"discoveries": {"type": "array", "items": _DISCOVERY}}}
DOCUMENT = {200: ("The document.", {"application/json": {"type": "object"}}), 304: ("Unchanged.", {})}
RESULT = {200: ("The values.", TABLES)}
_ROUND = Parameter(
    "round", "The number of the round to end.", {"type": "integer", "minimum": 0, "maximum": 999_999}, required=True
)
_PATH = "/v1/discoveries/{discovery}"

ROUTES = (
    replace(uploads.ROUTE, path=f"{_PATH}/rounds/{{round}}/reports", handler=_unused, endpoint=RoundUploads,
            summary="Store reports of a round. The answers 201 and 200 are sent when they are on the disk.",
            parameters=(uploads.UPLOAD_ID_HEADER,)),
    Route("POST", "/v1/discoveries", "admin", "Create a discovery.", create,
          {201: ("Created.", _ONE), 200: ("Created before.", _ONE)}, body={"application/json": REQUEST},
          problems=(409,)),
    Route("GET", "/v1/discoveries", "read", "All discoveries.", every, {200: ("", {"application/json": _LIST})}),
    Route("GET", _PATH, "read", "One discovery, and how far it is.", one, {200: ("The discovery.", _ONE)}),
    Route("GET", f"{_PATH}/document", None, "The discovery as devices need it.", document, DOCUMENT, open=True),
    Route("GET", f"{_PATH}/round", None, "The round under way as devices need it.", current, DOCUMENT,
          problems=(410,), open=True),
    Route("POST", f"{_PATH}/advance", "admin", "End a round and begin the next one.", advance,
          {200: ("The discovery.", _ONE)}, (_ROUND,), problems=(409,)),
    Route("GET", f"{_PATH}/result", "read", "The values that were found.", result, RESULT, (LEVEL, FORMAT),
          problems=(409,)),
)  # fmt: skip
