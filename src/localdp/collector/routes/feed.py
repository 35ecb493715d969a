"""The feed: what has happened, for programs and feed readers that ask now and then (JSON Feed 1.1)."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from localdp.collector.collections import iso_moment
from localdp.collector.fields import TEXT, Parameter, record
from localdp.collector.routes.route import Route, json_response
from localdp.collector.service import Service
from localdp.collector.storage import published


async def every(service: Service, request: Request) -> Response:
    after, most = request.state.query["after"], request.state.query["most"]

    def answer() -> list[dict[str, Any]]:
        with service.database.reading() as session:
            found = published.events(session, after, most)
        return [
            {
                "id": str(one.seq),
                "date_published": iso_moment(one.moment),
                "title": one.sentence,
                "content_text": one.sentence,
                "tags": [one.kind],
                "_localdp": {"study": one.study},
            }
            for one in found
        ]

    items = await service.pools.for_operators(answer)
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": "localdp", "items": items}
    response = json_response(feed)
    response.headers["Content-Type"] = MEDIA_TYPE
    return response


MEDIA_TYPE = "application/feed+json"
_ITEM = record(
    ("id", "date_published", "title", "tags"),
    {
        **dict.fromkeys(("id", "date_published", "title", "content_text"), TEXT),
        "tags": {"type": "array", "items": {"enum": ["minimum", "changed"]}},
        "_localdp": {"type": "object", "properties": {"study": TEXT}},
    },
)
_FEED = record(
    ("version", "title", "items"), {"version": TEXT, "title": TEXT, "items": {"type": "array", "items": _ITEM}}
)
ROUTES = (
    Route("GET", "/v1/feed", "read", "What has happened.", every, {200: ("A JSON Feed.", {MEDIA_TYPE: _FEED})},
          (Parameter("after", "Only what came next after the event with this id.",
                     {"type": "integer", "minimum": 0, "exclusiveMaximum": 10**15, "default": 0}),
           Parameter("most", "So many events.", {"type": "integer", "minimum": 1, "maximum": 1_000, "default": 100}))),
)  # fmt: skip
