"""A source of randomness that reads given bytes. The golden vectors use it, so that other languages can follow."""

from __future__ import annotations

import numpy as np

from localdp.randomness.keystream import Entropy, Who
from localdp.types import Words


class Replay(Entropy):
    """The bytes as little-endian 64-bit words, in order; `EOFError` when they run out.

    >>> source = Replay(bytes([7, 0, 0, 0, 0, 0, 0, 0]))
    >>> source.integers(1).tolist(), source.used
    ([7], 8)
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.used = 0

    def bits(self, who: Who, count: int) -> Words:  # noqa: ARG002 (a word has all the bits anyone may ask for)
        return self.integers(who)

    def integers(self, who: Who) -> Words:
        size = 8 * (who if isinstance(who, int) else who.size)
        if self.used + size > len(self._data):
            raise EOFError(
                f"{len(self._data)} bytes of randomness were given, and this draw needs {self.used + size} in all"
            )
        words = np.frombuffer(self._data, "<u8", size // 8, self.used).astype(np.uint64)
        self.used += size
        return words
