"""What a device keeps, as bytes: its secret, and a keyed digest for everything that it has paid for.

    offset  bytes  content
    0       8      "LDPDEV1\\n"
    8       8      the generation: 1 for a new device, and one more with every change
    16      32     the secret of the device
    48      4      the number of entries k
    52      24 k   for each entry a digest (16 bytes) and the epsilon that was paid (a float of 8 bytes)
    ..      32     the SHA-256 of everything before

Numbers are little-endian. Values are not in the file, only digests of them. The digests are keyed with the secret,
which is in the same file: whoever can read the file can try all items of a plan and see which of them were reported.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from localdp.client.private_files import sealed, unsealed

SECRET_BYTES = 32
DIGEST_BYTES = 16
_MAGIC = b"LDPDEV1\n"
_HEADER = struct.Struct(f"<8sQ{SECRET_BYTES}sI")
_ENTRY = struct.Struct(f"<{DIGEST_BYTES}sd")


@dataclass(frozen=True)
class Record:
    """The secret of a device, and the epsilon that was paid for each digest."""

    generation: int
    secret: bytes = field(repr=False)
    paid: Mapping[bytes, float] = field(repr=False)

    @classmethod
    def new(cls) -> Record:
        """The record of a new device, with a secret from the operating system."""
        return cls(1, os.urandom(SECRET_BYTES), {})

    def with_payment(self, digest: bytes, epsilon: float) -> Record:
        """The next generation, in which the digest is paid for."""
        return Record(self.generation + 1, self.secret, {**self.paid, digest: epsilon})

    def united(self, other: Record) -> Record:
        """What this record or another one of the same device says was paid for.

        Usually one of them holds everything that the other one holds. After a partial restore from a backup, each may
        hold payments that the other one lacks.
        """
        older, newer = sorted((self, other), key=lambda record: record.generation)
        paid = {**older.paid, **newer.paid}
        for digest in older.paid.keys() & newer.paid.keys():
            paid[digest] = max(older.paid[digest], newer.paid[digest])
        return newer if paid == newer.paid else Record(newer.generation + 1, newer.secret, paid)

    def to_bytes(self) -> bytes:
        """The record as it is written to a file."""
        parts = [_HEADER.pack(_MAGIC, self.generation, self.secret, len(self.paid))]
        parts += [_ENTRY.pack(digest, epsilon) for digest, epsilon in self.paid.items()]
        return sealed(b"".join(parts))

    @classmethod
    def from_bytes(cls, data: bytes) -> Record | None:
        """The record in these bytes, or None if a single bit of them is not as it was written."""
        content = unsealed(data)
        if content is None or len(content) < _HEADER.size:
            return None
        magic, generation, secret, count = _HEADER.unpack_from(content)
        if magic != _MAGIC or len(content) != _HEADER.size + count * _ENTRY.size:
            return None
        paid: dict[bytes, float] = dict(_ENTRY.iter_unpack(content[_HEADER.size :]))
        if len(paid) != count or not all(math.isfinite(epsilon) and epsilon > 0 for epsilon in paid.values()):
            return None
        return cls(generation, secret, paid)
