"""The inner loops on plain arrays: biased bits, positional counts, Walsh-Hadamard transform."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localdp.bitstrings import Rows
from localdp.entropy import Entropy

EAGER_PLANES = 8  # after eight coins, a lane in 256 is still undecided: too few to draw for them all
_COUNT_BLOCK_BITS = 1 << 23


def biased_bits(
    entropy: Entropy, users: int, bits: int, threshold: int, width: int, eager: int = EAGER_PLANES
) -> NDArray[np.uint64]:
    """Independent bits, each 1 with probability threshold/2^width, as ceil(bits/64) words for each user.

    A bit is 1 when a uniform `width`-bit number is below the threshold. The numbers are drawn a binary digit
    at a time, 64 of them in a word: a number is below where the first digit that differs from the
    threshold's is a 0. Words with undecided lanes draw on; how many do depends on the coins alone.
    """
    columns = -(-bits // 64)
    below = np.zeros((users, columns), np.uint64)
    undecided = np.full((users, columns), ~np.uint64(0))
    if bits % 64:
        undecided[:, -1] = (1 << bits % 64) - 1
    # Past the threshold's last 1 a tie can only mean "not below".
    digits = [threshold >> place & 1 for place in range(width - 1, -1, -1)]
    digits = digits[: len(digits) - digits[::-1].index(1)] if threshold else []

    def settle(
        result: NDArray[np.uint64], open_lanes: NDArray[np.uint64], coins: NDArray[np.uint64], digit: int
    ) -> None:
        if digit:
            coins &= open_lanes
            open_lanes ^= coins
            result |= open_lanes
            open_lanes[...] = coins
        else:
            np.invert(coins, out=coins)
            open_lanes &= coins

    used = min(bits, 64)
    for digit in digits[:eager]:
        coins = entropy.bits(users * columns, used).reshape(users, columns)
        settle(below, undecided, coins, digit)
    flat, open_words = below.ravel(), undecided.ravel()
    where = np.flatnonzero(open_words)
    for digit in digits[eager:]:
        if not where.size:
            break
        result, open_lanes = flat[where], open_words[where]
        settle(result, open_lanes, entropy.bits(where // columns, used), digit)
        flat[where], open_words[where] = result, open_lanes
        where = where[open_lanes != 0]
    return below


def count_bits(rows: Rows, bits: int) -> NDArray[np.int64]:
    """How many rows have each bit set."""
    counts = np.zeros(bits, np.int64)
    step = max(1, _COUNT_BLOCK_BITS // bits)
    for start in range(0, rows.shape[0], step):
        block = np.unpackbits(rows[start : start + step], axis=1, count=bits, bitorder="little")
        counts += block.sum(axis=0, dtype=np.int64)
    return counts


def walsh_hadamard(values: NDArray[np.integer], axis: int = 0) -> None:
    """Transform in place along one axis, whose length is a power of two: out[x] = sum_y (-1)^|x & y| in[y]."""
    length = values.shape[axis]
    lead, tail = values.shape[:axis], values.shape[axis + 1 :]
    half = 1
    while half < length:
        pairs = values.reshape(*lead, length // (2 * half), 2, half, *tail)
        first, second = (pairs[(slice(None),) * (axis + 1) + (side,)] for side in (0, 1))
        first += second
        second *= -2
        second += first
        half *= 2
