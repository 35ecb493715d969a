"""The Walsh-Hadamard transform: the twin of `localdp.kernels.walsh_hadamard`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localdp.kernels.compiled.jit import compiled

_IN_CACHE = 1 << 14  # numbers, 128 KiB
_TILE = 256  # columns handled together
_SHORT = 64  # up to this length, numbers are paired inside a row; beyond, rows are paired, which is faster


def walsh_hadamard(values: NDArray[np.integer], axis: int = 0) -> None:  # noqa: ARG001 (a flat array has one axis)
    if values.ndim != 1 or not values.flags.c_contiguous:
        return NotImplemented
    _transform(values, min(values.size, _IN_CACHE))
    return None


def transform_columns(matrix: NDArray[np.integer], rows: int) -> None:
    """Transform every column of a flat matrix with this many rows."""
    _transform_columns(matrix, rows, matrix.size // rows)


@compiled
def _transform_columns(matrix, rows, columns):
    for start in range(0, columns, _TILE):
        _butterflies(matrix, rows, columns, start, min(columns, start + _TILE))


@compiled
def _transform(values, block):
    """First inside blocks that fit the cache, then across them."""
    for start in range(0, values.size, block):
        part = values[start : start + block]
        half = 1
        while half < min(block, _SHORT):
            for base in range(0, block, 2 * half):
                for x in range(base, base + half):
                    one, two = part[x], part[x + half]
                    part[x], part[x + half] = one + two, one - two
            half *= 2
        _butterflies(part, block // half, half, 0, half)
    _transform_columns(values, values.size // block, block)


@compiled
def _butterflies(matrix, rows, columns, start, stop):
    """Transform columns `start` to `stop` of a flat matrix along its rows."""
    half = 1
    while half < rows:
        for base in range(0, rows, 2 * half):
            for row in range(base, base + half):
                first = matrix[row * columns + start : row * columns + stop]
                second = matrix[(row + half) * columns + start : (row + half) * columns + stop]
                for x in range(first.size):
                    one, two = first[x], second[x]
                    first[x], second[x] = one + two, one - two
        half *= 2
