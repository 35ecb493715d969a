"""Count reports: how many have each bit set, and how many are each integer."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from localdp.formats import bitstrings
from localdp.kernels.dispatch import accelerated
from localdp.types import Counts, Rows, Words

_ROW_WORDS = 1 << 13  # long enough for NumPy to spend its time inside, short enough for the cache
_HISTOGRAM_ROWS = 1 << 16
PAST_THE_LAST = "a row is an integer past the last of {}"


@accelerated("counting.count_bits")
def count_bits(rows: Rows, bits: int) -> Counts:
    """How many rows have each bit set.

    A carry-save adder: two rows at a time are added to a plane that holds the lowest digit of all counts, and the
    carries, in pairs, to the plane of the next digit.
    """
    words, rest = long_rows(rows, _ROW_WORDS)
    counts: Counts = np.unpackbits(rest, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    planes: list[Words] = []
    waiting: list[Words | None] = []

    def add(place: int, row: Words) -> None:
        if place == len(planes):
            planes.append(np.zeros_like(row))
            waiting.append(None)
        other, waiting[place] = waiting[place], row
        if other is not None:
            waiting[place] = None
            add(place + 1, _carry(planes[place], other, row))

    for row in words:
        add(0, row)
    for place, plane in enumerate(planes):
        for part in (plane, waiting[place]):
            if part is not None:
                lit = np.unpackbits(part.astype("<u8", copy=False).view(np.uint8), bitorder="little")
                counts += np.add.reduce(lit.reshape(-1, counts.size), axis=0, dtype=np.uint16).astype(np.int64) << place
    return counts[:bits]


def _carry(plane: Words, one: Words, two: Words) -> Words:
    """Add two rows to the plane, and give what is carried."""
    carry = plane & one
    plane ^= one
    carry |= plane & two
    plane ^= two
    return carry


def long_rows(rows: Rows, length: int) -> tuple[Words, Rows]:
    """Rows of whole words, about so long or longer, each made of several rows; and the rows left over."""
    users, octets = rows.shape
    together = 8 // math.gcd(8, octets)
    together *= max(1, 8 * length // (together * octets))
    whole = users // together * together
    words = np.ascontiguousarray(rows[:whole]).reshape(whole // together, together * octets).view("<u8")
    return words.astype(np.uint64, copy=False), rows[whole:]  # not aligned, where the rows are not


@accelerated("counting.add_histogram")
def add_histogram(rows: Rows, counts: NDArray[np.integer]) -> None:
    """Add to counts[k] how many rows are the integer k."""
    step = max(_HISTOGRAM_ROWS, counts.size)
    for start in range(0, rows.shape[0], step):
        integers = bitstrings.to_integers(rows[start : start + step])
        if integers.max() >= counts.size:
            raise ValueError(PAST_THE_LAST.format(counts.size))
        counts += np.bincount(integers.view(np.int64), minlength=counts.size)
