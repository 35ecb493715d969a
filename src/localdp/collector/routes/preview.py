"""A study before it is made: what it would take and give, for people who are about to ask a question.

The body is the one that creates a study, and the number of people who are expected. Nothing is stored.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from localdp.advice import Option
from localdp.advice.scales import advise_scale
from localdp.advice.shapes import shaped
from localdp.collector.problems import invalid
from localdp.collector.requests import requested
from localdp.collector.routes.route import Route, json_body, json_response
from localdp.collector.routes.studies import REQUEST
from localdp.collector.service import Service
from localdp.collector.settings import Settings
from localdp.errors import LocalDPError
from localdp.mechanisms import offered
from localdp.questions import Scale
from localdp.studies import Part, Study
from localdp.studies.series import Series
from localdp.validation import checked_users

WITHIN, SURE = 0.02, 0.9
"""`people_needed` is for shares that are known to within two points, nine times out of ten."""
_COMMON = 0.1  # the share of the users that such an item has


async def preview(service: Service, request: Request) -> Response:
    body = await json_body(service, request)
    if not isinstance(body, dict) or set(body) != {"people", "study"}:
        raise invalid('a preview is asked for by {"people": 10000, "study": {...}}, with the fields of a study')
    return json_response(await service.pools.for_analysts("preview", _preview, body, service.settings))


def _preview(body: dict[str, Any], settings: Settings) -> dict[str, Any]:
    study = requested(body["study"], settings)[0]
    try:
        people = checked_users(body["people"])
        parts = [] if isinstance(study, Series) else [_part(part, people) for part in study.parts()]
    except LocalDPError as error:
        raise invalid(str(error)) from error
    return {"kind": study.kind, "epsilon": study.epsilon, "people": people, "rounds": _rounds(study), "parts": parts}


def _rounds(study: Study) -> dict[str, Any] | None:
    """What a study with rounds can find, in words."""
    if not isinstance(study, Series):
        return None
    return {"expected": study.expected_rounds, "reach": study.promise()}


def _part(part: Part, people: int) -> dict[str, Any]:
    """What one part gives: how precise its shares are, or its mean and its median."""
    asked, plan = max(1, math.floor(people * part.span.share)), part.plan
    mechanism = plan.mechanism
    made: dict[str, Any] = {
        "key": part.key,
        "people": asked,
        "share": part.span.share,
        "mechanism": mechanism.name,
        "mechanisms": list(offered(mechanism.options())),
        "report_bytes": mechanism.report_bytes,
        "cells": plan.domain.size,
        "std_error_share": None,
        "visible_share": None,
        "people_needed": None,
        "mean_error": None,
        "median_error": None,
    }
    if mechanism.shows_raw:
        option = Option(mechanism, (shaped("equal", plan.domain.size, asked),))
        error, seen = option.standard_error_at(_COMMON) / asked, option.smallest_share
        reach = NormalDist().inv_cdf((1 + SURE) / 2) * error
        made["std_error_share"], made["visible_share"] = error, seen if seen <= 1 else None
        made["people_needed"] = math.ceil(people * (reach / WITHIN) ** 2)
    if isinstance(plan.question, Scale):
        advice = advise_scale(plan.question, asked, mechanism.requested_epsilon)
        if advice.recommended == mechanism.name:
            made["mean_error"], made["median_error"] = advice.mean_error, advice.median_error
    return made


_BODY = {
    "type": "object",
    "additionalProperties": False,
    "required": ["people", "study"],
    "properties": {"people": {"type": "integer", "minimum": 1, "maximum": 10**12}, "study": REQUEST},
}
_SCHEMA = {"type": "object", "required": ["kind", "epsilon", "people", "rounds", "parts"]}

ROUTES = (
    Route("POST", "/v1/preview", "read", "What a study would take and give, before it is made.", preview,
          {200: ("The preview.", {"application/json": _SCHEMA})}, body={"application/json": _BODY}),
)  # fmt: skip
