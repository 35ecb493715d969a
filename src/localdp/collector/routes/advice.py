"""Advice before a plan is made: what to expect of a number of items, users and an epsilon."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from localdp.advice import Option, advise
from localdp.collector.fields import EPSILON, SET_SIZE, Parameter
from localdp.collector.problems import invalid
from localdp.collector.routes.route import Route, json_response
from localdp.collector.service import Service

_MOST_USERS = 10**12


async def advice(service: Service, request: Request) -> Response:
    given = request.state.query
    if given["items"] > service.settings.most_items:
        raise invalid(f"advice is for at most {service.settings.most_items:,} items")
    return json_response(await service.pools.for_analysts("advice", lambda: _advice(**given)))


def _advice(items: int, users: int, epsilon: float, **chosen: Any) -> dict[str, Any]:
    found = advise(items, users, epsilon=epsilon, like="equal", **chosen)
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
           Parameter("users", "The number of users.", {**_COUNT, "maximum": _MOST_USERS}, required=True),
           Parameter("epsilon", "The privacy budget of one report.", EPSILON, required=True),
           Parameter("once", "For people who are asked again: the budget of one report alone.", EPSILON),
           Parameter("set_size", "For people who hold several items: how many at most.", SET_SIZE))),
)  # fmt: skip
