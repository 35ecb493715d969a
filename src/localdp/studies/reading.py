"""A study of any kind from text: from its form, or from its state as `save` writes it."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, TypeVar

from localdp.errors import InvalidInputError, PlanError
from localdp.formats import canonical_json, sealed_json
from localdp.plan.limits import Limits
from localdp.studies.single import Single
from localdp.studies.study import NO_LIMITS, Study, from_state

_LIBRARY = {
    "plan": ("localdp.studies", "Single"),
    "discovery": ("localdp.discovery", "Discovery"),
    "questionnaire": ("localdp.questionnaires", "Questionnaire"),
    "sets": ("localdp.sets", "Survey"),
}
"""The kinds of the library by name: where they are. They are loaded when a study of the kind is read."""

_Kind = TypeVar("_Kind", bound=type[Study])
_OTHERS: dict[str, type[Study]] = {}
_FORMAT = re.compile(r"localdp-([a-z0-9+-]+)/1")
_SEALED = re.compile(r"[0-9a-f]{64}\n")


def register(kind: _Kind) -> _Kind:
    """Make a kind of study of your own known by its name, so that its documents can be read. It can decorate."""
    if kind.kind in _LIBRARY or not _FORMAT.fullmatch(kind.format()):
        raise InvalidInputError(f"{kind.kind!r:.60} is taken, or is no name for a kind of study")
    _OTHERS[kind.kind] = kind
    return kind


def study_in(text: str | bytes, limits: Limits = NO_LIMITS) -> Study:
    """The study that a document or a saved state describes. Anything else is a `PlanError`.

    `limits` are those of a device: a study that asks for more is a `PlanLimitError`.

    >>> from localdp import Discovery, Plan
    >>> study_in(Plan(["tea", "coffee"], epsilon=1.0).to_json())
    <Single <Plan ...>>
    >>> discovery = Discovery(bits=16, epsilon=2.0, users=10_000)
    >>> study_in(discovery.to_json()).fingerprint == discovery.fingerprint
    True
    """
    saved = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    if isinstance(saved, str) and _SEALED.match(saved):
        kind = _kind(_format_in_state(saved))
        if kind is None:
            raise PlanError("this is the state of a kind of study that is not known here")
        found = from_state(kind, saved)
        found.check_limits(limits)
        return found
    return (_kind(_format(text)) or Single).from_json(text, limits)


def _format(text: Any) -> Any:
    """What a document says that it is; None if it says nothing."""
    try:
        document = canonical_json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    return document.get("format") if isinstance(document, dict) else None


def _format_in_state(text: str) -> Any:
    """The format of the study in a saved text; None if there is none."""
    saved = sealed_json.unsealed(text, "saved study")
    documents = [value for value in saved.values() if isinstance(value, dict)] if isinstance(saved, dict) else []
    return next((document["format"] for document in documents if "format" in document), None)


def _kind(format_: Any) -> type[Study] | None:
    """The kind of study whose documents have this format; None if there is none."""
    found = _FORMAT.fullmatch(format_) if isinstance(format_, str) else None
    if found is None:
        return None
    name = found[1]
    if name in _LIBRARY:
        module, kind = _LIBRARY[name]
        return getattr(import_module(module), kind)  # type: ignore[no-any-return]
    return _OTHERS.get(name)
