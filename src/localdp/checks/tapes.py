"""Every possible run of a mechanism: an entropy source that gives each user one of all tapes of L bits.

With probabilities out of 2^width for a small width, a mechanism reads only a few bits, and running it on all
2^L tapes gives the exact probability of every report as a fraction. Where a uniform draw is rejected
and drawn again, the tape runs out; such tapes are set aside. That is exact too, as long as it happens to the same tapes
whatever the value (which is checked): a rejected draw starts afresh, so it repeats the same law.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from localdp.formats import bitstrings
from localdp.mechanisms import Mechanism
from localdp.randomness.keystream import Entropy, Who
from localdp.types import Flags, Words


class Tapes(Entropy):
    """Give user u the bits of tapes[u], lowest first; `spilled` tells who asked for more than `length` bits."""

    def __init__(self, tapes: Words, length: int, width: int) -> None:
        self.width = width
        self._tapes = tapes
        self._length = length
        self.read = np.zeros(tapes.size, np.uint64)

    @property
    def spilled(self) -> Flags:
        """Who read past the end of their tape, and got zeros there."""
        return self.read > self._length

    def integers(self, who: Who) -> Words:
        return self._take(who, self.width)

    def bits(self, who: Who, count: int) -> Words:
        # Ones in the bits nobody may use: a mechanism that uses them is not uniform any more.
        return self._take(who, count) | ~np.uint64((1 << count) - 1)

    def _take(self, who: Who, count: int) -> Words:
        users = np.arange(self._tapes.size) if isinstance(who, int) else who
        if isinstance(who, int) and who != self._tapes.size:
            raise ValueError("with tapes, every user draws alone: name the users who draw again")
        start = self.read[users]
        self.read[users] += np.uint64(count)
        return self._tapes[users] >> np.minimum(start, np.uint64(63)) & np.uint64((1 << count) - 1)


def bits_read(mechanism: Mechanism) -> int:
    """How many bits a user reads when nothing is rejected (a tape of zeros never is)."""
    tape = Tapes(np.zeros(1, np.uint64), 63, mechanism.width)
    mechanism.randomize(np.zeros(1, np.int64), tape)
    return int(tape.read[0])


class Law:
    """The reports of one value over all tapes of `length` bits: how many tapes give each report."""

    def __init__(self, mechanism: Mechanism, value: int, length: int) -> None:
        source = Tapes(np.arange(1 << length, dtype=np.uint64), length, mechanism.width)
        rows = mechanism.randomize(np.full(1 << length, value, np.int64), source)
        self.read = source.read
        reports, tapes = np.unique(bitstrings.to_integers(rows[~source.spilled]), return_counts=True)
        self._tapes = dict(zip(reports.tolist(), tapes.tolist(), strict=True))
        self._total = int(tapes.sum())

    @property
    def probabilities(self) -> dict[int, Fraction]:
        """Pr(report | value), exactly; a report is the integer of its bits."""
        return {report: Fraction(tapes, self._total) for report, tapes in self._tapes.items()}
