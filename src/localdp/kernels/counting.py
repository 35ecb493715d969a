"""Count rows: how many have each bit set, and how many hold each integer."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from localdp.formats import bitstrings
from localdp.kernels.dispatch import accelerated
from localdp.types import Counts, Rows, Words

_LONG_ROW_WORDS = 1 << 13  # long enough that NumPy's C loop takes longer than the call, short enough for the cache
_FEW_LONG_ROWS = 12  # below this, unpacking all rows takes less time than unpacking the planes of the adder
_UNPACKED_ROW_BYTES = 128  # shorter rows are unpacked several at a time, so that NumPy's inner loop is long enough
_UNPACKED_BYTES = 1 << 20  # unpacked bits that stay in the cache until they are added up
_HISTOGRAM_ROWS = 1 << 16  # integers that stay in the cache
TOO_LARGE = "a row holds an integer past {}, the last one that is counted"


@accelerated("counting.count_bits")
def count_bits(rows: Rows, bits: int) -> Counts:
    """How many rows have each bit set, for the first `bits` bits.

    Few rows are unpacked to a byte for each bit and added up. For many rows a carry-save adder is four times as fast:
    it adds two rows at a time to a plane that holds the lowest digit of all counts, and the carries, in pairs, to the
    plane of the next digit.

    >>> count_bits(np.array([[0b011], [0b110]], np.uint8), bits=3).tolist()
    [1, 2, 1]
    """
    if rows.size < _FEW_LONG_ROWS * max(8 * _LONG_ROW_WORDS, rows.shape[1]):
        return count_unpacked(rows)[:bits]
    words, rest = long_rows(rows, _LONG_ROW_WORDS)
    counts = count_unpacked(rest)
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
                digits = part.astype("<u8", copy=False).view(np.uint8).reshape(-1, rows.shape[1])
                counts += count_unpacked(digits) << place
    return counts[:bits]


def count_unpacked(rows: Rows) -> Counts:
    """How many rows have each bit set, padding bits included, by unpacking every bit to a byte.

    `count_bits` is faster where there are many rows.
    """
    users, octets = rows.shape
    together = min(_UNPACKED_ROW_BYTES // octets, users)
    if together > 1:
        whole = users // together * together
        several = count_unpacked(rows[:whole].reshape(-1, together * octets)).reshape(together, -1)
        return np.asarray(several.sum(axis=0) + count_unpacked(rows[whole:]))
    step = min(255, _UNPACKED_BYTES // (8 * octets) or 1)  # a byte counts up to 255
    counts = _add_unpacked(rows[:step])
    for start in range(step, users, step):
        counts += _add_unpacked(rows[start : start + step])
    return counts


def _add_unpacked(rows: Rows) -> Counts:
    """As `count_unpacked`, for at most 255 rows. NumPy adds bytes to bytes ten times as fast as bytes to int64."""
    lit = np.unpackbits(rows, axis=1, bitorder="little")
    counts: Counts = np.add.reduce(lit, axis=0, dtype=np.uint8).astype(np.int64)
    return counts


def _carry(plane: Words, one: Words, two: Words) -> Words:
    """Add two rows to the plane, and return the carries."""
    carry = plane & one
    plane ^= one
    carry |= plane & two
    plane ^= two
    return carry


def long_rows(rows: Rows, length: int) -> tuple[Words, Rows]:
    """The rows joined into longer rows of about `length` words (at least one row in each), and the rows left over."""
    users, octets = rows.shape
    together = 8 // math.gcd(8, octets)
    together *= max(1, 8 * length // (together * octets))
    whole = users // together * together
    words = np.ascontiguousarray(rows[:whole]).reshape(whole // together, together * octets).view("<u8")
    # A view, even if the rows are not aligned to words: a copy takes longer than counting.
    return words.astype(np.uint64, copy=False), rows[whole:]


@accelerated("counting.add_histogram")
def add_histogram(rows: Rows, counts: NDArray[np.integer]) -> None:
    """Add to counts[k] the number of rows that hold the integer k."""
    step = max(_HISTOGRAM_ROWS, counts.size)
    for start in range(0, rows.shape[0], step):
        integers = bitstrings.to_integers(rows[start : start + step])
        if integers.max() >= counts.size:
            raise ValueError(TOO_LARGE.format(counts.size - 1))
        counts += np.bincount(integers.view(np.int64), minlength=counts.size)
