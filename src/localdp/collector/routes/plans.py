"""Plans: create, list, read, close, and the document that devices fetch."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from localdp.collector.collections import Collection, iso_day, iso_moment
from localdp.collector.fields import OF_PLAN, ORIGIN, TERMS, TEXT, TEXT_OR_NOT, WHOLE, record
from localdp.collector.problems import Problem
from localdp.collector.requests import requested_plan
from localdp.collector.routes.route import Route, json_body, json_response, tagged
from localdp.collector.service import Service
from localdp.collector.storage import aggregates, collections, uploads
from localdp.collector.storage.aggregates import COUNTED, SUSPECT, TAKEN_BACK
from localdp.collector.storage.collections import SHORT
from localdp.plan import Plan


async def create(service: Service, request: Request) -> Response:
    """Make a new collection. The same request again is answered with 200."""
    body = await json_body(service, request)
    plan, terms = await service.pools.for_operators(requested_plan, body, service.settings)
    now = int(time.time())
    made = await service.writer.call(lambda session: service.collections.add(session, plan, terms, now))
    collection = await service.collection(plan.fingerprint)
    if made is None and collection.terms != terms:
        raise Problem(
            409,
            "plan-exists",
            f"this collector has the plan {plan.fingerprint} already, with another title, question, minimum, dates, "
            "segments or need of a token. Its title and question can be corrected; for all else, close it and create "
            "one that devices see as another: with other items, another mechanism, or a slightly different epsilon. "
            "Devices that have reported then spend epsilon once more",
        )
    answer = await service.pools.for_operators(described, service, collection)
    return json_response(answer, 200 if made is None else 201, {"Location": f"/v1/plans/{plan.fingerprint}"})


async def every(service: Service, request: Request) -> Response:  # noqa: ARG001
    return json_response({"plans": await service.pools.for_operators(_all, service)})


async def one(service: Service, request: Request) -> Response:
    """One collection, how precise its estimates are by now, and what more reports would give."""
    collection = await service.collection(request.path_params["plan"])

    def answer() -> dict[str, Any]:
        found = described(service, collection)
        progress = service.answering.progress(collection, found["counted"], found["suspect"])
        return {**found, "days": _by_day(service, collection), "progress": progress}

    return json_response(await service.pools.for_analysts((collection.id, "plan"), answer))


async def document(service: Service, request: Request) -> Response:
    """The plan as devices need it. It never changes, so a device may keep it."""
    collection = await service.collection(request.path_params["plan"])
    plan = collection.plan
    return tagged(request, plan.to_json(), plan.fingerprint, "public, max-age=86400, immutable")


async def close(service: Service, request: Request) -> Response:
    """Take no more uploads, from now on. A plan that is closed stays so."""
    collection = await service.collection(request.path_params["plan"])
    now = int(time.time())
    await service.writer.call(lambda session: collections.close(session, collection.id, now))
    await service.pools.for_operators(service.collections.refresh)
    return json_response(
        await service.pools.for_operators(described, service, await service.collection(collection.plan.fingerprint))
    )


def _all(service: Service) -> list[dict[str, Any]]:
    return [described(service, collection) for collection in service.collections.every()]


def _by_day(service: Service, collection: Collection) -> list[dict[str, Any]]:
    with service.database.reading() as session:
        rows = aggregates.days(session, collection.where)
    made: dict[int, dict[str, Any]] = {}
    for row in rows:
        day = made.setdefault(row.day, {"day": iso_day(row.day), "reports": 0, "suspect": 0})
        day["reports"] += 0 if row.standing == TAKEN_BACK else row.n
        day["suspect"] += row.suspect + (row.n if row.standing == SUSPECT else 0)
    return list(made.values())


def described(service: Service, collection: Collection) -> dict[str, Any]:
    """A collection as a JSON value: the plan in figures, what was asked for, and how far it is."""
    with service.database.reading() as session:
        rows = aggregates.days(session, collection.where)
        waiting_uploads, waiting_reports = uploads.number_waiting(session, collection.id)
        closed = collections.closed_at(session, collection.id)
    counted, aside, back = (sum(row.n for row in rows if row.standing == one) for one in (COUNTED, SUSPECT, TAKEN_BACK))
    days = [row.day for row in rows if row.n]
    return {
        "id": collection.name,
        "fingerprint": collection.plan.fingerprint,
        "short": collection.plan.fingerprint[:SHORT],
        "state": "closed" if closed is not None else collection.terms.state(time.time()),
        "created": iso_moment(collection.created),
        "closed": None if closed is None else iso_moment(closed),
        **asdict(collection.terms),
        **_figures(collection.plan),
        "reports": counted + aside + waiting_reports,
        "counted": counted,
        "suspect": aside + sum(row.suspect for row in rows),
        "taken_back": back,
        "uploads_waiting": waiting_uploads,
        "first_day": iso_day(min(days)) if days else None,
        "last_day": iso_day(max(days)) if days else None,
        "standard_error": collection.plan.mechanism.variance(counted) ** 0.5 if counted else None,
    }


def _figures(plan: Plan) -> dict[str, Any]:
    mechanism = plan.mechanism
    return {
        "kind": plan.question.name,
        "asks_for": plan.question.describe(),
        "mechanism": mechanism.name,
        "epsilon": mechanism.requested_epsilon,
        "options": mechanism.options(),
        "size": plan.domain.size,
        "other": plan.domain.other,
        "report_bytes": mechanism.report_bytes,
    }


BODY: dict[str, Any] = {
    **OF_PLAN,
    "plan": {"type": "object", "description": "A whole plan, as `localdp plan` writes it, instead of its parts."},
    **TERMS,
}
REQUEST = {"type": "object", "additionalProperties": False, "properties": BODY}
PLAN = record(
    ("fingerprint", "short", "state", "mechanism", "epsilon", "size", "reports", "counted"),
    {
        "id": {"type": "string", "description": "The id of the collection, whatever its plan."},
        "fingerprint": TEXT,
        "short": TEXT,
        "state": {"enum": ["planned", "open", "closed"]},
        "created": TEXT,
        "closed": TEXT_OR_NOT,
        **TERMS,
        **ORIGIN,
        "kind": {"type": "string", "description": "What is asked: choice, choices, scale, or a kind from elsewhere."},
        "asks_for": {"type": "string", "description": "The same in words."},
        "mechanism": TEXT,
        "epsilon": {"type": "number"},
        "size": WHOLE,
        "report_bytes": WHOLE,
        "reports": {"type": "integer", "description": "Reports so far, counted or not."},
        "counted": WHOLE,
        "suspect": {"type": "integer", "description": "Reports that look forged, and are left out of the counts."},
        "taken_back": {"type": "integer", "description": "Reports that an administrator took back."},
        "uploads_waiting": WHOLE,
        "standard_error": {"type": ["number", "null"], "description": "Of an estimated frequency, now."},
        "days": {"type": "array", "description": "Of one collection: the counted reports of each UTC day."},
        "progress": {"type": "object", "description": "Of one collection: what its reports give, and what more would."},
    },
)
_ONE = ("The collection.", {"application/json": PLAN})
_LIST = record(("plans",), {"plans": {"type": "array", "items": PLAN}})
_MADE = {201: ("Created.", {"application/json": PLAN}), 200: ("Created before.", {"application/json": PLAN})}
_DOCUMENT = {200: ("The canonical plan.", {"application/json": {"type": "object"}}), 304: ("Unchanged.", {})}

ROUTES = (
    Route("POST", "/v1/plans", "admin", "Create a collection.", create, _MADE, body={"application/json": REQUEST},
          problems=(409,)),
    Route("GET", "/v1/plans", "read", "All collections.", every, {200: ("", {"application/json": _LIST})}),
    Route("GET", "/v1/plans/{plan}", "read", "One collection, and how far it is.", one, {200: _ONE}),
    Route("GET", "/v1/plans/{plan}/document", None, "The plan as devices need it.", document, _DOCUMENT, open=True),
    Route("POST", "/v1/plans/{plan}/close", "admin", "Take no more uploads.", close, {200: _ONE}),
)  # fmt: skip
