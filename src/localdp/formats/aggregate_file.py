"""Saved aggregates: a binary file (not a pickle) with a checksum.

    "LDPAGG1\\n" | uint32 length | header, canonical JSON {"n": .., "plan": {..}} | int64 counts | sha256 of all before

Integers are little-endian. The checksum has no key: it detects damage, but anybody can make a file with a valid one. A
file is written whole or not at all, so a crash leaves the old file.
"""

from __future__ import annotations

import hashlib
import os
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.errors import ArchiveError
from localdp.formats import canonical_json
from localdp.formats.atomic_write import atomic_write
from localdp.validation import checked_regular_file

_MAGIC = b"LDPAGG1\n"
_LENGTH = struct.Struct("<I")
_DIGEST_BYTES = 32


def pack(header: dict[str, Any], counts: NDArray[np.int64]) -> bytes:
    """The content of a file with this header and these counts."""
    encoded = canonical_json.dumps(header).encode()
    content = _MAGIC + _LENGTH.pack(len(encoded)) + encoded + counts.astype("<i8").tobytes()
    return content + hashlib.sha256(content).digest()


def unpack(data: bytes, name: str) -> tuple[dict[str, Any], NDArray[np.int64]]:
    """The header and the counts in the content of a file; `ArchiveError` if any bit differs from what was written.

    `name` is what errors call it.
    """
    if not data.startswith(_MAGIC):
        raise ArchiveError(f"{name} is not a saved aggregate; `localdp aggregate` makes one from reports")
    content, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    if hashlib.sha256(content).digest() != digest:
        raise ArchiveError(f"{name} was cut short or altered since it was saved: its checksum does not match")
    start = len(_MAGIC) + _LENGTH.size
    try:
        (length,) = _LENGTH.unpack(content[len(_MAGIC) : start])
        header: dict[str, Any] = canonical_json.loads(content[start : start + length])
        return header, np.frombuffer(content[start + length :], "<i8").astype(np.int64)
    except (struct.error, ValueError) as error:
        raise ArchiveError(f"{name} is not a usable aggregate: {error}") from None


def save(path: str | os.PathLike[str], header: dict[str, Any], counts: NDArray[np.int64]) -> None:
    """Write a file with this header and these counts."""
    content = pack(header, counts)
    with atomic_write(path) as temporary:
        temporary.write_bytes(content)


def read(path: str | os.PathLike[str]) -> bytes:
    """The content of a file; `ArchiveError` if it is not a regular file."""
    return checked_regular_file(path, ArchiveError).read_bytes()
