"""Rare bits: the twin of `localdp.kernels.rare_bits`."""

from __future__ import annotations

import numpy as np

from localdp.kernels.compiled.jit import compiled
from localdp.kernels.rare_bits import REACH, UNDECIDED, JumpLaw
from localdp.randomness.keystream import Keystream
from localdp.types import Words


def light_along(entropy: Keystream, law: JumpLaw, lit: Words, bits: int, at: int) -> int:
    end = lit.shape[0] * bits

    def use(words: Words) -> int:
        nonlocal at
        used, at = _light_along(words, law.table, law.leading, REACH, UNDECIDED, lit, bits, at)
        return int(used) if at < end else words.size

    entropy.consume(law.sufficient_jumps(end - at), use)
    return at


@compiled
def _light_along(words, table, leading, reach, undecided, lit, bits, at):
    """Light bits as the words say; return how many words were used and where the next jump starts."""
    user, place = at // bits, at % bits
    for used in range(words.size):
        found = np.int64(table[words[used] >> np.uint64(48)])
        if found == undecided:
            found = np.searchsorted(leading, words[used])
            if found < reach and leading[found] == words[used]:
                return used, user * bits + place
        place += found
        if place >= bits:
            user += place // bits
            place %= bits
        if user >= lit.shape[0]:
            return used + 1, user * bits + place + (found < reach)
        if found < reach:
            lit[user, place >> 6] |= np.uint64(1) << np.uint64(place & 63)
            place += 1
            if place == bits:
                user, place = user + 1, 0
                if user == lit.shape[0]:
                    return used + 1, user * bits
    return words.size, user * bits + place
