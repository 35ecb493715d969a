"""Random bits that are rarely 1, drawn by jumping from one lit bit to the next instead of drawing every bit.

**The law of a jump.** Bits are independent, each lit with probability q = threshold/2^width; let r = 1 - q. The next
lit bit comes after at least j dark ones with probability r^j. So, for U uniform on [0, 1), the number of dark bits is
the number of *edges* 1 - r, 1 - r^2, 1 - r^3, .. that are at most U. A jump looks `REACH` bits ahead: it is the number
of dark bits before the first lit one, or `REACH` if all of them are dark. The next jump starts after the lit bit, or
after all `REACH` bits. Bits have no memory, so this gives the same law.

**Nothing is rounded.** U is read one word of `width` binary digits at a time. The first word decides the jump unless it
equals the leading digits of an edge that has more digits; then another word is read, and so on. Edge j has width * j
digits, so a jump of j bits is decided by at most j + 1 words. With 64-bit words the first one leaves only about REACH
jumps in 2^64 undecided. Nearly all jumps are found in a table by the 16 leading digits of the word alone.

**The number of jumps.** It depends on the random words alone, not on anybody's value. But it reveals how many noise
bits were lit, before one of them was replaced by the holder's own bit, so it must stay as secret as the noise. A
keystream therefore gives a fixed number of words that is almost surely sufficient, and the words left over are not used
for anything else.

>>> from localdp.randomness.keystream import seeded
>>> jump_law(threshold=2**60, width=64).draw(seeded(1), 5).tolist()
[14, 8, 33, 1, 12]
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from localdp.frozen import Frozen
from localdp.kernels.biased_bits import users_together
from localdp.kernels.dispatch import accelerated
from localdp.randomness.keystream import Entropy, Keystream, Who
from localdp.types import Places, Words

REACH = 254  # with UNDECIDED, the numbers 0..255 fit a byte, and the table fits the cache
UNDECIDED = 255
_LOOKED_UP_DIGITS = 16

Lengths = NDArray[np.uint8]
"""Jumps: numbers of dark bits from 0 to REACH."""


def jumping_pays(threshold: int, width: int) -> bool:
    """Whether lit bits are so rare (at most one in 32) that jumping is faster than drawing all bits together."""
    return 0 < threshold <= (1 << width) // 32


@lru_cache(maxsize=16)  # a process rarely has more than a few plans, and a law takes 0.6 MB
def jump_law(threshold: int, width: int) -> JumpLaw:
    """The law of the jumps between bits that are lit with probability threshold/2^width."""
    return JumpLaw(threshold, width)


class JumpLaw(Frozen):
    """The edges that decide a jump, their leading digits, and a table of jumps by the first 16 digits of U."""

    def __init__(self, threshold: int, width: int) -> None:
        self.threshold = threshold
        self.width = width
        whole, dark = 1 << self.width * REACH, 2**self.width - self.threshold
        edges = [whole - (dark**j << self.width * (REACH - j)) for j in range(1, REACH + 1)]
        leading = np.array([edge >> self.width * (REACH - 1) for edge in edges], np.uint64)
        digits = min(_LOOKED_UP_DIGITS, self.width)
        first = np.arange(1 << digits, dtype=np.uint64) << np.uint64(self.width - digits)
        last = first + np.uint64((1 << self.width - digits) - 1)
        fewest, most = np.searchsorted(leading, first, side="left"), np.searchsorted(leading, last, side="right")
        # Edge j, exactly: an integer out of 2^(width * REACH).
        self.edges = np.array(edges, object)
        # The first `width` digits of each edge.
        self.leading: Words = leading
        # The jump by the leading digits of U, or UNDECIDED.
        self.table: Lengths = np.where(fewest == most, fewest, UNDECIDED).astype(np.uint8)
        self._freeze()

    @property
    def shift(self) -> np.uint64:
        """The number of digits to drop from a word to look it up in the table."""
        return np.uint64(max(0, self.width - _LOOKED_UP_DIGITS))

    @cached_property
    def _jumps_per_bit(self) -> float:
        """Jumps needed per bit, on average: 1 / E[bits passed by a jump, the lit one included] = q / (1 - r^REACH)."""
        whole = 1 << self.width * REACH
        return float(Fraction(self.threshold, 2**self.width) / Fraction(self.edges[-1], whole))

    def sufficient_jumps(self, bits: int) -> int:
        """How many jumps to draw to get past this many bits.

        About once in 10^7 times they are too few, and the caller draws more.
        """
        expected = bits * self._jumps_per_bit
        return math.ceil(expected + 5 * math.sqrt(expected) + 5)

    def draw(self, entropy: Entropy, who: Who, within: NDArray[np.int64] | None = None) -> Lengths:
        """A jump for each user; jumps that go past `within` bits may return any number of at least `within`."""
        words = entropy.integers(who)
        found, tied = self.look_up(words)
        if tied.size:
            users = tied if isinstance(who, int) else who[tied]
            found[tied] = self._read_on(entropy, users, words[tied], None if within is None else within[tied])
        return found

    def look_up(self, words: Words) -> tuple[Lengths, Places]:
        """The jump for each word, and the places of the words that tie with an edge, so that more must be read."""
        found = self.table[(words >> self.shift).view(np.int64)]
        open_ = np.flatnonzero(found == UNDECIDED)
        found[open_], most = (np.searchsorted(self.leading, words[open_], side=side) for side in ("left", "right"))
        return found, open_[found[open_] != most]

    def _read_on(self, entropy: Entropy, who: Places, words: Words, within: NDArray[np.int64] | None) -> Lengths:
        """Read more words after the ones that tie with an edge, until it is known which edges are at most U."""
        found = np.zeros(who.size, np.uint8)
        digits, open_, unread = words.astype(object), np.arange(who.size), self.width * (REACH - 1)
        while True:
            # U lies between the digits read so far followed by zeros and followed by ones.
            fewest, most = (
                np.searchsorted(self.edges, end, side="right")
                for end in (digits << unread, ((digits + 1) << unread) - 1)
            )
            found[open_] = fewest
            undecided = fewest < (most if within is None else np.minimum(most, within[open_]))
            open_, digits = open_[undecided], digits[undecided]
            if not open_.size:
                return found
            digits = (digits << self.width) | entropy.integers(who[open_]).astype(object)
            unread -= self.width


def rare_bits(entropy: Entropy, users: int, bits: int, threshold: int, width: int) -> Words:
    """Independent bits, each 1 with probability threshold/2^width, as ceil(bits/64) words for each user.

    From a keystream, the bits of all users are one long row, and jumps lead along it. Where every user has a tape of
    their own (in checks), each user jumps alone.
    """
    law, lit = jump_law(threshold, width), np.zeros((users, -(-bits // 64)), np.uint64)
    if isinstance(entropy, Keystream):
        step = users_together(bits)
        for start in range(0, users, step):
            _jump_along(entropy, law, lit[start : start + step], bits)
    else:
        _jump_each(entropy, law, lit, bits)
    return lit


def _jump_along(entropy: Keystream, law: JumpLaw, lit: Words, bits: int) -> None:
    """Jump along the bits of all users to the end of the last one."""
    at, end = 0, lit.shape[0] * bits
    while at < end:
        at = light_along(entropy, law, lit, bits, at)
        if at < end:  # the next word ties with an edge, or there were too few words: draw one jump by itself
            _, at = _land(lit, bits, at, law.draw(entropy, 1, np.array([end - at])))


@accelerated("rare_bits.light_along")
def light_along(entropy: Keystream, law: JumpLaw, lit: Words, bits: int, at: int) -> int:
    """Light bits from bit `at` of the row up to its end or to a word that ties; return where the next jump starts."""
    end = lit.shape[0] * bits

    def use(words: Words) -> int:
        nonlocal at
        found, tied = law.look_up(words)
        used, at = _land(lit, bits, at, found[: tied[0]] if tied.size else found)
        return used if at < end else words.size

    entropy.consume(law.sufficient_jumps(end - at), use)
    return at


def _land(lit: Words, bits: int, at: int, found: Lengths) -> tuple[int, int]:
    """Light the bits where jumps along the row land; return how many jumps were used and where the next one starts."""
    users = lit.shape[0]
    lands = found < REACH
    starts = np.cumsum(found + lands, dtype=np.int64)
    starts += at
    used = min(int(np.searchsorted(starts, users * bits)) + 1, found.size)
    places = starts[:used][lands[:used]]
    places -= 1
    row_ends = np.searchsorted(places, bits * np.arange(users + 1))
    padding = (64 * lit.shape[1] - bits) * np.arange(users)
    _light(lit, places[: row_ends[-1]] + np.repeat(padding, np.diff(row_ends)))
    return used, int(starts[used - 1]) if used else at


def _jump_each(entropy: Entropy, law: JumpLaw, lit: Words, bits: int) -> None:
    """Jump along the bits of each user separately, all users at the same time."""
    at = np.zeros(lit.shape[0], np.int64)
    who = np.arange(at.size)
    while who.size:
        found = law.draw(entropy, who, bits - at[who])
        places, lands = at[who] + found, found < REACH
        inside = lands & (places < bits)
        _light(lit, 64 * lit.shape[1] * who[inside] + places[inside])
        at[who] = places + lands
        who = who[at[who] < bits]


def _light(lit: Words, places: NDArray[np.int64]) -> None:
    """Light dark bits, numbered through all words. For dark bits, adding is the same as OR, and faster in NumPy."""
    np.add.at(lit.reshape(-1), places >> 6, np.uint64(1) << (places & 63).view(np.uint64))
