"""Every possible random input of a mechanism, called a tape: L random bits, read from the first to the last.

If the probabilities of a mechanism are out of 2^width for a small width, it reads only a few random bits. Running it
on all 2^L tapes gives the exact probability of every report, as a fraction.

Some uniform draws are rejected and drawn again, and then the tape is too short. Such tapes are left out. The result is
still exact if the same tapes are left out for every value (which is checked), because a repeated draw follows the same
law as the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from localdp.checks.failure import require
from localdp.formats import bitstrings
from localdp.randomness.keystream import Entropy, Who
from localdp.types import Flags, Indices, Rows, Words


class Randomizes(Protocol):
    """What is run on tapes: a mechanism, or one of its two perturbations."""

    @property
    def width(self) -> int: ...

    def randomize(self, values: Indices, source: Entropy, /) -> Rows: ...


@dataclass(frozen=True)
class Path:
    """Another way to a report: `randomize` takes the place of an input in some list. All users have the same place."""

    width: int
    randomize: Callable[[Indices, Entropy], Rows]


class Tapes(Entropy):
    """A source of randomness that gives user u the bits of the integer tapes[u], lowest first."""

    def __init__(self, tapes: Words, length: int, width: int) -> None:
        self.width = width
        self._tapes = tapes
        self._length = length
        self.read = np.zeros(tapes.size, np.uint64)

    @property
    def spilled(self) -> Flags:
        """Which users read more than `length` bits; past the end they got zeros."""
        return self.read > self._length

    def integers(self, who: Who) -> Words:
        return self._take(who, self.width)

    def bits(self, who: Who, count: int) -> Words:
        # The unused high bits are ones: a mechanism that uses them by mistake gets wrong probabilities and is caught.
        return self._take(who, count) | ~np.uint64((1 << count) - 1)

    def _take(self, who: Who, count: int) -> Words:
        users = np.arange(self._tapes.size) if isinstance(who, int) else who
        if isinstance(who, int) and who != self._tapes.size:
            raise ValueError(
                f"{who} users draw, but there are {self._tapes.size} tapes: when only some users draw again, pass "
                "their indices instead of their number"
            )
        start = self.read[users]
        self.read[users] += np.uint64(count)
        return self._tapes[users] >> np.minimum(start, np.uint64(63)) & np.uint64((1 << count) - 1)


def bits_read(mechanism: Randomizes) -> int:
    """How many bits a user reads when no draw is rejected. (A tape of zeros is never rejected.)"""
    tape = Tapes(np.zeros(1, np.uint64), 63, mechanism.width)
    mechanism.randomize(np.zeros(1, np.int64), tape)
    return int(tape.read[0])


class Law:
    """The reports for one value over all tapes of `length` bits, and how many bits each tape was read."""

    def __init__(self, mechanism: Randomizes, value: int, length: int) -> None:
        source = Tapes(np.arange(1 << length, dtype=np.uint64), length, mechanism.width)
        rows = mechanism.randomize(np.full(1 << length, value, np.int64), source)
        self.read = source.read
        reports, tapes = np.unique(bitstrings.to_integers(rows[~source.spilled]), return_counts=True)
        self._tapes_by_report = dict(zip(reports.tolist(), tapes.tolist(), strict=True))

    @property
    def probabilities(self) -> dict[int, Fraction]:
        """Pr(report | value) as fractions; a report is given as the integer that its bits make."""
        tapes = sum(self._tapes_by_report.values())
        return {report: Fraction(count, tapes) for report, count in self._tapes_by_report.items()}


def laws_of(path: Randomizes, inputs: Sequence[object], subject: object, what: str) -> list[Law]:
    """The law of each input, given by its place in the list. All must read the same number of random bits."""
    length = bits_read(path)
    laws = [Law(path, place, length) for place in range(len(inputs))]
    for given, law in zip(inputs, laws, strict=True):
        require(
            np.array_equal(law.read, laws[0].read),
            f"{subject!r} does not read as many random bits for {what} {given} as for {what} {inputs[0]}; expected the "
            f"same number for every {what}",
        )
    return laws
