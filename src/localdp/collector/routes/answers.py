"""Answers to analysts: estimates, and how they moved."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from localdp.collector.answers.queries import DifferenceQuery, EstimatesQuery, HistoryQuery, Query
from localdp.collector.answers.rendering import Rendered
from localdp.collector.collections import Collection
from localdp.collector.fields import TABLES
from localdp.collector.routes.route import Route, json_response
from localdp.collector.service import Service

Asked = TypeVar("Asked", bound=Query)


async def estimates(service: Service, request: Request) -> Response:
    return await _answered(service, request, service.answering.estimates, EstimatesQuery)


async def history(service: Service, request: Request) -> Response:
    return await _answered(service, request, service.answering.history, HistoryQuery)


async def difference(service: Service, request: Request) -> Response:
    return await _answered(service, request, service.answering.difference, DifferenceQuery)


async def prior(service: Service, request: Request) -> Response:
    collection = await service.collection(request.path_params["plan"])
    found = await service.pools.for_analysts((collection.id, "prior"), service.answering.prior, collection)
    return json_response(found)


async def _answered(
    service: Service, request: Request, answer: Callable[[Collection, Asked], Rendered], kind: type[Asked]
) -> Response:
    query = kind.of(request.state.query)
    collection = await service.collection(request.path_params["plan"])
    started = time.perf_counter()
    try:
        rendered = await service.pools.for_analysts((collection.id, answer), answer, collection, query)
    finally:
        service.metrics.observe("answer", time.perf_counter() - started)
    return Response(rendered.body, 200, None, rendered.media_type)


_ANSWER = {200: ("The answer.", TABLES)}

ROUTES = (
    Route("GET", "/v1/plans/{plan}/estimates", "read", "How many people have each item.", estimates, _ANSWER,
          EstimatesQuery.known, problems=(409,)),
    Route("GET", "/v1/plans/{plan}/history", "read", "How items moved, by day or week.", history, _ANSWER,
          HistoryQuery.known, problems=(409,)),
    Route("GET", "/v1/plans/{plan}/difference", "read", "What changed between two ranges of days.", difference, _ANSWER,
          DifferenceQuery.known, problems=(409,)),
    Route("GET", "/v1/plans/{plan}/prior", "read", "The fitted prior against the data.", prior,
          {200: ("The answer.", {"application/json": {"type": "object"}})}, problems=(409,)),
)  # fmt: skip
