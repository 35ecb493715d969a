"""A route: its address, who may use it, how it is described, and the function that answers.

The application and its OpenAPI document are both made from these, so neither can have a route that the other lacks, and
no route can forget to ask for a token.
"""

from __future__ import annotations

import errno
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from localdp.collector.bodies import GoneError
from localdp.collector.collections import names_study
from localdp.collector.fields import Parameter, Schema, read_query
from localdp.collector.notes import CURRENT, Note
from localdp.collector.problems import Problem, full, invalid, unavailable
from localdp.collector.service import Service
from localdp.collector.storage import collections, tokens
from localdp.collector.storage.collections import StoredCollection
from localdp.collector.storage.database import Session, StorageError, StorageFullError
from localdp.collector.storage.tokens import StoredToken
from localdp.collector.tokens import check_limit
from localdp.errors import LocalDPError, TooFewReportsError
from localdp.formats import canonical_json

_log = logging.getLogger("localdp.collector")
Handler = Callable[[Service, Request], Awaitable[Response]]


@dataclass(frozen=True)
class Route:
    """One method at one path. Without a `scope`, everybody may use it; `write` is asked for by plans that need it.

    `answers` has the media type and the schema of the answer for each status, `body` has the media types and the
    schemas of the request. `problems` are the statuses of its own beside those that follow from the rest. `open` means
    that any web page may use it from a browser (`guard.OPEN` has its path too), and `about_token` that it says
    something about the token that it is asked with, whatever that is for. A route that needs more than `Endpoint` does
    names its `endpoint`.
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
    about_token: bool = False
    endpoint: type[Endpoint] | None = None

    def every_problem(self) -> list[int]:
        """The statuses of all problems that it can be answered with, in order."""
        named, changes = "{" in self.path, self.scope in ("write", "admin") and self.method in ("POST", "PATCH")
        found = {422, *self.problems, *((401, 403) if self.scope is not None else ()), *((404,) if named else ())}
        found |= {400, 408, 413, 415, 429} if self.body is not None else set()
        found |= {503} if named or self.scope is not None else set()
        return sorted(found | ({507} if changes else set()))


class Endpoint:
    """The ASGI application of one route: checks the token, calls the handler, and turns errors into problems."""

    def __init__(self, service: Service, route: Route) -> None:
        self.service, self.route = service, route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        try:
            if self.route.scope in ("read", "admin"):
                token = request.state.token = await self._authorized(request, self.route.scope)
            self.read_query(request)
            if self.route.scope == "admin" and self.route.method != "GET":
                response = await self._noted(request, token)
            else:
                response = await self.route.handler(self.service, request)
        except GoneError:
            return
        except Exception as error:
            response = self.problem(error).response()
        await response(scope, receive, send)

    async def _authorized(self, request: Request, scope: str) -> StoredToken:
        """The token of a request. One that is for a single collection opens the routes whose paths name that one."""
        authorization = authorization_in(request.scope["headers"])
        token = await authorized(self.service, authorization, scope)
        if token.collection is not None and not self.route.about_token:
            found = await self.service.pools.for_devices(_stored, self.service, named_in(request))
            check_limit(token, scope, None if found is None else found.id)
        return token

    async def _noted(self, request: Request, token: StoredToken) -> Response:
        """Answer an administrator, with a note in the trail: in the transaction of the change, if there is one."""
        name = named_in(request)
        found = await self.service.pools.for_operators(_stored, self.service, name) if name else None
        note = Note(token, f"{self.route.method} {self.route.path}", "" if found is None else found.name)
        reset = CURRENT.set(note)
        try:
            response = await self.route.handler(self.service, request)
            if not note.written:  # everything was as it was asked for already
                await self.service.writer.call(_nothing)
            return response
        finally:
            CURRENT.reset(reset)

    def problem(self, error: Exception) -> Problem:
        """The problem that an error is to whoever asked. An error that nobody foresaw is a mistake of ours."""
        if isinstance(error, Problem):
            return error
        if isinstance(error, StorageFullError) or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
            return full()
        if isinstance(error, TooFewReportsError):  # only answers to analysts raise it
            return Problem(409, "too-few-reports", str(error))
        if isinstance(error, StorageError):
            return unavailable("the database of the collector does not answer at the moment")
        if isinstance(error, LocalDPError):
            return invalid(str(error))
        self.service.metrics.add("internal_errors")
        # The route as it is described, and not as it was asked for: nothing that a sender chose gets into the log.
        _log.error("a request failed: %s %s", self.route.method, self.route.path, exc_info=error)
        return Problem(500, "internal-error", "the collector made a mistake; its log says which")

    def read_query(self, request: Request) -> None:
        """Read the query by the parameters of the route into `request.state.query`.

        One that does not exist is refused: a misspelt one would be ignored without a word.
        """
        request.state.query = read_query(self.route.parameters, request.query_params.multi_items())


def named_in(request: Request) -> str:
    """The name of the collection in the path of a request; empty if it names none."""
    return next((request.path_params[one] for one in ("plan", "study", "discovery") if one in request.path_params), "")


def authorization_in(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The Authorization header of a request, or None. With two of them, a proxy in front could go by the other one."""
    given = [value.decode("latin-1") for name, value in headers if name == b"authorization"]
    if len(given) > 1:
        raise Problem(400, "bad-authorization", "a request has at most one header Authorization")
    return given[0] if given else None


async def authorized(service: Service, authorization: str | None, scope: str) -> StoredToken:
    """Check a token, beside the event loop if the database has to be asked; what is known of it."""
    if service.tokens.fresh:
        token = service.tokens.check(authorization, scope)
    else:
        token = await service.pools.for_devices(service.tokens.check, authorization, scope)
    if service.tokens.newly_used(token):
        with suppress(StorageError):  # the collector is stopping
            service.writer.queue(lambda session: tokens.use(session, token.id, int(time.time())))
    return token


def _nothing(session: Session) -> None:
    """No change."""


def _stored(service: Service, name: str) -> StoredCollection | None:
    """The collection that a path names; None if there is none. What can be no name is not looked for."""
    if not names_study(name):
        return None
    with service.database.reading() as session:
        return collections.find(session, name)


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
    data = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return Response(data, status, headers, "application/json")
