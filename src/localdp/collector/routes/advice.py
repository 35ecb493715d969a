"""Advice before a plan is made: what to expect of a number of items, users and an epsilon."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from localdp.advice import Option, advise
from localdp.collector.problems import invalid
from localdp.collector.routes.route import Parameter, Route, json_response
from localdp.collector.service import Service
from localdp.reading import number, whole_number

_MOST_USERS = 10**12


async def advice(service: Service, request: Request) -> Response:
    """What each mechanism would give."""
    given = request.query_params
    items, users = whole_number(given.get("items"), "items"), whole_number(given.get("users"), "users")
    if items is None or users is None or "epsilon" not in given:
        raise invalid("advice needs the number of items, the number of users and an epsilon")
    if items > service.settings.most_items or users > _MOST_USERS:
        raise invalid(f"advice is for at most {service.settings.most_items:,} items and {_MOST_USERS:,} users")
    epsilon = number(given["epsilon"], "epsilon", "a number above 0 and at most 16")
    once = number(given["once"], "once", "a number above 0 and below epsilon") if "once" in given else None
    set_size = whole_number(given.get("set_size"), "set_size")
    return json_response(await service.pools.for_analysts("advice", _advice, items, users, epsilon, once, set_size))


def _advice(items: int, users: int, epsilon: float, once: float | None, set_size: int | None) -> dict[str, Any]:
    found = advise(items, users, epsilon=epsilon, once=once, set_size=set_size, like="equal")
    return {
        "items": items,
        "users": users,
        "epsilon": epsilon,
        "recommended": found.recommended,
        "why": list(found.why[:2]),
        "options": [_option(option, users) for option in found.options],
    }


def _option(option: Option, users: int) -> dict[str, Any]:
    """One mechanism in figures. The smallest share is None if not even an item that everybody holds stands out."""
    seen = option.smallest_share
    return {
        "mechanism": option.mechanism,
        "report_bytes": option.report_bytes,
        "std_error": option.standard_error,
        "std_error_share": option.standard_error / users,
        "threshold": option.threshold,
        "smallest_share": seen if seen <= 1 else None,
    }


_SCHEMA = {"type": "object", "required": ["recommended", "why", "options"]}
_COUNT = {"type": "integer", "minimum": 1}

ROUTES = (
    Route("GET", "/v1/advice", "read", "What to expect of a plan, before it is made.", advice,
          {200: ("The advice.", {"application/json": _SCHEMA})},
          (Parameter("items", "The number of items.", _COUNT, required=True),
           Parameter("users", "The number of users.", _COUNT, required=True),
           Parameter("epsilon", "The privacy budget of one report.",
                     {"type": "number", "exclusiveMinimum": 0, "maximum": 16}, required=True),
           Parameter("once", "For people who are asked again: the budget of one report alone.",
                     {"type": "number", "exclusiveMinimum": 0, "maximum": 16}),
           Parameter("set_size", "For people who hold several items: how many at most.",
                     {"type": "integer", "minimum": 1, "maximum": 65536})),
          problems=(422, 503)),
)  # fmt: skip
