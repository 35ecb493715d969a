"""Local hashing: the twin of `localdp.kernels.local_hash`."""

from __future__ import annotations

import numpy as np

from localdp.kernels.compiled.jit import compiled
from localdp.kernels.local_hash import Hashes
from localdp.types import Counts

_ITEMS = 2048  # items and their counts stay in the first-level cache
_USERS = 4096  # seeds and ranges stay in the cache while the items pass


def count_hashed(seeds: Hashes, first: Hashes, span: Hashes, mixed: Hashes) -> Counts:
    counts = np.zeros(mixed.size, np.int64)
    _count_hashed(seeds, first, span, mixed, counts)
    return counts


@compiled
def _count_hashed(seeds, first, span, mixed, counts):
    for users in range(0, seeds.size, _USERS):
        for start in range(0, mixed.size, _ITEMS):
            items = mixed[start : start + _ITEMS]
            found = np.zeros(items.size, np.uint32)
            for user in range(users, min(users + _USERS, seeds.size)):
                seed, low, reach = seeds[user], first[user], span[user]
                for x in range(items.size):
                    h = np.uint32(seed ^ items[x])
                    h = np.uint32((h ^ h >> np.uint32(17)) * np.uint32(0xED5AD4BB))
                    h = np.uint32((h ^ h >> np.uint32(11)) * np.uint32(0xAC4C1B51))
                    h = np.uint32((h ^ h >> np.uint32(15)) * np.uint32(0x31848BAB))
                    h = np.uint32(h ^ h >> np.uint32(14))
                    found[x] += np.uint32(np.uint32(h - low) <= reach)
            for x in range(items.size):
                counts[start + x] += found[x]
