"""The application: the routes, the answers to what is not a route, and the guard around everything."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from localdp.collector.guard import CORS, Guard
from localdp.collector.openapi import document
from localdp.collector.problems import Problem, not_found
from localdp.collector.routes import ROUTES, uploads
from localdp.collector.routes.pages import page_routes
from localdp.collector.routes.route import Endpoint
from localdp.collector.service import Service

_PREFLIGHT = {
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Segment, Upload-Id, Wording",
    "Access-Control-Max-Age": "86400",
}


def create_app(service: Service) -> Guard:
    """The ASGI application of a collector. Its lifespan starts and stops the service."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:  # noqa: ARG001
        service.start()
        try:
            yield
        finally:
            service.stop()

    # What browsers ask before a page of another site may use a route.
    preflights = [StarletteRoute(one.path, _preflight(one.method), methods=["OPTIONS"]) for one in ROUTES if one.open]
    mounted = [
        StarletteRoute(one.path, (one.endpoint or Endpoint)(service, one), methods=[one.method]) for one in ROUTES
    ]
    app = Starlette(
        routes=[*mounted, *preflights, *page_routes()],
        exception_handlers={HTTPException: _no_route},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.openapi = document()
    return Guard(
        app, uploads.Uploads(service, uploads.ROUTE), service.metrics, service.rate, service.settings.read_time
    )


def _preflight(method: str) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:  # noqa: ARG001
        response = Response(None, 204, {"Access-Control-Allow-Methods": method, **_PREFLIGHT})
        response.raw_headers.extend(CORS)
        return response

    return answer


async def _no_route(request: Request, error: Exception) -> Response:
    """What is said where no route fits: 404, or 405 with the methods that there are."""
    if isinstance(error, HTTPException) and error.status_code == 405:
        here = [one for one in request.app.routes if one.path_regex.match(request.url.path)]
        allowed = ", ".join(sorted({method for one in here for method in one.methods}))
        detail = f"there is no {request.method[:20]} here, but {allowed}"
        return Problem(405, "method-not-allowed", detail, {"Allow": allowed}).response()
    if request.method == "OPTIONS":  # so that a page with a wrong address may read what follows
        return await _preflight("*")(request)
    response = not_found().response()
    response.raw_headers.extend(CORS)
    return response
