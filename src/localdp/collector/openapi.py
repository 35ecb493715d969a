"""The OpenAPI document, made from the routes."""

from __future__ import annotations

import re
from functools import cache
from http import HTTPStatus
from typing import Any

from localdp import __version__
from localdp.collector.fields import TEXT, WHOLE, Parameter, record
from localdp.collector.problems import MEDIA_TYPE
from localdp.collector.routes import ROUTES
from localdp.collector.routes.route import Route

_FINGERPRINT = {"type": "string", "pattern": "^([0-9a-f]{16}|[0-9a-f]{64})$"}
_STUDY = {"type": "string", "pattern": "^(c[0-9a-f]{20}|[0-9a-f]{16}|[0-9a-f]{64})$"}
_IN_PATH = {
    "plan": ("The plan's fingerprint, or its first 16 digits.", _FINGERPRINT),
    "discovery": ("The discovery's fingerprint, or its first 16 digits.", _FINGERPRINT),
    "round": ("The round's fingerprint: the SHA-256 of its document, in hex.", _FINGERPRINT),
    "study": ("The id of the study, its fingerprint, or the first 16 digits of it.", _STUDY),
    "part": ("The part's fingerprint: the SHA-256 of its document, in hex.", _FINGERPRINT),
    "token": ("The id of the token.", {"type": "integer", "minimum": 1, "exclusiveMaximum": 10**15}),
}
_PROBLEM = record(
    ("type", "title", "status", "code", "detail"),
    {
        "type": TEXT,
        "title": TEXT,
        "status": WHOLE,
        "code": {"type": "string", "description": "What went wrong, for programs."},
        "detail": {"type": "string", "description": "What went wrong, as a sentence."},
    },
)


@cache
def document() -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "localdp collector",
            "version": __version__,
            "description": "Takes private reports, counts them, and answers how many people have each item.",
        },
        "paths": paths,
        "components": {
            "schemas": {"Problem": _PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    # Programs are made from these ids, so they never change; two addresses share the handler that revokes a token.
    operation: dict[str, Any] = {
        "operationId": f"{route.handler.__module__.rpartition('.')[2]}_{route.handler.__name__}_{route.method}".lower()
        + ("_by_path" if "{token}" in route.path else ""),
        "summary": route.summary,
        "parameters": [*_path_parameters(route.path), *map(_parameter, route.parameters)],
        "responses": _responses(route),
    }
    if route.scope is not None:
        operation["security"] = [{}, {"token": []}] if route.scope == "write" else [{"token": []}]
        operation["description"] = (
            "Needs a token with the scope write if the plan says so."
            if route.scope == "write"
            else f"Needs a token with the scope {route.scope}."
        )
    if route.body is not None:
        content = {media: {"schema": schema} for media, schema in route.body.items()}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _path_parameters(path: str) -> list[dict[str, Any]]:
    found = re.findall(r"\{(\w+)\}", path)
    return [
        {"name": name, "in": "path", "required": True, "description": _IN_PATH[name][0], "schema": _IN_PATH[name][1]}
        for name in found
    ]


def _parameter(one: Parameter) -> dict[str, Any]:
    return {
        "name": one.name,
        "in": one.where,
        "required": one.required,
        "description": one.description,
        "schema": one.schema,
    }


def _responses(route: Route) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, (description, content) in route.answers.items():
        responses[str(status)] = {"description": description or HTTPStatus(status).phrase}
        if content:
            responses[str(status)]["content"] = {media: {"schema": schema} for media, schema in content.items()}
    for status in route.every_problem():
        responses[str(status)] = {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
    return responses
