"""Random subsets of the items, each as a bitmap that holds exactly as many items as asked."""

from __future__ import annotations

import numpy as np

from localdp.formats import bitstrings
from localdp.kernels.dispatch import accelerated
from localdp.randomness.keystream import Entropy
from localdp.types import Indices, Rows


@accelerated("subsets.draw_subsets")
def draw_subsets(entropy: Entropy, values: Indices, size: int, subset: int, keep: int) -> Rows:
    """For each user, a bitmap of `subset` items, the user's own among them with probability keep/2^width.

    Floyd's sampling of k of the m = size - 1 other items, where a kept item takes the place of the first draw. Floyd
    adds, for last = m-k .. m-1, a uniform choice of 0..last, or `last` itself if that is already in. Leaving out the
    first round gives k-1 of the m items, so the first round is where the held item goes in or not, and everyone takes
    the same rounds. Items are counted onward from the held one.
    """
    rows = np.zeros((values.size, bitstrings.byte_length(size)), np.uint8)
    octets, starts = rows.reshape(-1), rows.shape[1] * np.arange(values.size)
    kept = entropy.integers(values.size) < keep

    def item(onward: Indices | int) -> Indices:
        shifted = values + onward
        shifted -= size * (shifted >= size)
        return shifted

    def place(items: Indices) -> tuple[Indices, Rows]:
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
