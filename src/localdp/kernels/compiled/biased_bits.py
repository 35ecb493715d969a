"""Biased bits: the twins of `localdp.kernels.biased_bits`."""

from __future__ import annotations

import numpy as np

from localdp.kernels.biased_bits import EAGER_PLANES, digits_to_compare, users_together
from localdp.kernels.compiled.jit import compiled
from localdp.randomness.keystream import Entropy, Keystream
from localdp.types import Indices, Words

_BLOCK_WORDS = 1024  # words handled together: they and their undecided lanes stay in the first-level cache


def biased_bits(
    entropy: Entropy, users: int, bits: int, threshold: int, width: int, eager: int = EAGER_PLANES
) -> Words:
    if not isinstance(entropy, Keystream) or not threshold or not users:
        return NotImplemented
    columns = -(-bits // 64)
    digits = digits_to_compare(threshold, width)
    last_lanes = np.uint64((1 << (bits - 1) % 64 + 1) - 1)
    eager = min(eager, digits.size)
    below = np.empty((users, columns), np.uint64)
    step = users_together(bits)
    for start in range(0, users, step):
        part = below[start : start + step].reshape(-1)
        # After nine eager planes, each word draws about 15/64 coins more.
        ahead = eager * part.size + part.size * 17 // 64 + 64

        def settle(words: Words, part: Words = part) -> int:
            return int(_settle(words, digits, eager, columns, last_lanes, part))

        while entropy.consume(ahead, settle) == 0:
            ahead *= 2  # more ties than usual: no word is used up yet, so look at more of them
    return below


@compiled
def _settle(words, digits, eager, columns, last_lanes, below):
    """Write the biased bits into `below`; return how many words that took, or 0 if there are too few."""
    size = below.size
    undecided = np.empty(size, np.uint64)
    for start in range(0, size, _BLOCK_WORDS):
        result, lanes = below[start : start + _BLOCK_WORDS], undecided[start : start + _BLOCK_WORDS]
        result[:] = np.uint64(0)
        lanes[:] = ~np.uint64(0)
        for plane in range(0, eager - 2, 3):
            _settle_three(words, digits[plane:], plane * size + start, size, result, lanes)
        for plane in range(eager - eager % 3, eager):
            coins = words[plane * size + start : plane * size + start + result.size]
            one = _ones_if(digits[plane])
            for i in range(result.size):
                tied = coins[i] ^ ~one
                result[i] |= lanes[i] & ~tied & one
                lanes[i] &= tied
    for last in range(columns - 1, size, columns):
        below[last] &= last_lanes
        undecided[last] &= last_lanes
    used = eager * size
    where = np.empty(size, np.int64)
    left = 0
    for i in range(size):
        where[left] = i
        left += undecided[i] != 0
    for digit in range(eager, digits.size):
        if not left:
            break
        if used + left > words.size:
            return 0
        still = 0
        for k in range(left):
            i = where[k]
            coin = words[used + k]
            lanes = undecided[i]
            if digits[digit]:
                below[i] |= lanes & ~coin
                lanes &= coin
            else:
                lanes &= ~coin
            undecided[i] = lanes
            where[still] = i
            still += lanes != 0
        used += left
        left = still
    return used


@compiled
def _settle_three(words, digits, start, size, result, lanes):
    """Compare three digits in one pass over the lanes."""
    first = words[start : start + result.size]
    second = words[start + size : start + size + result.size]
    third = words[start + 2 * size : start + 2 * size + result.size]
    one, two, three = _ones_if(digits[0]), _ones_if(digits[1]), _ones_if(digits[2])
    for i in range(result.size):
        below, open_ = result[i], lanes[i]
        tied = first[i] ^ ~one
        below |= open_ & ~tied & one
        open_ &= tied
        tied = second[i] ^ ~two
        below |= open_ & ~tied & two
        open_ &= tied
        tied = third[i] ^ ~three
        result[i] = below | open_ & ~tied & three
        lanes[i] = open_ & tied


@compiled
def _ones_if(digit):
    """A word of 64 ones if the digit is 1, else 0."""
    return ~np.uint64(0) if digit else np.uint64(0)


def replace_bits(words: Words, positions: Indices, coins: Words, threshold: int) -> None:
    _replace(words, positions, coins, np.uint64(threshold))


@compiled
def _replace(words, positions, coins, threshold):
    one = np.uint64(1)
    for row in range(positions.size):
        place = np.uint64(positions[row] & 63)
        lit = np.uint64(coins[row] < threshold)
        word = words[row, positions[row] >> 6]
        words[row, positions[row] >> 6] = word & ~(one << place) | lit << place
