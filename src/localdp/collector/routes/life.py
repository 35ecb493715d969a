"""The life of a study after it was made: try, begin, clone, correct, archive, open again, delete; and the trail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from localdp.collector.collections import iso_moment
from localdp.collector.fields import TERMS, Parameter, record
from localdp.collector.life import CLONE, CORRECTED, TRIAL
from localdp.collector.routes.route import Route, json_body, json_response
from localdp.collector.routes.studies import STUDY, described
from localdp.collector.service import Service
from localdp.collector.storage import trail
from localdp.collector.studies import Kept


async def trial(service: Service, request: Request) -> Response:
    """Make a trial of a study: with keys of its own, so that it shares nothing with the study on any device."""
    return await _copied(service, request, TRIAL)


async def clone(service: Service, request: Request) -> Response:
    """Make a new study that asks the same."""
    return await _copied(service, request, CLONE)


async def begin(service: Service, request: Request) -> Response:
    """Begin a draft, and throw away all trials of the study for good."""
    kept = await _done(service, request, service.life.begin)
    service.tokens.forget()
    return await _described(service, kept.name)


async def correct(service: Service, request: Request) -> Response:
    """Correct what people read of a study. What it asks stays."""
    kept = await _done(service, request, service.life.correct, await json_body(service, request))
    return await _described(service, kept.name)


async def reopen(service: Service, request: Request) -> Response:
    kept = await _done(service, request, service.life.reopen)
    return await _described(service, kept.name)


async def delete(service: Service, request: Request) -> Response:
    """Delete a closed study for good, with all its reports."""
    await _done(service, request, service.life.delete)
    service.tokens.forget()
    return Response(None, 204)


async def every(service: Service, request: Request) -> Response:
    most, study = request.state.query["most"], request.state.query.get("study")

    def answer() -> list[dict[str, Any]]:
        with service.database.reading() as session:
            found = trail.newest(session, most, study)
        return [
            {
                "moment": iso_moment(one.moment),
                "token": one.token,
                "who": one.who,
                "what": one.what,
                "study": one.collection or None,
                "detail": one.detail,
            }
            for one in found
        ]

    return json_response({"trail": await service.pools.for_operators(answer)})


async def _done(service: Service, request: Request, act: Callable[..., None], *given: Any) -> Kept:
    """Do something to the study that a path names; the study as it was before."""
    kept = await service.pools.for_operators(service.studies.find, request.path_params["study"])
    await service.pools.for_operators(act, kept, *given)
    return kept


async def _copied(service: Service, request: Request, what: str) -> Response:
    body = await json_body(service, request)
    kept = await service.pools.for_operators(service.studies.find, request.path_params["study"])
    found, made = await service.pools.for_operators(service.life.copy, kept, what, body)
    return await _described(service, found.name, 201 if made else 200, {"Location": f"/v1/studies/{found.name}"})


async def _described(
    service: Service, name: str, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    kept = await service.pools.for_operators(service.studies.find, name)
    return json_response(await service.pools.for_operators(described, service, kept), status, headers)


_ONE = {200: ("The study.", {"application/json": STUDY})}
_CORRECTION = {
    "type": "object",
    "additionalProperties": False,
    "minProperties": 1,
    "properties": {name: TERMS.get(name, {"type": "boolean"}) for name in CORRECTED},
}
_COPY = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "name": {
            "type": "string",
            "pattern": r"^[a-z0-9][a-z0-9_-]{0,59}$",
            "description": "What tells copies apart; the same name again answers with the same copy.",
        },
        **TERMS,
        "automatic": {"type": "boolean"},
    },
}
_COPIED = {201: ("Made.", {"application/json": STUDY}), 200: ("Made before.", {"application/json": STUDY})}
_TRAIL = record(("trail",), {"trail": {"type": "array"}})
_PATH = "/v1/studies/{study}"
ROUTES = (
    Route("POST", f"{_PATH}/trial", "admin", "Make a trial of a study.", trial, _COPIED,
          body={"application/json": _COPY}, problems=(409,)),
    Route("POST", f"{_PATH}/clone", "admin", "Make a new study that asks the same.", clone, _COPIED,
          body={"application/json": _COPY}, problems=(409,)),
    Route("POST", f"{_PATH}/begin", "admin", "Begin a draft, and throw its trials away.", begin, _ONE, problems=(409,)),
    Route("PATCH", _PATH, "admin", "Correct what people read of a study, or archive it.", correct, _ONE,
          body={"application/json": _CORRECTION}),
    Route("POST", f"{_PATH}/reopen", "admin", "Take uploads again.", reopen, _ONE, problems=(409,)),
    Route("DELETE", _PATH, "admin", "Delete a closed study for good, with all its reports.", delete,
          {204: ("Deleted.", {})}, problems=(409,)),
    Route("GET", "/v1/trail", "admin", "What administrators did.", every, {200: ("", {"application/json": _TRAIL})},
          (Parameter("study", "Only what was done to the study with this id."),
           Parameter("most", "So many entries.", {"type": "integer", "minimum": 1, "maximum": 1_000, "default": 100}))),
)  # fmt: skip
