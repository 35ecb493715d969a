"""How long to wait after a failed upload: twice as long after every failure, with some chance in it.

The pause after the k-th failure in a row lies between half and the whole of min(1 hour, 2^k seconds), drawn at random,
so that devices which failed together do not come back together. A server that says how long it wants to be left alone
(Retry-After) is left alone for that long and up to a quarter longer. It can ask for a day at most.

The pause lasts through a restart: a file holds when it ends and how long it is. It is no promise, and is not flushed to
the disk. If the file cannot be written, the pause holds in this process only; if it cannot be read, there is none.
Clocks of devices jump. If a pause seems to end later than it can (the clock went back), it has ended.
"""

from __future__ import annotations

import os
import struct
import time
from contextlib import suppress
from pathlib import Path

from localdp.client.private_files import content, remove_unfinished, write_private

SHORTEST, LONGEST = 1.0, 3600.0
LONGEST_ASKED = 86_400.0
"""The longest Retry-After, in seconds, that a device obeys."""

_ROUNDING = 1e-3  # seconds that adding and subtracting the time of day may cost
_FIELDS = struct.Struct("<Idd")  # failures in a row; when the pause ends, by the clock; how long it is


class Pauses:
    """The pause after failed uploads, kept in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._unwritten = 0.0  # when a pause ends that could not be written, by the clock that never goes back

    def left(self) -> float:
        """The number of seconds until the next upload may be tried."""
        _, ends, length = self._read()
        left = ends - time.time()
        return max(left if 0 < left <= length + _ROUNDING else 0.0, self._unwritten - time.monotonic())

    def failed(self, asked: float | None) -> float:
        """Begin a pause after a failure, and return its length; `asked` is what the server wants, in seconds."""
        failures = self._read()[0]
        length = min(LONGEST, SHORTEST * 2.0 ** min(failures, 60)) * _between(0.5, 1)
        if asked is not None and asked > 0:
            length = max(length, min(asked, LONGEST_ASKED) * _between(1, 1.25))
        self._write(min(failures + 1, 2**32 - 1), length)
        return length

    def hold(self, length: float) -> float:
        """Wait for at least this many seconds, although nothing has failed here; return how long."""
        left = self.left()
        if left < length:
            self._write(self._read()[0], length)
        return max(left, length)

    def succeeded(self) -> None:
        """End the pause."""
        self._unwritten = 0.0
        with suppress(OSError):
            self._path.unlink()

    def _read(self) -> tuple[int, float, float]:
        try:
            failures, ends, length = _FIELDS.unpack(content(self._path) or b"")
        except (OSError, struct.error):  # no pause, or a file that a crash left short
            return 0, 0.0, 0.0
        return failures, ends, length

    def _write(self, failures: int, length: float) -> None:
        data = _FIELDS.pack(failures, time.time() + length, length)
        try:
            write_private(self._path, data, flush=False)
        except OSError:
            self._unwritten = time.monotonic() + length
        else:
            self._unwritten = 0.0
            remove_unfinished(self._path.parent, self._path.name)


def _between(low: float, high: float) -> float:
    """A random number in this range."""
    return low + (high - low) * int.from_bytes(os.urandom(6), "big") / 2**48
