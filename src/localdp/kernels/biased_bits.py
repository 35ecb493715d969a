"""Independent random bits that are 1 with a given probability, 64 of them in a word."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localdp.kernels.dispatch import accelerated
from localdp.randomness.keystream import Entropy, Keystream
from localdp.types import Flags, Words

EAGER_PLANES = 9  # after nine coins one lane in 512 is undecided; from then on, only words with an undecided lane draw
_TOGETHER_WORDS = 1 << 14  # words drawn together: with nine words of coins for each, they stay in the cache


def digits_to_compare(threshold: int, width: int) -> Flags:
    """The binary digits of a threshold, highest first, up to its last 1.

    All later digits are 0, so a number that agrees up to there is not below the threshold.
    """
    trailing = (threshold & -threshold).bit_length() - 1 if threshold else width
    octets = np.frombuffer((threshold >> trailing).to_bytes(8, "big"), np.uint8)
    return np.unpackbits(octets)[64 - width + trailing :].view(np.bool_)


@accelerated("biased_bits.biased_bits")
def biased_bits(
    entropy: Entropy, users: int, bits: int, threshold: int, width: int, eager: int = EAGER_PLANES
) -> Words:
    """Independent bits, each 1 with probability threshold/2^width, as ceil(bits/64) words for each user.

    A bit is 1 when a uniform `width`-bit number is below the threshold. The numbers are drawn one binary digit (a coin)
    at a time, 64 numbers in the lanes of a word. A number is below the threshold if it has a 0 in the first place where
    their digits differ. After `eager` digits, only words with undecided lanes draw more coins; how many do depends on
    the coins alone, not on anybody's value. With a keystream, users are processed group by group, so that a group fits
    the cache.
    """
    step = users_together(bits) if isinstance(entropy, Keystream) else max(users, 1)
    parts = [min(step, users - start) for start in range(0, users, step)]
    words = [_bits_together(entropy, part, bits, threshold, width, eager) for part in parts]
    return np.concatenate(words) if words else np.zeros((0, -(-bits // 64)), np.uint64)


def users_together(bits: int) -> int:
    """The number of users who draw their biased bits together from a keystream."""
    return max(1, _TOGETHER_WORDS // -(-bits // 64))


def _bits_together(entropy: Entropy, users: int, bits: int, threshold: int, width: int, eager: int) -> Words:
    """As `biased_bits`, for users who draw together."""
    columns = -(-bits // 64)
    below = np.zeros((users, columns), np.uint64)
    undecided = np.full((users, columns), ~np.uint64(0))
    if bits % 64:
        undecided[:, -1] = (1 << bits % 64) - 1
    digits = digits_to_compare(threshold, width).tolist()

    def settle(result: Words, open_lanes: Words, coins: Words, digit: int) -> Words:
        """Compare one digit and update `result`; return the undecided lanes. Overwrites `open_lanes` and `coins`."""
        coins &= open_lanes
        open_lanes ^= coins
        if not digit:
            return open_lanes
        result |= open_lanes
        return coins

    used = min(bits, 64)
    for digit in digits[:eager]:
        coins = entropy.bits(users * columns, used).reshape(users, columns)
        undecided = settle(below, undecided, coins, digit)
    flat = below.reshape(-1)
    where = np.flatnonzero(undecided)
    who, result, open_lanes = where // columns, flat[where], undecided.reshape(-1)[where]
    for digit in digits[eager:]:
        if not where.size:
            break
        open_lanes = settle(result, open_lanes, entropy.bits(who, used), digit)
        flat[where] = result
        still = np.flatnonzero(open_lanes)
        where, who = where[still], who[still]
        result, open_lanes = result[still], open_lanes[still]
    return below


@accelerated("biased_bits.replace_bits")
def replace_bits(words: Words, positions: NDArray[np.int64], coins: Words, threshold: int) -> None:
    """In each row, set the bit at the row's position if its coin is below the threshold, and clear it if not."""
    users, column = np.arange(positions.size), positions >> 6
    bit = np.uint64(1) << (positions & 63).astype(np.uint64)
    words[users, column] = words[users, column] & ~bit | bit * (coins < threshold)
