"""Uploads one by one, for administrators: which look forged, and which are counted."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from localdp.collector.collections import iso_day
from localdp.collector.fields import TEXT, WHOLE, Parameter, record
from localdp.collector.problems import Problem, invalid
from localdp.collector.routes.route import Route, json_body, json_response
from localdp.collector.service import Service
from localdp.collector.standing import NAMES, take
from localdp.collector.storage import uploads
from localdp.collector.storage.aggregates import COUNTED, TAKEN_BACK
from localdp.collector.storage.database import FoldConflictError

MOST_AT_ONCE = 1_000
"""Uploads that can be listed, or moved, at once."""
_BACK, _IN = "back", "in"
_WAYS = {_BACK: TAKEN_BACK, _IN: COUNTED}


async def every(service: Service, request: Request) -> Response:
    """Uploads of a plan that have a standing, in the order in which they came."""
    collection = await service.collection(request.path_params["plan"])
    given = request.state.query
    after, most = given["after"], given["most"]
    standing = next(key for key, value in NAMES.items() if value == given["standing"])

    def answer() -> list[dict[str, Any]]:
        with service.database.reading() as session:
            return [_described(one) for one in uploads.listed(session, collection.where, standing, after, most)]

    return json_response({"uploads": await service.pools.for_operators(answer)})


async def move(service: Service, request: Request) -> Response:
    """Take uploads back, or in. Estimates follow when at least the minimum of reports has changed."""
    collection = await service.collection(request.path_params["plan"])
    body = await json_body(service, request)
    numbers = body.get("uploads") if isinstance(body, dict) else None
    if isinstance(numbers, list):  # 7.0 is a whole number in JSON
        numbers = [int(one) if isinstance(one, float) and one.is_integer() else one for one in numbers]
    if not isinstance(body, dict) or set(body) != {"take", "uploads"} or body["take"] not in (_BACK, _IN):
        raise invalid('uploads are taken back by {"take": "back", "uploads": [12, 34]}, and in by "in"')
    if not isinstance(numbers, list) or not 1 <= len(numbers) <= MOST_AT_ONCE or not all(map(_is_id, numbers)):
        raise invalid(f'"uploads" is a list of 1 to {MOST_AT_ONCE:,} numbers of uploads, as they are listed')
    try:
        wanted = (collection, sorted(set(numbers)), _WAYS[body["take"]])
        moved = await service.pools.for_operators(take, service.database, service.writer, *wanted)
    except FoldConflictError:
        raise Problem(409, "busy", "this plan is being counted: try again in a moment", {"Retry-After": "1"}) from None
    return json_response({"moved": moved})


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**15


def _described(one: uploads.Listed) -> dict[str, Any]:
    return {
        "upload": one.seq,
        "day": iso_day(one.day),
        "reports": one.count,
        "suspect": one.verdict,
        "standing": NAMES[one.standing],
    }


_UPLOAD = record(
    ("upload", "day", "reports", "suspect", "standing"),
    {
        "upload": {"type": "integer", "description": "The number of the upload."},
        "day": TEXT,
        "reports": WHOLE,
        "suspect": {"type": "integer", "description": "How many of its reports look forged."},
        "standing": {"enum": list(NAMES.values())},
    },
)
_LIST = record(("uploads",), {"uploads": {"type": "array", "items": _UPLOAD}})
_REQUEST = {
    "type": "object",
    "required": ["take", "uploads"],
    "additionalProperties": False,
    "properties": {
        "take": {"enum": list(_WAYS)},
        "uploads": {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_AT_ONCE,
            "items": {"type": "integer", "minimum": 1, "exclusiveMaximum": 10**15},
        },
    },
}
_MOVED = record(("moved",), {"moved": WHOLE})
_QUERY = (
    Parameter("standing", "Which uploads.", {"enum": tuple(NAMES.values()), "default": "suspect"}),
    Parameter(
        "after",
        "Only uploads with larger numbers.",
        {"type": "integer", "minimum": 0, "exclusiveMaximum": 10**15, "default": 0},
    ),
    Parameter("most", "So many at most.", {"type": "integer", "minimum": 1, "maximum": MOST_AT_ONCE, "default": 100}),
)

ROUTES = (
    Route("GET", "/v1/plans/{plan}/uploads", "admin", "Uploads by what became of them.", every,
          {200: ("The uploads.", {"application/json": _LIST})}, _QUERY),
    Route("POST", "/v1/plans/{plan}/uploads", "admin", "Take uploads back, or in.", move,
          {200: ("Done.", {"application/json": _MOVED})}, body={"application/json": _REQUEST}, problems=(409,)),
)  # fmt: skip
