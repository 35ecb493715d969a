"""The inner loops on plain arrays: biased bits, positional counts, histograms, Walsh-Hadamard transform."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from localdp import bitstrings
from localdp.acceleration import accelerated
from localdp.bitstrings import Rows
from localdp.entropy import Entropy, Keystream

EAGER_PLANES = 9  # after nine coins, a lane in 512 is still undecided: too few to draw for them all
_TOGETHER_WORDS = 1 << 14  # whose coins, nine words each, stay in the cache
_ROW_WORDS = 1 << 13  # long enough for NumPy to spend its time inside, short enough for the cache
_HISTOGRAM_ROWS = 1 << 16
PAST_THE_LAST = "a row is an integer past the last of {}"


def digits_to_compare(threshold: int, width: int) -> NDArray[np.bool_]:
    """The binary digits of a threshold, highest first: past its last 1 a tie can only mean "not below"."""
    trailing = (threshold & -threshold).bit_length() - 1 if threshold else width
    octets = np.frombuffer((threshold >> trailing).to_bytes(8, "big"), np.uint8)
    return np.unpackbits(octets)[64 - width + trailing :].view(np.bool_)


@accelerated
def biased_bits(
    entropy: Entropy, users: int, bits: int, threshold: int, width: int, eager: int = EAGER_PLANES
) -> NDArray[np.uint64]:
    """Independent bits, each 1 with probability threshold/2^width, as ceil(bits/64) words for each user.

    A bit is 1 when a uniform `width`-bit number is below the threshold. The numbers are drawn a binary digit
    at a time, 64 of them in a word: a number is below where the first digit that differs from the
    threshold's is a 0. Words with undecided lanes draw on; how many do depends on the coins alone. A keystream serves
    some users after the others, as many as share its cache.
    """
    step = users_together(bits) if isinstance(entropy, Keystream) else max(users, 1)
    parts = [min(step, users - start) for start in range(0, users, step)]
    words = [_biased_bits(entropy, part, bits, threshold, width, eager) for part in parts]
    return np.concatenate(words) if words else np.zeros((0, -(-bits // 64)), np.uint64)


def users_together(bits: int) -> int:
    """How many users draw their biased bits together from a keystream."""
    return max(1, _TOGETHER_WORDS // -(-bits // 64))


def _biased_bits(entropy: Entropy, users: int, bits: int, threshold: int, width: int, eager: int) -> NDArray[np.uint64]:
    columns = -(-bits // 64)
    below = np.zeros((users, columns), np.uint64)
    undecided = np.full((users, columns), ~np.uint64(0))
    if bits % 64:
        undecided[:, -1] = (1 << bits % 64) - 1
    digits = digits_to_compare(threshold, width).tolist()

    def settle(
        result: NDArray[np.uint64], open_lanes: NDArray[np.uint64], coins: NDArray[np.uint64], digit: int
    ) -> NDArray[np.uint64]:
        """The lanes still open; the other two arrays are used up."""
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


@accelerated
def replace_bits(
    words: NDArray[np.uint64], positions: NDArray[np.int64], coins: NDArray[np.uint64], threshold: int
) -> None:
    """In each row, set the bit at that row's position where its coin is below the threshold, else clear it."""
    users, column = np.arange(positions.size), positions >> 6
    bit = np.uint64(1) << (positions & 63).astype(np.uint64)
    words[users, column] = words[users, column] & ~bit | bit * (coins < threshold)


@accelerated
def draw_subsets(entropy: Entropy, values: NDArray[np.int64], size: int, subset: int, keep: int) -> Rows:
    """For each user, a bitmap of `subset` items, the user's own among them with probability keep/2^width.

    Floyd's sampling of k of the m = size - 1 other items, where a kept item takes the place of the first draw. Floyd
    adds, for last = m-k .. m-1, a uniform choice of 0..last, or `last` itself if that is already in. Leaving out the
    first round gives k-1 of the m items, so the first round is where the held item goes in or not, and everyone takes
    the same rounds. Items are counted onward from the held one.
    """
    rows = np.zeros((values.size, bitstrings.byte_length(size)), np.uint8)
    octets, starts = rows.reshape(-1), rows.shape[1] * np.arange(values.size)
    kept = entropy.integers(values.size) < keep

    def item(onward: NDArray[np.int64] | int) -> NDArray[np.int64]:
        shifted = values + onward
        shifted -= size * (shifted >= size)
        return shifted

    def place(items: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        return starts + (items >> 3), (items & 7).astype(np.uint8)

    for last in range(size - subset, size):
        drawn = entropy.below(last, values.size).view(np.int64) + 1
        if last == size - subset:
            chosen = item(np.where(kept, 0, drawn))
        else:
            candidate = item(drawn)
            octet, bit = place(candidate)
            chosen = np.where(octets[octet] >> bit & 1, item(last), candidate)
        octet, bit = place(chosen)
        octets[octet] |= np.uint8(1) << bit
    return rows


@accelerated
def count_bits(rows: Rows, bits: int) -> NDArray[np.int64]:
    """How many rows have each bit set.

    A carry-save adder: two rows at a time are added to a plane that holds the lowest digit of all counts, and the
    carries, in pairs, to the plane of the next digit.
    """
    words, rest = long_rows(rows, _ROW_WORDS)
    counts: NDArray[np.int64] = np.unpackbits(rest, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    planes: list[NDArray[np.uint64]] = []
    waiting: list[NDArray[np.uint64] | None] = []

    def add(place: int, row: NDArray[np.uint64]) -> None:
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


def _carry(plane: NDArray[np.uint64], one: NDArray[np.uint64], two: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Add two rows to the plane, and give what is carried."""
    carry = plane & one
    plane ^= one
    carry |= plane & two
    plane ^= two
    return carry


def long_rows(rows: Rows, length: int) -> tuple[NDArray[np.uint64], Rows]:
    """Rows of whole words, about so long or longer, each made of several rows; and the rows left over."""
    users, octets = rows.shape
    together = 8 // math.gcd(8, octets)
    together *= max(1, 8 * length // (together * octets))
    whole = users // together * together
    words = np.ascontiguousarray(rows[:whole]).reshape(whole // together, together * octets).view("<u8")
    return words.astype(np.uint64, copy=False), rows[whole:]  # not aligned, where the rows are not


@accelerated
def add_histogram(rows: Rows, counts: NDArray[np.integer]) -> None:
    """Add to counts[k] how many rows are the integer k."""
    step = max(_HISTOGRAM_ROWS, counts.size)
    for start in range(0, rows.shape[0], step):
        integers = bitstrings.to_integers(rows[start : start + step])
        if integers.max() >= counts.size:
            raise ValueError(PAST_THE_LAST.format(counts.size))
        counts += np.bincount(integers.view(np.int64), minlength=counts.size)


@accelerated
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
