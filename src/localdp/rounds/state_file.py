"""The state of a survey in rounds on the disk: one line with a checksum, one line of canonical JSON."""

from __future__ import annotations

import hashlib
import os
from typing import Any

from localdp.errors import ArchiveError
from localdp.formats import canonical_json
from localdp.formats.atomic_write import atomic_write
from localdp.validation import checked_regular_file


def save(state: Any, path: str | os.PathLike[str]) -> None:
    """Write a JSON value and its checksum. A file that is there already is replaced."""
    text = canonical_json.dumps(state)
    with atomic_write(path) as temporary:
        temporary.write_text(f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}\n", "utf-8")


def load(path: str | os.PathLike[str], what: str) -> Any:
    """The JSON value in a file that `save` wrote; `what` is what errors call it, such as "saved discovery"."""
    try:
        digest, text = checked_regular_file(path, ArchiveError).read_text("utf-8").removesuffix("\n").split("\n")
    except ValueError:
        raise ArchiveError(f"{path} is not a {what}") from None
    if hashlib.sha256(text.encode()).hexdigest() != digest:
        raise ArchiveError(f"{path} is not a {what}, or was cut short or altered: its checksum does not match")
    return canonical_json.loads(text)
