"""What people read of a study: the wording in force, for devices and pages; and which versions were shown when."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from localdp.collector.collections import iso_day, iso_moment
from localdp.collector.fields import TERMS, TEXT, TEXT_OR_NOT, WHOLE, record
from localdp.collector.life import WORDS
from localdp.collector.routes.discoveries import DOCUMENT
from localdp.collector.routes.route import Route, json_response, tagged
from localdp.collector.service import Service
from localdp.collector.storage import wordings


async def current(service: Service, request: Request) -> Response:
    """The question and the labels that people read now. The title is for those who run the study."""
    kept = await service.pools.for_devices(service.studies.find, request.path_params["study"])
    terms = kept.terms
    text = json.dumps({"version": terms.wording, "question": terms.question, "labels": dict(terms.labels)})
    return tagged(request, text, f"{kept.name}-{terms.wording}", "public, no-cache")


async def every(service: Service, request: Request) -> Response:
    """All versions, and how many reports came from devices that showed which."""
    kept = await service.pools.for_operators(service.studies.find, request.path_params["study"])

    def answer() -> dict[str, Any]:
        with service.database.reading() as session:
            before, shown = wordings.replaced(session, kept.id), wordings.shown(session, kept.id)
        now = {name: getattr(kept.terms, name) for name in WORDS}
        versions, since = [], kept.created
        for version, until, words in before:
            versions.append(_version(version, since, until, json.loads(words)))
            since = until
        versions.append(_version(kept.terms.wording, since, None, now))
        return {
            "wordings": versions,
            "shown": [
                {"part": part, "day": iso_day(day), "version": version, "reports": reports}
                for part, day, version, reports in shown
            ],
        }

    return json_response(await service.pools.for_operators(answer))


def _version(version: int, since: int, until: int | None, words: dict[str, Any]) -> dict[str, Any]:
    return {
        "version": version,
        "since": iso_moment(since),
        "until": None if until is None else iso_moment(until),
        **words,
    }


_WORDS = {name: TERMS[name] for name in WORDS}
_VERSION = {"version": WHOLE, "since": TEXT, "until": TEXT_OR_NOT, **_WORDS}
_SHOWN = {"part": TEXT, "day": TEXT, "version": WHOLE, "reports": WHOLE}
_EVERY = record(
    ("wordings", "shown"),
    {
        "wordings": {"type": "array", "items": {"type": "object", "properties": _VERSION}},
        "shown": {
            "type": "array",
            "description": "Reports of devices that told which version they showed, by part and day.",
            "items": {"type": "object", "properties": _SHOWN},
        },
    },
)
_PATH = "/v1/studies/{study}"
ROUTES = (
    Route("GET", f"{_PATH}/wording", None, "The question and the labels that people read now.", current, DOCUMENT,
          open=True),
    Route("GET", f"{_PATH}/wordings", "read", "All versions of the wording, and how many read which.", every,
          {200: ("", {"application/json": _EVERY})}),
)  # fmt: skip
