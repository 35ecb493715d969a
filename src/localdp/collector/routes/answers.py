"""Answers to analysts: estimates, and how they moved."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from localdp.collector.answers import EstimatesQuery, HistoryQuery, Rendered
from localdp.collector.answers.queries import ASKED_BY_NAME, FORMATS, MOST_ITEMS, MOST_OF_TOP, PERIODS, SUSPECTS
from localdp.collector.collections import Collection
from localdp.collector.problems import Problem
from localdp.collector.routes.data import FROM, TO
from localdp.collector.routes.route import Parameter, Route, json_response
from localdp.collector.service import Service
from localdp.errors import TooFewReportsError
from localdp.hitters.rules import RULES

Query = TypeVar("Query", EstimatesQuery, HistoryQuery)


async def estimates(service: Service, request: Request) -> Response:
    """How many people have each item, over a range of days."""
    query = EstimatesQuery.read(request.query_params.multi_items())
    return await _answered(service, request, service.answering.estimates, query)


async def history(service: Service, request: Request) -> Response:
    """How items moved, by day or by week."""
    query = HistoryQuery.read(request.query_params.multi_items())
    return await _answered(service, request, service.answering.history, query)


async def prior(service: Service, request: Request) -> Response:
    """How the fitted prior compares with the data."""
    collection = await service.collection(request.path_params["plan"])
    try:
        return json_response(
            await service.pools.for_analysts((collection.id, "prior"), service.answering.prior, collection)
        )
    except TooFewReportsError as error:
        raise Problem(409, "too-few-reports", str(error)) from None


async def _answered(
    service: Service, request: Request, answer: Callable[[Collection, Query], Rendered], query: Query
) -> Response:
    collection = await service.collection(request.path_params["plan"])
    started = time.perf_counter()
    try:
        rendered = await service.pools.for_analysts((collection.id, answer), answer, collection, query)
    except TooFewReportsError as error:
        raise Problem(409, "too-few-reports", str(error)) from None
    finally:
        service.metrics.observe("answer", time.perf_counter() - started)
    return Response(rendered.body, 200, None, rendered.media_type)


_NUMBER = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
_PRIOR = Parameter("prior", "The family of the prior.", {"enum": list(ASKED_BY_NAME), "default": "auto"})
_LEVEL = Parameter("level", "The probability with which an interval holds the true frequency.", _NUMBER)
_FORMAT = Parameter("format", "How the answer is written.", {"enum": list(FORMATS), "default": "json"})
_ESTIMATES = (
    FROM,
    TO,
    _PRIOR,
    Parameter("top", "Only the most frequent items.", {"type": "integer", "minimum": 1, "maximum": MOST_OF_TOP}),
    Parameter(
        "threshold",
        "Only heavy hitters: above this number of users, or share such as 0.5%.",
        {"type": "string", "minLength": 1, "pattern": r"^[0-9]+(\.[0-9]+)?%?$"},
    ),
    Parameter("rule", "How heavy hitters are chosen.", {"enum": list(RULES)}),
    Parameter("fdr", "With the rule fdr: the share of false ones among the hitters.", _NUMBER),
    _LEVEL,
    _FORMAT,
    Parameter("suspects", "Whether reports that look forged are counted.", {"enum": list(SUSPECTS), "default": "out"}),
)
_HISTORY = (
    Parameter("by", "By day, or by ISO week.", {"enum": list(PERIODS), "default": "day"}),
    FROM,
    TO,
    Parameter("item", "An item to show, as it is written in CSV; may be repeated."),
    Parameter("top", "The most frequent items.", {"type": "integer", "minimum": 1, "maximum": MOST_ITEMS}),
    _PRIOR,
    _LEVEL,
    _FORMAT,
)
_ANSWER = {
    200: (
        "The answer.",
        {
            "application/json": {"type": "object"},
            "text/csv": {"type": "string"},
            "application/vnd.apache.arrow.file": {"type": "string", "format": "binary"},
        },
    )
}

ROUTES = (
    Route("GET", "/v1/plans/{plan}/estimates", "read", "How many people have each item.", estimates, _ANSWER,
          _ESTIMATES, problems=(404, 409, 422, 503)),
    Route("GET", "/v1/plans/{plan}/history", "read", "How items moved, by day or week.", history, _ANSWER,
          _HISTORY, problems=(404, 409, 422, 503)),
    Route("GET", "/v1/plans/{plan}/prior", "read", "The fitted prior against the data.", prior,
          {200: ("The answer.", {"application/json": {"type": "object"}})}, problems=(404, 409, 422, 503)),
)  # fmt: skip
