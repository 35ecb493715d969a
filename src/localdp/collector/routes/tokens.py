"""Tokens: make, list, revoke. One that may read a single study until some day is what a shared link holds."""

from __future__ import annotations

import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from localdp.collector.collections import iso_moment
from localdp.collector.fields import TEXT, TEXT_OR_NOT, WHOLE, Parameter, record
from localdp.collector.problems import Problem, invalid
from localdp.collector.routes.route import Route, json_body, json_response
from localdp.collector.service import Service
from localdp.collector.storage import tokens
from localdp.collector.storage.database import Session
from localdp.collector.storage.tokens import StoredToken
from localdp.collector.terms import moment_in
from localdp.collector.tokens import SCOPES, digest_of, new_token
from localdp.validation import shown

_LONGEST_NAME = 200


async def create(service: Service, request: Request) -> Response:
    """Make a token. It is shown in this answer and never again."""
    body = await json_body(service, request)
    if not isinstance(body, dict) or set(body) - {"scope", "name", "plan", "expires"}:
        raise invalid('a token is asked for by {"scope": "read"}; it may also have "name", "plan" and "expires"')
    scope, name, plan = body.get("scope"), body.get("name", ""), body.get("plan")
    if scope not in SCOPES:
        raise invalid(f'"scope" is one of {", ".join(SCOPES)}, not {shown(scope)}')
    if not isinstance(name, str) or len(name) > _LONGEST_NAME or not name.isprintable():
        raise invalid(f'"name" is one line of at most {_LONGEST_NAME} characters, not {shown(name)}')
    if plan is not None and (scope == "admin" or not isinstance(plan, str)):
        raise invalid('"plan" names a plan or another study, for tokens with the scope write or read')
    token, now = new_token(), int(time.time())
    expires = None if body.get("expires") is None else int(moment_in(body["expires"], "expires", 1))
    if expires is not None and expires <= now:
        raise invalid(f'"expires" is in the past ({shown(body["expires"])}): give a later date')
    number = None if plan is None else (await service.pools.for_operators(service.studies.find, plan)).id

    def job(session: Session) -> StoredToken | None:
        return tokens.add(session, digest_of(token), name, scope, number, now, expires)

    made = await service.writer.call(job)
    service.tokens.forget()
    if made is None:
        raise RuntimeError("two tokens of 32 random bytes are the same")
    return json_response({"token": token, **_described(service, made)}, 201)


async def every(service: Service, request: Request) -> Response:  # noqa: ARG001
    """All tokens, without the tokens themselves, which nobody knows but their holders."""
    return json_response({"tokens": await service.pools.for_operators(_all, service)})


async def revoke(service: Service, request: Request) -> Response:
    """Revoke a token. The last one with the scope admin stays, because without it nobody could make another."""
    number = _ID.read(request.path_params["token"]) if "token" in request.path_params else request.state.query["id"]
    now = int(time.time())

    def job(session: Session) -> bool:
        done = tokens.revoke(session, number, now)
        if done and not tokens.keeps_an_admin(session):
            raise Problem(409, "last-admin", "this is the last token that can make others, so it stays; make one first")
        return done

    done = await service.writer.call(job)
    service.tokens.forget()
    if not done:
        raise Problem(404, "no-such-token", "there is no valid token with this id")
    return Response(None, 204)


async def mine(service: Service, request: Request) -> Response:
    """What the token of this very request allows."""
    return json_response(await service.pools.for_operators(_described, service, request.state.token))


def _all(service: Service) -> list[dict[str, Any]]:
    with service.database.reading() as session:
        return [_described(service, token) for token in tokens.every(session)]


def _described(service: Service, token: StoredToken) -> dict[str, Any]:
    return {
        "id": token.id,
        "name": token.name,
        "scope": token.scope,
        "plan": None if token.collection is None else service.collections.study(token.collection),
        "created": iso_moment(token.created),
        **{
            name: None if moment is None else iso_moment(moment)
            for name, moment in (("revoked", token.revoked), ("expires", token.expires), ("used", token.used))
        },
    }


_TOKEN = record(
    ("id", "name", "scope"),
    {
        "id": WHOLE,
        "name": TEXT,
        "scope": {"enum": list(SCOPES)},
        "plan": TEXT_OR_NOT,
        "created": TEXT,
        "revoked": TEXT_OR_NOT,
        "expires": {**TEXT_OR_NOT, "description": "The moment from which on it is not valid."},
        "used": {**TEXT_OR_NOT, "description": "When it was used last, to the hour."},
    },
)
_NEW = {**_TOKEN, "properties": {"token": TEXT, **_TOKEN["properties"]}}
_REQUEST = {
    "type": "object",
    "required": ["scope"],
    "additionalProperties": False,
    "properties": {
        "scope": {"enum": list(SCOPES)},
        "name": {
            "type": "string",
            "maxLength": _LONGEST_NAME,
            "description": "One line, without characters that cannot be printed.",
        },
        "plan": {"type": ["string", "null"], "description": "With the scopes write and read: for this study only."},
        "expires": {"type": ["string", "null"], "description": "A date, which is the last day, or a moment."},
    },
}
_LIST = {"type": "object", "properties": {"tokens": {"type": "array", "items": _TOKEN}}}
_ID = Parameter(
    "id", "The id of the token.", {"type": "integer", "minimum": 1, "exclusiveMaximum": 10**15}, required=True
)
_GONE = {204: ("Revoked.", dict[str, Any]())}

ROUTES = (
    Route("POST", "/v1/tokens", "admin", "Make a token.", create, {201: ("Made.", {"application/json": _NEW})},
          body={"application/json": _REQUEST}, problems=(404,)),
    Route("GET", "/v1/tokens", "admin", "All tokens.", every, {200: ("", {"application/json": _LIST})}),
    Route("GET", "/v1/token", "read", "What this token allows.", mine, {200: ("", {"application/json": _TOKEN})},
          about_token=True),
    Route("DELETE", "/v1/tokens", "admin", "Revoke a token.", revoke, _GONE, (_ID,), problems=(404, 409, 507)),
    Route("DELETE", "/v1/tokens/{token}", "admin", "Revoke a token.", revoke, _GONE, problems=(409, 507)),
)  # fmt: skip
