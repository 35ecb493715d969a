"""Studies of every kind: create, list, read, what devices fetch and send, the next part, the result, the end."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from localdp.collector.answers.results import ResultAnswer
from localdp.collector.collections import Collection, iso_moment
from localdp.collector.fields import FORMAT, OF_DISCOVERY, ORIGIN, TERMS, TEXT, TEXT_OR_NOT, Parameter, record
from localdp.collector.problems import Problem, invalid
from localdp.collector.requests import KINDS, requested
from localdp.collector.routes import uploads
from localdp.collector.routes.discoveries import DOCUMENT, RESULT
from localdp.collector.routes.plans import BODY
from localdp.collector.routes.route import Route, json_body, json_response, tagged
from localdp.collector.service import Service
from localdp.collector.storage.collections import SHORT
from localdp.collector.storage.parts import StoredPart
from localdp.collector.studies import Kept, study_closed
from localdp.studies import Study
from localdp.studies.series import Series


async def create(service: Service, request: Request) -> Response:
    """Make a new study, whose first parts begin at once. The same request again is answered with 200."""
    body = await json_body(service, request)
    study, terms = await service.pools.for_operators(requested, body, service.settings)
    made = await service.pools.for_operators(service.studies.add, study, terms, int(time.time()))
    kept = await service.pools.for_operators(service.studies.find, study.fingerprint)
    if not made and kept.terms != terms:
        raise Problem(
            409,
            "study-exists",
            f"this collector has the {study.what} {study.fingerprint} already, with another title, question, minimum, "
            "dates, segments, need of a token or way to advance, and these are never changed. Use it as it is, or "
            "create one that devices see as another, such as one with another name",
        )

    def answer() -> dict[str, Any]:
        return {**described(service, kept), "form": json.loads(kept.form)}

    location = {"Location": f"/v1/studies/{kept.name}"}
    return json_response(await service.pools.for_operators(answer), 201 if made else 200, location)


async def every(service: Service, request: Request) -> Response:  # noqa: ARG001
    def answer() -> list[dict[str, Any]]:
        return [described(service, kept) for kept in service.studies.every()]

    return json_response({"studies": await service.pools.for_operators(answer)})


async def one(service: Service, request: Request) -> Response:
    kept = await _kept(service, request)

    def answer() -> dict[str, Any]:
        return {**described(service, kept), "progress": _progress(kept.study)}

    return json_response(await service.pools.for_operators(answer))


def _progress(study: Study) -> dict[str, Any] | None:
    """Of a study with rounds: how many people and rounds are expected, and what was found so far."""
    if not isinstance(study, Series):
        return None
    return {
        "users": study.users,
        "expected_rounds": study.expected_rounds,
        "least_reports": study.least_reports,
        "reach": study.promise(),
        "so_far": {name: list(map(_simple, values)) for name, values in study.so_far().columns.items()},
    }


def _simple(value: Any) -> Any:
    """A value of a table as JSON has it."""
    return round(float(value), 6) if isinstance(value, float) else value


async def document(service: Service, request: Request) -> Response:
    """The form of a study, as devices need it. It never changes, so a device may keep it."""
    kept = await _kept(service, request)
    return tagged(request, kept.form, kept.fingerprint, "public, max-age=86400, immutable")


async def part(service: Service, request: Request) -> Response:
    """The part under way, as devices need it. They ask again, and get 304 as long as it is the same."""
    place = request.state.query.get("place")
    kept = await _kept(service, request)
    if kept.study.done:
        raise Problem(409, "study-done", f"this {kept.study.what} is done, and asks nothing any more")
    if kept.closed is not None:
        raise study_closed(kept.study)
    asked = await service.pools.for_devices(_asked, kept, place)
    return tagged(request, asked.document, asked.fingerprint, "public, no-cache")


def _asked(kept: Kept, place: int | None) -> StoredPart:
    """The part under way that asks a device with this place."""
    under_way = kept.under_way
    if place is None:
        if len(under_way) > 1:
            detail = f"{len(under_way)} parts of this {kept.study.what} are under way: give ?place=, where a device is"
            raise invalid(detail, "which-part")
        return under_way[0]
    found = kept.study.part_at(place)
    if found is None:
        raise Problem(404, "not-asked", f"no part under way of this {kept.study.what} asks a device with this place")
    return next(one for one in under_way if one.key == found.key)


async def advance(service: Service, request: Request) -> Response:
    """End the parts under way and begin what follows. If the part that is named is over already, nothing happens."""
    name, key = request.path_params["study"], request.state.query.get("part")
    kept = await service.pools.for_rounds(service.studies.advance, name, key)
    return json_response(await service.pools.for_operators(described, service, kept))


async def close(service: Service, request: Request) -> Response:
    """Take no more uploads, from now on. A study that is closed stays so."""
    kept = await service.pools.for_operators(service.studies.close, request.path_params["study"])
    return json_response(await service.pools.for_operators(described, service, kept))


async def result(service: Service, request: Request) -> Response:
    """The result of a study that is done; of a study that never is, such as a plan, what is released by now."""
    query = request.state.query
    form, name = query["format"], query.get("table")
    kept = await _kept(service, request)
    study = kept.study
    if study.goes_on and not study.done:
        under_way = ", ".join(f"{study.called} {part.key}" for part in kept.under_way)
        said = f"{under_way} is under way" if under_way else "it was closed before"
        raise Problem(409, "not-done", f"this {study.what} is not done: {said}")

    def answer() -> Response:
        n, tables, notes = service.results.of(kept, query.get("segment"), query.get("given"))
        if name is not None and name not in tables:
            raise invalid(f'"table" is one of {", ".join(tables)}')
        about = {"id": kept.name, "fingerprint": kept.fingerprint, "kind": study.kind, "n": n}
        if form == "json" and query.get("given") is None:
            about["summaries"] = service.results.summaries(kept, query.get("segment"), tables)
        rendered = ResultAnswer(about, tables, notes, name or next(iter(tables))).rendered(form)
        return Response(rendered.body, 200, None, rendered.media_type)

    return await service.pools.for_analysts((kept.id, "result"), answer)


class PartUploads(uploads.Uploads):
    """The endpoint that takes the uploads of a part."""

    async def collection(self, scope: Scope) -> Collection:
        studies, named = self.service.studies, (scope["path_params"]["study"], scope["path_params"]["part"])
        known = studies.known_part(*named)
        return await self.service.pools.for_devices(studies.part, *named) if known is None else known


async def _unused(service: Service, request: Request) -> Response:
    raise NotImplementedError("the endpoint of uploads answers by itself")


async def _kept(service: Service, request: Request) -> Kept:
    return await service.pools.for_devices(service.studies.find, request.path_params["study"])


def described(service: Service, kept: Kept) -> dict[str, Any]:
    """A study as a JSON value: what it is, what was asked for beside it, and its parts."""
    under_way = kept.under_way
    shares = {} if kept.study.goes_on else {one.key: one.span.share for one in kept.study.parts()}
    return {
        "id": kept.name,
        "fingerprint": kept.fingerprint,
        "short": kept.fingerprint[:SHORT],
        "kind": kept.kind,
        "state": kept.state(time.time()),
        "created": iso_moment(kept.created),
        "closed": None if kept.closed is None else iso_moment(kept.closed),
        "epsilon": kept.study.epsilon,
        **asdict(kept.terms),
        "parts": [_part(service, kept, one, shares.get(one.key), under_way=one in under_way) for one in kept.parts],
    }


def _part(service: Service, kept: Kept, part: StoredPart, share: float | None, *, under_way: bool) -> dict[str, Any]:
    progress = service.studies.progress(kept, part)
    return {
        "key": part.key,
        "fingerprint": part.fingerprint,
        "under_way": under_way,
        "opened": iso_moment(part.opened),
        "closed": None if part.closed is None else iso_moment(part.closed),
        "reports": progress.reports,
        "suspect": progress.suspect,
        "needed": part.needed,
        "share": share,
    }


_AUTOMATIC = {
    "type": "boolean",
    "default": True,
    "description": "For studies whose parts end: end them as soon as they have their reports.",
}
_ONLY_HERE = {
    "kind": {"enum": list(KINDS), "description": "Which kind of study; its fields are given beside it."},
    "document": {"type": "object", "description": "A whole form of any kind of study, instead of its fields."},
    "largest": {"type": "integer", "minimum": 1, "maximum": 10, "description": "Of sets: find itemsets up to so many."},
    "questions": {"type": "object", "description": "Of a questionnaire: each question by name, such as "
                  '{"diet": {"items": ["vegan", "any"]}, "age": {"low": 10, "high": 90, "step": 10}}.'},
    "cross": {"description": 'Of a questionnaire: pairs of questions that are asked together, or "all".'},
    "automatic": _AUTOMATIC,
}  # fmt: skip
REQUEST = {
    "type": "object",
    "additionalProperties": False,
    "properties": {**OF_DISCOVERY, **BODY, **_ONLY_HERE},
}
PART = record(
    ("key", "fingerprint", "under_way", "reports", "needed", "closed"),
    {
        "key": {"type": "string", "description": "What tells it apart in its study; empty for a plan."},
        "fingerprint": {"type": "string", "description": "Uploads name the part by it."},
        "under_way": {"type": "boolean"},
        "opened": TEXT,
        "closed": TEXT_OR_NOT,
        "reports": {"type": "integer", "description": "Reports so far, counted or not."},
        "suspect": {"type": "integer", "description": "About how many counted reports look forged."},
        "needed": {"type": "integer", "description": "How many reports are waited for; 0 if nothing ends the part."},
        "share": {"type": ["number", "null"], "description": "Of the people who are asked it; null for a round."},
    },
)
STUDY = record(
    ("id", "fingerprint", "short", "kind", "state", "parts"),
    {
        "id": {"type": "string", "description": "The id of the collection, whatever it asks."},
        "fingerprint": TEXT,
        "short": TEXT,
        "kind": TEXT,
        "state": {"enum": ["planned", "open", "closed", "done"]},
        "created": TEXT,
        "closed": TEXT_OR_NOT,
        "epsilon": {"type": "number", "description": "What a device spends."},
        **TERMS,
        **ORIGIN,
        "automatic": _AUTOMATIC,
        "parts": {"type": "array", "items": PART},
        "progress": {"type": ["object", "null"], "description": "Of one study with rounds: how far it is."},
        "form": {"type": "object", "description": "When it is created: the form, as devices fetch it."},
    },
)
_ONE = {"application/json": STUDY}
_LIST = record(("studies",), {"studies": {"type": "array", "items": STUDY}})
_PLACE = Parameter(
    "place", "The place of the device, if several parts are under way.",
    {"type": "integer", "minimum": 0, "exclusiveMaximum": 10**15},
)  # fmt: skip
_KEY = Parameter("part", "The key of a part to end, so that nothing happens if it is over already.")
_TABLE = Parameter("table", "Which table CSV and Arrow hold; the first by default.")
_SEGMENT = Parameter("segment", "Of a questionnaire: only the reports with this label.")
_GIVEN = Parameter("given", "Of a questionnaire: what people with one answer say, such as diet:vegan.")
_PATH = "/v1/studies/{study}"

ROUTES = (
    replace(uploads.ROUTE, path=f"{_PATH}/parts/{{part}}/reports", handler=_unused, endpoint=PartUploads,
            summary="Store reports of a part. The answers 201 and 200 are sent when they are on the disk."),
    Route("POST", "/v1/studies", "admin", "Create a study.", create,
          {201: ("Created.", _ONE), 200: ("Created before.", _ONE)}, body={"application/json": REQUEST},
          problems=(409,)),
    Route("GET", "/v1/studies", "read", "All studies.", every, {200: ("", {"application/json": _LIST})}),
    Route("GET", _PATH, "read", "One study, and how far it is.", one, {200: ("The study.", _ONE)}),
    Route("GET", f"{_PATH}/document", None, "The form of a study as devices need it.", document, DOCUMENT, open=True),
    Route("GET", f"{_PATH}/part", None, "The part under way as devices need it.", part, DOCUMENT, (_PLACE,),
          problems=(409,), open=True),
    Route("POST", f"{_PATH}/advance", "admin", "End the parts under way and begin what follows.", advance,
          {200: ("The study.", _ONE)}, (_KEY,), problems=(409,)),
    Route("POST", f"{_PATH}/close", "admin", "Take no more uploads.", close, {200: ("The study.", _ONE)}),
    Route("GET", f"{_PATH}/result", "read", "The tables of the result.", result, RESULT,
          (FORMAT, _TABLE, _SEGMENT, _GIVEN), problems=(409,)),
)  # fmt: skip
