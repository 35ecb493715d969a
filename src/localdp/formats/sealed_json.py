"""JSON with a checksum, for states on the disk: one line with the SHA-256 of the other, one line of canonical JSON.

>>> text = sealed({"round": 2})
>>> unsealed(text, "saved survey")
{'round': 2}
>>> unsealed(text.replace("2}", "3}"), "saved survey")
Traceback (most recent call last):
...
localdp.errors.ArchiveError: this text is not a saved survey, or was cut short or altered: its checksum does not match
"""

from __future__ import annotations

import hashlib
import os
from typing import Any

from localdp.errors import ArchiveError
from localdp.formats import canonical_json
from localdp.formats.atomic_write import atomic_write
from localdp.validation import checked_regular_file


def sealed(value: Any) -> str:
    """A JSON value with its checksum, as text."""
    text = canonical_json.dumps(value)
    return f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}\n"


def unsealed(text: str, what: str, name: str = "this text") -> Any:
    """The JSON value in a text that `sealed` made. `name` and `what` are what errors call it: "x is not a saved y"."""
    try:
        digest, inside = text.removesuffix("\n").split("\n")
        if hashlib.sha256(inside.encode()).hexdigest() == digest:
            return canonical_json.loads(inside)
    except ValueError:
        raise ArchiveError(f"{name} is not a {what}") from None
    raise ArchiveError(f"{name} is not a {what}, or was cut short or altered: its checksum does not match")


def save(value: Any, path: str | os.PathLike[str]) -> None:
    """Write a JSON value and its checksum to a file. A file that is there already is replaced."""
    with atomic_write(path) as temporary:
        temporary.write_text(sealed(value), "utf-8")


def read(path: str | os.PathLike[str], what: str) -> str:
    """The text of such a file, for `unsealed`."""
    try:
        return checked_regular_file(path, ArchiveError).read_text("utf-8")
    except UnicodeDecodeError:
        raise ArchiveError(f"{path} is not a {what}") from None
