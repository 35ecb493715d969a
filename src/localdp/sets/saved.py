"""A survey of sets on the disk: what it is, and what its rounds have found so far."""

from __future__ import annotations

import math
import os
from dataclasses import asdict
from typing import Any, TypeVar

from localdp.domain import Domain
from localdp.errors import ArchiveError, LocalDPError
from localdp.formats import sealed_json
from localdp.sets.protocol import FORMAT, State, Survey

_WHAT = "saved survey of sets"
Kind = TypeVar("Kind", bound=Survey)


def save(survey: Survey, path: str | os.PathLike[str]) -> None:
    """Write a file with the state of the survey."""
    state = asdict(survey._state)
    written = {name: _lists(value) for name, value in state.items()}
    sealed_json.save({"survey": survey.document(), "state": written}, path)


def load(kind: type[Kind], path: str | os.PathLike[str]) -> Kind:
    """The survey in a file, as far as it had come."""
    saved = sealed_json.unsealed(sealed_json.read(path, _WHAT), _WHAT, str(path))
    try:
        started = _started(kind, saved["survey"])
        resumed = started._resumed(_state(saved["state"]))
        _ = resumed.result() if resumed.done else resumed.round  # a state that does not fit is refused now, not later
    except (LocalDPError, KeyError, TypeError, ValueError, IndexError) as error:
        raise ArchiveError(f"{path} is not a usable survey: {type(error).__name__} {error}") from None
    return resumed


def _started(kind: type[Kind], document: dict[str, Any]) -> Kind:
    if document["format"] != FORMAT:
        raise ValueError(f"its format is not {FORMAT}")
    given = document["domain"]
    domain = Domain(given["items"] if "items" in given else given["size"], given.get("other"))
    names = ("epsilon", "users", "top", "largest", "name")
    started = kind(domain, **{name: document[name] for name in names})
    if started.document() != document:
        raise ValueError("its groups are not those that its number of users gives")
    return started


def _state(written: dict[str, Any]) -> State:
    seen, doubts = (
        (written["find_seen"], written["count_seen"], written.get("kept", 1.0)),
        (written["count_doubt"], written["least_share"]),
    )
    if not all(0 <= number <= 1 for number in seen) or not all(0 <= number < math.inf for number in doubts):
        raise ValueError("a share is not between 0 and 1")
    if (len(written["reports"]) > 1 and not seen[0]) or (len(written["reports"]) > 2 and not seen[1]):
        raise ValueError("a share that estimates are divided by is 0")
    candidates = tuple(tuple(itemset) for itemset in written["candidates"])
    whole = {name: tuple(written[name]) for name in ("reports", "counts")}
    return State(**(written | whole | {"candidates": candidates}))


def _lists(value: Any) -> Any:
    """Tuples as lists, as JSON has them."""
    return [_lists(one) for one in value] if isinstance(value, tuple) else value
