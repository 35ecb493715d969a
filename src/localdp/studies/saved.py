"""A study on the disk, in one form for all kinds: its document under what it is called, beside its state, sealed.

    {"discovery": {"format": "localdp-discovery/1", ...}, "round": 2, ...}

The format of the document says which kind of study it is.
"""

from __future__ import annotations

import os
from typing import Any, TypeVar

from localdp.errors import ArchiveError, LocalDPError
from localdp.formats import sealed_json
from localdp.studies.study import Study

Kind = TypeVar("Kind", bound=Study)


def save(study: Study, path: str | os.PathLike[str]) -> None:
    """Write a file with the state of a study."""
    sealed_json.save(_written(study), path)


def load(kind: type[Kind], path: str | os.PathLike[str]) -> Kind:
    """The study of this kind in a file, as far as it had come."""
    return from_state(kind, sealed_json.read(path, f"saved {kind.title}"), str(path))


def state_of(study: Study) -> str:
    """The state of a study as text."""
    return sealed_json.sealed(_written(study))


def from_state(kind: type[Kind], text: str, name: str = "this text") -> Kind:
    """The study with this state. Text that is not one, or was altered, is an `ArchiveError`."""
    saved = sealed_json.unsealed(text, f"saved {kind.title}", name)
    try:
        return kind.started(saved.pop(kind.what)).with_state(saved)
    except (LocalDPError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise ArchiveError(f"{name} is not a usable {kind.what}: {type(error).__name__} {error}") from None


def format_in(text: str) -> Any:
    """The format of the study in a saved text; None if there is none."""
    saved = sealed_json.unsealed(text, "saved study")
    documents = [value for value in saved.values() if isinstance(value, dict)] if isinstance(saved, dict) else []
    return next((document["format"] for document in documents if "format" in document), None)


def _written(study: Study) -> dict[str, Any]:
    return {study.what: study.document(), **study.state()}
