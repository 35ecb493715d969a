"""How long to wait after a failed upload: twice as long after every failure, with some chance in it.

The pause after the k-th failure in a row lies between half and the whole of min(1 hour, 2^k seconds), drawn at random,
so that devices which failed together do not come back together. A server that says how long it wants to be left alone
(Retry-After) is left alone for that long, up to a day.

The pause lasts through a restart: a file holds when it ends and how long it is. It is no promise, and is not flushed to
the disk. Clocks of devices jump. If a pause seems to end later than it can (the clock went back), it has ended.
"""

from __future__ import annotations

import os
import random
import struct
import time
from contextlib import suppress
from pathlib import Path

SHORTEST, LONGEST = 1.0, 3600.0
LONGEST_ASKED = 86_400.0
"""The longest Retry-After, in seconds, that a device obeys."""

_ROUNDING = 1e-3  # seconds that adding and subtracting the time of day may cost
_FIELDS = struct.Struct("<Idd")  # failures in a row; when the pause ends, by the clock; how long it is
_random = random.SystemRandom()


class Pauses:
    """The pause after failed uploads, kept in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def left(self) -> float:
        """The number of seconds until the next upload may be tried."""
        _, ends, length = self._read()
        left = ends - time.time()
        return left if 0 < left <= length + _ROUNDING else 0.0

    def failed(self, asked: float | None) -> float:
        """Begin a pause after a failure, and return its length; `asked` is what the server wants, in seconds."""
        failures = self._read()[0]
        length = min(LONGEST, SHORTEST * 2.0 ** min(failures, 60)) * _random.uniform(0.5, 1)
        if asked is not None and asked > 0:
            length = max(length, min(asked, LONGEST_ASKED) * _random.uniform(1, 1.25))
        data = _FIELDS.pack(min(failures + 1, 2**32 - 1), time.time() + length, length)
        unfinished = self._path.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(data)
        unfinished.replace(self._path)
        return length

    def succeeded(self) -> None:
        """End the pause."""
        with suppress(FileNotFoundError):
            self._path.unlink()

    def _read(self) -> tuple[int, float, float]:
        try:
            failures, ends, length = _FIELDS.unpack(self._path.read_bytes())
        except (FileNotFoundError, struct.error):  # no pause, or a file that a crash left short
            return 0, 0.0, 0.0
        return failures, ends, length
