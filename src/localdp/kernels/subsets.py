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
