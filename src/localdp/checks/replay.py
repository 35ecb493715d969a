"""Randomness read from given bytes, for golden vectors: the same bytes must give the same report in every language."""

from __future__ import annotations

import numpy as np

from localdp.randomness.keystream import Entropy, Who
from localdp.types import Words


class Replay(Entropy):
    """Little-endian 64-bit words out of `data`, in order; `EOFError` when they run out."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.used = 0

    def bits(self, who: Who, count: int) -> Words:  # noqa: ARG002 (a word has all the bits anyone may ask for)
        return self.integers(who)

    def integers(self, who: Who) -> Words:
        size = 8 * (who if isinstance(who, int) else who.size)
        if self.used + size > len(self._data):
            raise EOFError(f"{len(self._data)} bytes of randomness are not enough")
        words = np.frombuffer(self._data, "<u8", size // 8, self.used).astype(np.uint64)
        self.used += size
        return words
