"""Random subsets: the twin of `localdp.kernels.subsets`."""

from __future__ import annotations

import numpy as np

from localdp.formats.bitstrings import byte_length
from localdp.kernels.compiled.jit import compiled
from localdp.randomness.keystream import Entropy, Keystream
from localdp.types import Indices, Rows, Words


def draw_subsets(entropy: Entropy, values: Indices, size: int, subset: int, keep: int) -> Rows:
    if not isinstance(entropy, Keystream) or entropy.width != 64 or size == subset + 1:
        return NotImplemented
    rows = np.zeros((values.size, byte_length(size)), np.uint8)

    def draw(words: Words) -> int:
        return words.size * _draw_subsets(words.reshape(-1, values.size), values, size, np.uint64(keep), rows)

    return rows if entropy.consume((1 + subset) * values.size, draw) else NotImplemented


@compiled
def _draw_subsets(words, values, size, keep, rows):
    """Draw the subsets into `rows`. Return False if a draw must be rejected; `rows` is then useless."""
    first = size - words.shape[0] + 1
    for last in range(first, size):
        share = ~np.uint64(0) // np.uint64(last)
        share += np.uint64(share * np.uint64(last) + np.uint64(last) == 0)  # floor(2^64 / last)
        draws = words[1 + last - first]
        for user in range(values.size):
            drawn = np.int64(draws[user] // share)
            if drawn >= last:
                return False
            drawn += 1
            if last == first:
                drawn *= words[0, user] >= keep
            else:
                candidate = _onward(values[user], drawn, size)
                taken = rows[user, candidate >> 3] >> (candidate & 7) & 1
                drawn += taken * (last - drawn)
            chosen = _onward(values[user], drawn, size)
            rows[user, chosen >> 3] |= np.uint8(1 << (chosen & 7))
    return True


@compiled
def _onward(value, steps, size):
    """The item `steps` places after the held one, wrapping around after the last."""
    shifted = value + steps
    return shifted - size * (shifted >= size)


def draw_bitmaps(entropy: Entropy, skipped: Indices, size: int, count: int, first: int, bits: int) -> Rows:
    drawn = count - (count == size)  # nothing is drawn to choose among one place
    if not isinstance(entropy, Keystream) or entropy.width != 64 or not drawn:
        return NotImplemented
    rows = np.zeros((skipped.size, byte_length(bits)), np.uint8)

    def draw(words: Words) -> int:
        return words.size * _draw_bitmaps(words.reshape(drawn, -1), skipped, size, count, first, rows)

    return rows if entropy.consume(drawn * skipped.size, draw) else NotImplemented


@compiled
def _draw_bitmaps(words, skipped, size, count, first, rows):
    """Draw the subsets into `rows`. Return False if a draw must be rejected; `rows` is then useless."""
    for turn in range(count):
        last = size - count + turn
        bound = np.uint64(last + 1)
        share = ~np.uint64(0) // bound
        share += np.uint64(share * bound + bound == 0)  # floor(2^64 / bound)
        draws = words[max(0, turn - count + words.shape[0])]
        for user in range(rows.shape[0]):
            drawn = np.int64(draws[user] // share) if last else 0
            if drawn > last:
                return False
            place = first + drawn
            taken = rows[user, place >> 3] >> (place & 7) & 1
            place += taken * (last - drawn)
            rows[user, place >> 3] |= np.uint8(np.int64(turn >= skipped[user]) << (place & 7))
    return True
