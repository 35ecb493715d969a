"""A route: its address, who may use it, how it is described, and the function that answers.

The application and its OpenAPI document are both made from these, so neither can have a route that the other lacks, and
no route can forget to ask for a token.
"""

from __future__ import annotations

import errno
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from localdp.collector.bodies import GoneError
from localdp.collector.guard import CORS
from localdp.collector.problems import Problem, full, invalid, unavailable
from localdp.collector.service import Service
from localdp.collector.storage.database import StorageError, StorageFullError
from localdp.errors import LocalDPError
from localdp.formats import canonical_json

_log = logging.getLogger("localdp.collector")
Handler = Callable[[Service, Request], Awaitable[Response]]
Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Parameter:
    """A value in the query or in the headers."""

    name: str
    description: str
    schema: Schema = field(default_factory=lambda: {"type": "string"})
    where: str = "query"
    required: bool = False


@dataclass(frozen=True)
class Route:
    """One method at one path. Without a `scope`, everybody may use it; `write` is asked for by plans that need it.

    `answers` has the media type and the schema of the answer for each status, `body` has the media types and the
    schemas of the request. `open` means that any web page may use it from a browser.
    """

    method: str
    path: str
    scope: str | None
    summary: str
    handler: Handler
    answers: Mapping[int, tuple[str, Mapping[str, Schema]]]
    parameters: tuple[Parameter, ...] = ()
    body: Mapping[str, Schema] | None = None
    problems: tuple[int, ...] = ()
    open: bool = False


class Endpoint:
    """The ASGI application of one route: checks the token, calls the handler, and turns errors into problems."""

    def __init__(self, service: Service, route: Route) -> None:
        self.service, self.route = service, route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        try:
            if self.route.scope in ("read", "admin"):
                await authorize(self.service, authorization_in(scope["headers"]), self.route.scope)
            self.check_query(request)
            response = await self.route.handler(self.service, request)
        except GoneError:
            return
        except Exception as error:
            response = self.problem(error).response()
        if self.route.open:
            response.raw_headers.extend(CORS)
        await response(scope, receive, send)

    def problem(self, error: Exception) -> Problem:
        """The problem that an error is to whoever asked. An error that nobody foresaw is a mistake of ours."""
        if isinstance(error, Problem):
            return error
        if isinstance(error, StorageFullError) or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
            return full()
        if isinstance(error, StorageError):
            return unavailable("the database of the collector does not answer at the moment")
        if isinstance(error, LocalDPError):
            return invalid(str(error))
        self.service.metrics.add("internal_errors")
        # The route as it is described, and not as it was asked for: nothing that a sender chose gets into the log.
        _log.error("a request failed: %s %s", self.route.method, self.route.path, exc_info=error)
        return Problem(500, "internal-error", "the collector made a mistake; its log says which")

    def check_query(self, request: Request) -> None:
        """Refuse parameters that do not exist: a misspelt one would be ignored without a word."""
        known = {one.name for one in self.route.parameters if one.where == "query"}
        for name in request.query_params:
            if name not in known:
                may = f"; there are {', '.join(sorted(known))}" if known else ""
                raise invalid(f"there is no parameter {name[:60]!r} here{may}")


def authorization_in(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The Authorization header of a request, or None. With two of them, a proxy in front could go by the other one."""
    given = [value.decode("latin-1") for name, value in headers if name == b"authorization"]
    if len(given) > 1:
        raise Problem(400, "bad-authorization", "a request has at most one header Authorization")
    return given[0] if given else None


async def authorize(service: Service, authorization: str | None, scope: str, plan: int | None = None) -> None:
    """Check a token, beside the event loop if the database has to be asked."""
    if service.tokens.fresh:
        service.tokens.check(authorization, scope, plan)
    else:
        await service.pools.for_devices(service.tokens.check, authorization, scope, plan)


async def json_body(service: Service, request: Request) -> Any:
    """The body of a request as a JSON value, read strictly; a `Problem` if it is not JSON."""
    body = service.body()
    try:
        data = await body.read(request.scope["headers"], request.receive)
        return await service.pools.for_operators(canonical_json.loads, data)
    except ValueError as error:
        if isinstance(error, LocalDPError):
            raise
        raise Problem(400, "bad-json", f"the body is not JSON in UTF-8: {str(error)[:200]}") from None
    finally:
        body.release()


@lru_cache(maxsize=8)
def shared(text: str) -> bytes:
    """A document as bytes, of which all who fetch it at the same time get one copy."""
    return text.encode()


def tagged(request: Request, text: str, fingerprint: str, caching: str) -> Response:
    """A document with its fingerprint as a tag, or 304 for who has it."""
    tag = f'"{fingerprint}"'
    headers = {"ETag": tag, "Cache-Control": caching}
    known = {one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")}
    if tag in known or "*" in known:
        return Response(None, 304, headers)
    return Response(shared(text), 200, headers, "application/json")


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON value as a response."""
    data = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return Response(data, status, headers, "application/json")
