"""Carry an error of this library from a task on another machine to the one who started it.

A task does not raise such an error: an engine would try the task again, to no avail, and wrap the error in its own. The
error travels as text instead.
"""

from __future__ import annotations

import json

from localdp import errors
from localdp.errors import EngineError, LocalDPError, WireCode, WireError

_START, _END = "<localdp-failure>", "</localdp-failure>"


def described(error: Exception) -> str:
    """The error as text, from which `raised` makes it again.

    >>> raised(described(errors.EmptyError("there are no values")))
    EmptyError('there are no values')
    """
    if isinstance(error, FileNotFoundError | PermissionError):
        what = f"{error.filename}: {error.strerror}"
        return described(EngineError(f"{what}; every worker of the cluster must see the files under the same paths"))
    code = error.code.value if isinstance(error, WireError) else ""
    message = str(error).removesuffix(f" [{code}]") if code else str(error)
    return json.dumps({"kind": type(error).__name__, "code": code, "message": message})


def raised(text: str) -> LocalDPError:
    """The error that `described` wrote."""
    found = json.loads(text)
    if found["code"]:
        return WireError(WireCode(found["code"]), found["message"])
    kind = getattr(errors, found["kind"], EngineError)
    made: LocalDPError = kind(found["message"])
    return made


class TaskError(Exception):
    """A failed task, where an engine leaves no other way out than an exception. Its text holds the description."""

    def __init__(self, description: str) -> None:
        super().__init__(f"{_START}{description}{_END}")


def found_in(text: str) -> LocalDPError | None:
    """The error whose description is somewhere in an engine's message, or None."""
    _, start, rest = text.partition(_START)
    description, end, _ = rest.partition(_END)
    return raised(description) if start and end else None


CARRIED = (LocalDPError, FileNotFoundError, PermissionError)
"""Errors that a second attempt would meet again. All others are left to the engine, which tries again."""
