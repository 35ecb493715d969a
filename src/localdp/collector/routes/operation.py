"""What operators and programs need: health, readiness, metrics, the OpenAPI document, and the dashboard."""

from __future__ import annotations

from contextlib import suppress

from starlette.requests import Request
from starlette.responses import Response

from localdp.collector.routes.pages import index
from localdp.collector.routes.route import Route, json_response
from localdp.collector.routes.uploads import STATUS
from localdp.collector.service import Service
from localdp.collector.storage.database import StorageError


async def healthy(service: Service, request: Request) -> Response:  # noqa: ARG001
    return json_response({"status": "ok"})


async def ready(service: Service, request: Request) -> Response:  # noqa: ARG001
    """The database can be written, so uploads can be taken."""
    await service.readiness.check()
    return json_response({"status": "ready"})


async def metrics(service: Service, request: Request) -> Response:  # noqa: ARG001
    gauges = {
        "uploads_queued": ("Uploads that wait for the writer.", float(service.writer.waiting)),
        "body_bytes": ("Bytes of bodies in memory.", float(service.memory.taken)),
        "start_time_seconds": ("When the process was started.", service.started),
    }
    with suppress(StorageError):  # the other figures are of use while the database is away
        size = await service.pools.for_operators(service.database.size)
        gauges["database_bytes"] = ("Bytes of the database.", float(size))
    return Response(service.metrics.text(gauges), 200, None, "text/plain; version=0.0.4; charset=utf-8")


async def openapi(service: Service, request: Request) -> Response:  # noqa: ARG001
    """The description of all routes, which the application has made."""
    return json_response(request.app.state.openapi)


async def page(service: Service, request: Request) -> Response:  # noqa: ARG001
    return index(request)


_STATUS = {"application/json": STATUS}
ROUTES = (
    Route("GET", "/healthz", None, "Whether the process answers.", healthy, {200: ("It does.", _STATUS)}),
    Route("GET", "/readyz", None, "Whether uploads can be stored.", ready, {200: ("They can.", _STATUS)},
          problems=(503, 507)),
    Route("GET", "/metrics", None, "Figures for Prometheus.", metrics,
          {200: ("", {"text/plain": {"type": "string"}})}, problems=(503,)),
    Route("GET", "/openapi.json", None, "This document.", openapi, {200: ("", {"application/json": {}})}),
    Route("GET", "/", None, "The dashboard, a page for people.", page, {200: ("", {"text/html": {"type": "string"}})}),
)  # fmt: skip
