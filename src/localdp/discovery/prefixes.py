"""The candidates of a round, and the cell of a round that a value falls into.

A round knows the first `position` bits of its candidates and asks for the next `bits` bits. Some candidates are whole
values already: they are *finished*, and are only counted. The others are *open*. Every possible extension of an open
candidate, every finished candidate, every value that was known beforehand, and the catch-all have one cell each. The
index of a cell is, by the first line that fits,

    open candidates * 2^bits + finished candidates + its place     for a known value
    open candidate number * 2^bits + the next bits                 for a value that begins with an open candidate
    open candidates * 2^bits + finished candidate number           for a value that is a finished candidate
    open candidates * 2^bits + finished candidates + known values  for any other value: the catch-all

so a plan over that many numbered items, with the last one as its catch-all, is all that a round needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from localdp.discovery.codes import Encoded
from localdp.errors import PlanError
from localdp.types import Flags, Indices, Rows
from localdp.validation import LARGEST_SIZE

Keyed = NDArray[np.bytes_]
"""Rows of bytes, each as one value that can be compared."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Prefixes of `position` bits, in ascending order, and whole values, which take at most that many bits.

    Each is a row of bytes whose bits past the end are zeros. `bits` is the number of bits that are asked for next, and
    `known` how many values were known beforehand.
    """

    position: int
    bits: int
    open: Rows
    finished: Rows
    known: int = 0

    @property
    def cells(self) -> int:
        """The number of cells, with the catch-all."""
        return self.first_known + self.known + 1

    @property
    def first_known(self) -> int:
        """The cell of the first known value, as if there were one."""
        return (len(self.open) << self.bits) + len(self.finished)

    def indices(self, values: Encoded) -> Indices:
        """The cell of each value."""
        return self._of_different(values)[values.places]

    def _of_different(self, values: Encoded) -> Indices:
        first_finished = len(self.open) << self.bits
        catch_all = self.cells - 1
        ended, inside = values.lengths <= self.position, ~values.outside
        known = prefix_rows(values.rows, self.position)
        place, found = _found(known, self._open_keys)
        following = bits_at(values.rows, self.position, self.bits)
        indices = np.where(found & inside & ~ended, (place << self.bits) + following, catch_all)
        place, found = _found(known, self._finished_keys)
        indices = np.where(found & inside & ended, first_finished + place, indices)
        return np.where(values.known >= 0, self.first_known + values.known, indices)

    def document(self) -> dict[str, Any]:
        """The candidates as a JSON value, each in hexadecimal."""
        return {
            "position": self.position,
            "bits": self.bits,
            "open": _as_hex(self.open, self.position),
            "finished": _as_hex(self.finished, self.position),
        } | ({"known": self.known} if self.known else {})

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """The candidates in such a JSON value. Others than it can have are a `ValueError` or a `PlanError`."""
        position, bits, known = document["position"], document["bits"], document.get("known", 0)
        whole = all(type(number) is int and 0 <= number <= 1 << 18 for number in (position, bits, known))
        if not whole or bits > LARGEST_SIZE.bit_length():
            raise ValueError
        opened, finished = (_from_hex(document[name], position) for name in ("open", "finished"))
        return cls(position, bits, opened, finished, known)

    @cached_property
    def _open_keys(self) -> Keyed:
        return _keys(prefix_rows(self.open, self.position))

    @cached_property
    def _finished_keys(self) -> Keyed:
        return _keys(prefix_rows(self.finished, self.position))


def prefix_rows(rows: Rows, length: int) -> Rows:
    """The first `length` bits of each row, as rows of as few bytes as hold them; the bits past the end are zeros."""
    size = -(-length // 8)
    prefix: Rows = np.zeros((len(rows), size), np.uint8)
    prefix[:, : rows.shape[1]] = rows[:, :size]
    if length % 8:
        prefix[:, -1] &= 0xFF << (8 - length % 8) & 0xFF
    return prefix


def bits_at(rows: Rows, start: int, count: int) -> Indices:
    """The `count` bits from bit `start` on of each row, as a number; bits past the end of a row are zeros."""
    first, last = start // 8, -(-(start + count) // 8)
    number = np.zeros(len(rows), np.int64)
    for place in range(first, last):
        number <<= 8
        if place < rows.shape[1]:
            number |= rows[:, place]
    return np.asarray(number >> (8 * last - start - count) & ((1 << count) - 1))


def with_bits(rows: Rows, start: int, bits: Indices, count: int, size: int) -> Rows:
    """Each row, whose bits from `start` on are zeros, with these `count` bits there, as rows of `size` bytes."""
    longer = np.zeros((len(rows), size), np.uint8)
    longer[:, : rows.shape[1]] = rows[:, :size]
    first, last = start // 8, -(-(start + count) // 8)
    shifted = bits.astype(np.int64) << (8 * last - start - count)
    for place in range(first, min(last, size)):
        longer[:, place] |= (shifted >> (8 * (last - 1 - place)) & 0xFF).astype(np.uint8)
    return longer


def in_order(rows: Rows) -> Indices:
    """The order of the rows, by their bits."""
    return np.argsort(_keys(rows), kind="stable") if rows.size else np.arange(len(rows))


def _found(rows: Rows, keys: Keyed) -> tuple[Indices, Flags]:
    """The place of each row among ascending keys, and whether it is there."""
    if not rows.shape[1]:  # no bits are known yet, and the only prefix is the empty one
        return np.zeros(len(rows), np.int64), np.full(len(rows), bool(keys.size))
    if not keys.size:
        return np.zeros(len(rows), np.int64), np.zeros(len(rows), np.bool_)
    asked = _keys(rows)
    place = np.minimum(np.searchsorted(keys, asked), keys.size - 1)
    return place, np.asarray(keys[place] == asked)


def _keys(rows: Rows) -> Keyed:
    """Rows of the same number of bytes as values that can be searched for. (NumPy ignores zeros at the end.)"""
    if not rows.shape[1]:
        return np.zeros(len(rows), "S1")
    keys: Any = np.ascontiguousarray(rows).view(f"S{rows.shape[1]}")
    return np.asarray(keys[:, 0])


def _as_hex(rows: Rows, position: int) -> list[str]:
    return [row.tobytes().hex() for row in prefix_rows(rows, position)]


def _from_hex(listed: list[str], position: int) -> Rows:
    size = -(-position // 8)
    octets = [bytes.fromhex(text) for text in listed]
    if any(len(row) != size for row in octets) or (not size and len(octets) > 1):
        raise ValueError
    rows = np.frombuffer(b"".join(octets), np.uint8).reshape(len(octets), size)
    if len(set(octets)) < len(octets) or not np.array_equal(in_order(rows), np.arange(len(rows))):
        raise PlanError("this round was altered, or its candidates are not in order")
    return rows
