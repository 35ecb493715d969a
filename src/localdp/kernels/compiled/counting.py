"""Count bits and integers: the twins of `localdp.kernels.counting`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localdp.kernels.compiled.jit import compiled, read_only
from localdp.kernels.counting import TOO_LARGE, count_unpacked, long_rows
from localdp.types import Counts, Rows

_BLOCK = 512  # words of a row at a time: sixteen rows and the planes stay in the cache
_LONG_ROWS = 256  # the fewest long rows: with fewer, unpacking the planes would take longer than adding the rows
_PLANES = 20
_PAD = 8  # without it, planes would start a power of two apart and push one another out of the cache
_FLUSH = 16 * ((1 << _PLANES - 8) - 1)  # steps of 16 rows before the planes, which count to 2^20 - 1, are emptied


def count_bits(rows: Rows, bits: int) -> Counts:
    words, rest = long_rows(rows, min(_BLOCK, rows.size // (8 * _LONG_ROWS)))
    counts = np.zeros(64 * words.shape[1], np.int64)
    _count_columns(read_only(words.reshape(-1)), words.shape[1], counts)
    if counts.size != 8 * rows.shape[1]:
        counts = counts.reshape(-1, 8 * rows.shape[1]).sum(axis=0)
    if rest.size:
        counts += count_unpacked(rest)
    return counts[:bits]


@compiled
def _count_columns(words, length, counts):
    """Add to the counts how many of the rows of `length` words have each bit set.

    A carry-save adder: rows go sixteen at a time into the planes of weight 1, 2, 4 and 8, which gives one row of
    carries. Sixteen rows of carries then go into the planes of weight 16 to 128, and their carries into the higher
    planes, one by one.
    """
    rows = words.size // length
    stride = min(length, _BLOCK) + _PAD
    planes = np.empty((_PLANES, stride), np.uint64)
    held = np.empty(16 * stride, np.uint64)
    tail = np.empty(16 * stride, np.uint64)
    carry = np.empty(stride, np.uint64)
    for start in range(0, length, _BLOCK):
        width = min(_BLOCK, length - start)
        planes[:] = 0
        held[:] = 0
        steps = (rows + 15) // 16
        for step in range(steps):
            into = held[step % 16 * stride :]
            if 16 * step + 16 <= rows:
                _add_rows(words, 16 * step * length + start, length, width, planes, into)
            else:
                tail[:] = 0
                for row in range(16 * step, rows):
                    place = (row - 16 * step) * stride
                    tail[place : place + width] = words[row * length + start : row * length + start + width]
                _add_rows(tail, 0, stride, width, planes, into)
            if step % 16 == 15 or step == steps - 1:
                _add_rows(held, 0, stride, width, planes[4:], carry)
                held[:] = 0
                for place in range(8, _PLANES):
                    plane = planes[place]
                    for x in range(width):
                        before = plane[x]
                        plane[x] = before ^ carry[x]
                        carry[x] &= before
            if step % _FLUSH == _FLUSH - 1 or step == steps - 1:
                for place in range(_PLANES):
                    _spread(planes[place, :width], place, counts[64 * start :])
                planes[:] = 0


@compiled
def _add_rows(rows, start, apart, width, planes, carry):
    """Add sixteen stretches of a flat array, which start `apart` words from one another, to four planes."""
    a, b, c, d = start, start + apart, start + 2 * apart, start + 3 * apart
    e, f, g, h = a + 4 * apart, b + 4 * apart, c + 4 * apart, d + 4 * apart
    i, j, k, l = a + 8 * apart, b + 8 * apart, c + 8 * apart, d + 8 * apart  # noqa: E741
    m, n, o, p = e + 8 * apart, f + 8 * apart, g + 8 * apart, h + 8 * apart
    _add_sixteen(
        rows[a : a + width], rows[b : b + width], rows[c : c + width], rows[d : d + width],
        rows[e : e + width], rows[f : f + width], rows[g : g + width], rows[h : h + width],
        rows[i : i + width], rows[j : j + width], rows[k : k + width], rows[l : l + width],
        rows[m : m + width], rows[n : n + width], rows[o : o + width], rows[p : p + width],
        planes[0, :width], planes[1, :width], planes[2, :width], planes[3, :width], carry[:width],
    )  # fmt: skip


@compiled
def _add_sixteen(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ones, twos, fours, eights, sixteens):  # noqa: E741
    """Add sixteen rows to the planes of weight 1, 2, 4 and 8; the carries go to `sixteens`."""
    for x in range(ones.size):
        first, one = _add(ones[x], a[x], b[x])
        second, one = _add(one, c[x], d[x])
        third, two = _add(twos[x], first, second)
        first, one = _add(one, e[x], f[x])
        second, one = _add(one, g[x], h[x])
        fourth, two = _add(two, first, second)
        fifth, four = _add(fours[x], third, fourth)
        first, one = _add(one, i[x], j[x])
        second, one = _add(one, k[x], l[x])
        third, two = _add(two, first, second)
        first, one = _add(one, m[x], n[x])
        second, one = _add(one, o[x], p[x])
        fourth, two = _add(two, first, second)
        sixth, four = _add(four, third, fourth)
        ones[x], twos[x], fours[x] = one, two, four
        sixteens[x], eights[x] = _add(eights[x], fifth, sixth)


@compiled
def _add(one, two, three):
    """The carry and the sum of three bits, in 64 lanes."""
    half = one ^ two
    return (one & two) | (half & three), half ^ three


@compiled
def _spread(plane, place, counts):
    """Add 2^place to the counts of the bits that are set in the plane."""
    for x in range(plane.size):
        word = plane[x]
        if word == 0:
            continue  # as in most of the high planes
        lanes = counts[64 * x : 64 * x + 64]
        for bit in range(64):
            lanes[bit] += np.int64(word >> np.uint64(bit) & np.uint64(1)) << place


def add_histogram(rows: Rows, counts: NDArray[np.integer]) -> None:
    if not _add_histogram(read_only(np.ascontiguousarray(rows)), counts):
        raise ValueError(TOO_LARGE.format(counts.size - 1))


@compiled
def _add_histogram(rows, counts):
    """Count the rows; return whether all integers were small enough."""
    for row in range(rows.shape[0]):
        value = np.int64(0)
        for octet in range(rows.shape[1]):
            value |= np.int64(rows[row, octet]) << 8 * octet
        if not 0 <= value < counts.size:
            return False
        counts[value] += 1
    return True
