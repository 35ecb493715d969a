"""Reports as strings of bits: the first bit is the lowest bit of the first byte, and unused bits at the end are zero.

Reports are the rows of a uint8 matrix, one for each user, laid out as they are sent. A report of at most 64 bits can be
read as an integer; a longer one is a bitmap.

>>> rows = from_integers(np.array([0, 1, 0x1FF], np.uint64), bits=9)
>>> rows.tolist()
[[0, 0], [1, 0], [255, 1]]
>>> to_integers(rows).tolist()
[0, 1, 511]
"""

from __future__ import annotations

import numpy as np

from localdp.types import Flags, Rows, Words


def byte_length(bits: int) -> int:
    """The number of bytes for this many bits."""
    return -(-bits // 8)


def from_integers(values: Words, bits: int) -> Rows:
    """One row for each integer; every integer must fit in `bits` bits, at most 64."""
    octets = np.ascontiguousarray(values, dtype="<u8").view(np.uint8).reshape(-1, 8)
    return np.ascontiguousarray(octets[:, : byte_length(bits)])


def to_integers(rows: Rows) -> Words:
    """The integer in each row of at most 8 bytes."""
    octets = np.zeros((rows.shape[0], 8), np.uint8)
    octets[:, : rows.shape[1]] = rows
    return octets.view("<u8").reshape(-1).astype(np.uint64, copy=False)


def from_words(words: Words, bits: int) -> Rows:
    """Rows that share the memory of bitmaps in 64-bit words; the unused bits in the last byte are cleared there."""
    rows = words.astype("<u8", copy=False).view(np.uint8).reshape(words.shape[0], -1)[:, : byte_length(bits)]
    if bits % 8:
        rows[:, -1] &= (1 << bits % 8) - 1
    return rows


def bit(rows: Rows, position: int) -> Flags:
    """One bit of every row."""
    return np.asarray(rows[:, position >> 3] >> (position & 7) & 1, np.bool_)


def nonzero_padding(rows: Rows, bits: int) -> Flags:
    """For each row, whether one of the unused bits in its last byte is set."""
    if bits % 8 == 0:
        return np.zeros(rows.shape[0], bool)
    return (rows[:, -1] >> bits % 8).astype(np.bool_)


def from_fields(fields: Words, bits: int) -> Rows:
    """One row for each row of integers, which follow each other from the first bit on, each in `bits` bits, at most 57.

    >>> from_fields(np.array([[5, 1, 7]], np.uint64), bits=3).tolist()
    [[205, 1]]
    """
    rows = np.zeros((fields.shape[0], byte_length(fields.shape[1] * bits)), np.uint8)
    for place in range(fields.shape[1]):
        octets, shift = _octets(place * bits, bits)
        rows[:, octets] |= from_integers(fields[:, place] << shift, 8 * (octets.stop - octets.start))
    return rows


def to_fields(rows: Rows, count: int, bits: int) -> Words:
    """The first `count` integers of `bits` bits in each row, as `from_fields` writes them."""
    fields = np.empty((rows.shape[0], count), np.uint64)
    for place in range(count):
        octets, shift = _octets(place * bits, bits)
        fields[:, place] = to_integers(rows[:, octets]) >> shift & np.uint64((1 << bits) - 1)
    return fields


def _octets(start: int, bits: int) -> tuple[slice, np.uint64]:
    """The bytes that hold these bits, and the number of bits that come before them in the first byte."""
    return slice(start >> 3, (start + bits + 7) >> 3), np.uint64(start & 7)
