"""The hash of local hashing: for each 32-bit seed, a function from items to the symbols 0..symbols-1.

    h_seed(item) = floor( mix(seed XOR mix(item + 1)) * symbols / 2^32 )

`mix` is the three-round 32-bit mixer with the constants of C. Wellons' `triple32` (hash-prospector, public
domain). Its measured avalanche bias is that of a random permutation. It is a bijection, so for every item
the value before scaling is exactly uniform over the seeds. `olh` and `blh` assume that it treats *pairs* of items
like an ideal hash, and the tests measure this. The function is part of the wire format and pinned by
`vectors/v1/hash.json`: it never changes under this name.

>>> items = mixed_items(np.arange(2, dtype=np.uint32))
>>> local_hash(np.array([3, 4], np.uint32), items, symbols=100).tolist()
[20, 3]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localdp.kernels.dispatch import accelerated
from localdp.types import Words

Hashes = NDArray[np.uint32]

SEED_BITS = 32
NAME = "triple32"
_FIRST_SHIFT = np.uint32(17)
_COUNT_BLOCK = 1 << 16  # hashes computed together: they stay in the cache
_SHORT_BUFFER = 1024  # with a longer buffer NumPy copies each seed for all its items, which takes a fifth of the time


def mix(values: Hashes) -> Hashes:
    """The mixer, in place."""
    values ^= values >> _FIRST_SHIFT
    return _mix_on(values, np.empty_like(values))


def _mix_on(values: Hashes, shifted: Hashes) -> Hashes:
    """The steps of the mixer after the first shift, in place; `shifted` is an array to use for temporary values."""
    for factor, shift in ((0xED5AD4BB, 11), (0xAC4C1B51, 15), (0x31848BAB, 14)):
        np.multiply(values, np.uint32(factor), out=values)
        np.right_shift(values, np.uint32(shift), out=shifted)
        np.bitwise_xor(values, shifted, out=values)
    return values


def mixed_items(items: Hashes) -> Hashes:
    """The inner mix of each item. It is the same for all seeds, so it is computed once."""
    return mix(items + np.uint32(1))


def local_hash(seeds: Hashes, mixed: Hashes, symbols: int) -> Words:
    """The symbol of each item under each seed; items are given by their inner mix, and arguments broadcast."""
    hashed = mix(np.bitwise_xor(seeds, mixed))
    return hashed.astype(np.uint64) * np.uint64(symbols) >> np.uint64(32)


def preimage(symbol: Words, symbols: int) -> tuple[Hashes, Hashes]:
    """The range of mixed values that scale to each symbol: the first value, and the number of values after it."""
    first, after = (
        (edge * np.uint64(2**32) + np.uint64(symbols - 1)) // np.uint64(symbols)
        for edge in (symbol, symbol + np.uint64(1))
    )
    return first.astype(np.uint32), (after - first - np.uint64(1)).astype(np.uint32)


@accelerated("local_hash.count_hashed")
def count_hashed(seeds: Hashes, first: Hashes, span: Hashes, mixed: Hashes) -> NDArray[np.int64]:
    """How many reports support each item: those with a seed that hashes the item into the report's range.

    A report is given by its seed and the `preimage` of its symbol, so no hash needs to be scaled.
    """
    counts = np.zeros(mixed.size, np.int64)
    # Shifting and XOR commute, so the first step is done once for each seed and each item, not for each pair.
    seeds, mixed = (part ^ part >> _FIRST_SHIFT for part in (seeds, mixed))
    room = np.empty((3, _COUNT_BLOCK), np.uint32)
    with np.errstate():
        np.setbufsize(_SHORT_BUFFER)
        for start in range(0, mixed.size, _COUNT_BLOCK):
            items = mixed[start : start + _COUNT_BLOCK]
            step = min(255, _COUNT_BLOCK // items.size)
            most = 255 // step * step  # a byte counts up to 255
            for group in range(0, seeds.size, most):
                found = np.zeros(items.size, np.uint8)
                for begin in range(group, min(group + most, seeds.size), step):
                    users = slice(begin, begin + step)
                    shape = (seeds[users].size, items.size)
                    distance, shifted, hit = (part[: shape[0] * shape[1]].reshape(shape) for part in room)
                    _mix_on(np.bitwise_xor(seeds[users, None], items, out=distance), shifted)
                    np.subtract(distance, first[users, None], out=distance)
                    hit = np.less_equal(distance, span[users, None], out=hit.view(np.bool_)[:, : items.size])
                    found += np.add.reduce(hit.view(np.uint8), axis=0, dtype=np.uint8)
                counts[start : start + items.size] += found
    return counts
