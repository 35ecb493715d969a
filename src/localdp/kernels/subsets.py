"""Random subsets of the items with a fixed number of items, as bitmaps or as lists."""

from __future__ import annotations

import numpy as np

from localdp.formats import bitstrings
from localdp.kernels.dispatch import accelerated
from localdp.randomness.keystream import Entropy
from localdp.types import Indices, Rows, Words


@accelerated("subsets.draw_subsets")
def draw_subsets(entropy: Entropy, values: Indices, size: int, subset: int, keep: int) -> Rows:
    """For each user, a bitmap of `subset` items. The held item is among them with probability keep/2^width.

    This is Floyd's algorithm for k of the m = size - 1 other items: for last = m-k .. m-1, add a uniform choice of
    0..last, or `last` itself if that choice is already in the subset. Rounds 2 to k alone choose k-1 of the m items. So
    in the first round we add the held item (to keep it) or a drawn one (to leave it out), and every user goes through
    the same rounds. The other items are counted from the held item, wrapping around after the last.
    """
    rows = np.zeros((values.size, bitstrings.byte_length(size)), np.uint8)
    octets, starts = rows.reshape(-1), rows.shape[1] * np.arange(values.size)
    kept = entropy.integers(values.size) < keep

    def item(onward: Indices | int) -> Indices:
        """The item `onward` places after the held one, wrapping around after the last."""
        shifted = values + onward
        shifted -= size * (shifted >= size)
        return shifted

    def place(items: Indices) -> tuple[Indices, Rows]:
        """The byte and the bit of each user's item."""
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


def draw_items(entropy: Entropy, users: int, size: int, count: int) -> Words:
    """For each user, `count` different items out of `size`, in ascending order; every set of them is equally likely.

    This is Floyd's algorithm: for last = size-count .. size-1, add a uniform choice of 0..last, or `last` itself if
    that choice is already in the set.
    """
    items = np.empty((users, count), np.uint64)
    for drawn, last in enumerate(range(size - count, size)):
        candidate = entropy.below(last + 1, users)
        known = (items[:, :drawn] == candidate[:, None]).any(axis=1)
        items[:, drawn] = np.where(known, np.uint64(last), candidate)
    items.sort(axis=1)
    return items


@accelerated("subsets.draw_bitmaps")
def draw_bitmaps(entropy: Entropy, skipped: Indices, size: int, count: int, first: int, bits: int) -> Rows:
    """For each user, a bitmap in which `count - skipped` of the `size` places from `first` on are lit.

    Every choice of them is equally likely. This is Floyd's algorithm, as in `draw_items`; each user leaves out the
    first `skipped` rounds, and the others alone choose as many places as they are. All users draw the same numbers.
    """
    rows = np.zeros((skipped.size, bitstrings.byte_length(bits)), np.uint8)
    octets, starts = rows.reshape(-1), rows.shape[1] * np.arange(skipped.size)
    for turn, last in enumerate(range(size - count, size)):
        candidate = entropy.below(last + 1, skipped.size).view(np.int64) + first
        taken = octets[starts + (candidate >> 3)] >> (candidate & 7).astype(np.uint8) & 1
        chosen = np.where(taken, first + last, candidate)
        octets[starts + (chosen >> 3)] |= (turn >= skipped).astype(np.uint8) << (chosen & 7).astype(np.uint8)
    return rows


def swap_bits(rows: Rows, place: int, places: Indices) -> None:
    """Let the bit at `place` of each row change places with the bit at that row's own place."""
    octets, starts = rows.reshape(-1), rows.shape[1] * np.arange(len(rows))
    one, own = np.uint8(place & 7), (places & 7).astype(np.uint8)
    differ = (rows[:, place >> 3] >> one ^ octets[starts + (places >> 3)] >> own) & 1
    rows[:, place >> 3] ^= differ << one
    octets[starts + (places >> 3)] ^= differ << own
