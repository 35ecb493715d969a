"""Rare bits: jump from one lit bit to the next, instead of drawing every bit.

Bits are independent, each lit with probability q = threshold/2^width; let r = 1 - q. At least j dark bits come before
the next lit one with probability r^j, so with U uniform on [0, 1) their number is that of the *edges* 1 - r, 1 - r^2,
... at or below U. A jump looks `REACH` bits ahead: it answers how many are dark before the first lit one, or `REACH` if
all are, and the next jump starts after the lit bit or after all of them. Bits have no memory, so that is the same law.

Nothing is rounded. U is read a word at a time: one word of `width` binary digits settles the answer unless it equals
the leading digits of an edge that has more; then another word is read, and so on. Edge j has width * j digits, so an
answer j is read from at most j + 1 words. At 64 digits the first word settles all but REACH jumps in 2^64.

The leading 16 digits of the word settle nearly all jumps by looking them up.

How many jumps it takes depends on the words alone, not on anybody's value; but it tells how many bits were lit, also
where one is then replaced by the holder's own, so it must stay as secret as the noise. A keystream therefore gives a
number of words that is all but sure to be enough, and what is left of them is not used for anything else.

>>> from localdp.randomness.keystream import seeded
>>> jumps(threshold=2**60, width=64).draw(seeded(1), 5).tolist()
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

REACH = 254
UNSETTLED = 255
_LOOKED_UP = 16

Answers = NDArray[np.uint8]


def pay(threshold: int, width: int) -> bool:
    """Whether lit bits are so rare that jumping to them is sooner done than drawing all bits together."""
    return 0 < threshold <= (1 << width) // 32


@lru_cache(maxsize=16)
def jumps(threshold: int, width: int) -> Jumps:
    """The law of the jumps between bits that are lit with probability threshold/2^width."""
    return Jumps(threshold, width)


class Jumps(Frozen):
    """What a jump needs to know, worked out once: the edges, their leading digits, and a table by 16 of them."""

    def __init__(self, threshold: int, width: int) -> None:
        self.threshold = threshold
        self.width = width
        whole, dark = 1 << self.width * REACH, 2**self.width - self.threshold
        edges = [whole - (dark**j << self.width * (REACH - j)) for j in range(1, REACH + 1)]
        leading = np.array([edge >> self.width * (REACH - 1) for edge in edges], np.uint64)
        digits = min(_LOOKED_UP, self.width)
        first = np.arange(1 << digits, dtype=np.uint64) << np.uint64(self.width - digits)
        last = first + np.uint64((1 << self.width - digits) - 1)
        fewest, most = np.searchsorted(leading, first, side="left"), np.searchsorted(leading, last, side="right")
        # Edge j, exactly: an integer out of 2^(width * REACH).
        self.edges = np.array(edges, object)
        # The first `width` digits of each edge.
        self.leading: Words = leading
        # The answer by the leading digits of U, or UNSETTLED.
        self.table: Answers = np.where(fewest == most, fewest, UNSETTLED).astype(np.uint8)
        self._freeze()

    @property
    def shift(self) -> np.uint64:
        """What brings a word down to the digits that are looked up."""
        return np.uint64(max(0, self.width - _LOOKED_UP))

    @cached_property
    def _a_bit(self) -> float:
        """How many jumps it takes to pass a bit: one over the expected length of a jump, q / (1 - r^REACH)."""
        whole = 1 << self.width * REACH
        return float(Fraction(self.threshold, 2**self.width) / Fraction(self.edges[-1], whole))

    def enough(self, bits: int) -> int:
        """How many jumps are all but sure to pass this many bits; should they not, there are more."""
        expected = bits * self._a_bit
        return math.ceil(expected + 5 * math.sqrt(expected) + 5)

    def draw(self, entropy: Entropy, who: Who, within: NDArray[np.int64] | None = None) -> Answers:
        """A jump for each user; answers at or past `within`, if given, need not be told apart."""
        words = entropy.integers(who)
        found, tied = self.look_up(words)
        if tied.size:
            users = tied if isinstance(who, int) else who[tied]
            found[tied] = self._settle(entropy, users, words[tied], None if within is None else within[tied])
        return found

    def look_up(self, words: Words) -> tuple[Answers, Places]:
        """The answer that each word settles, and which words do not."""
        found = self.table[(words >> self.shift).view(np.int64)]
        open_ = np.flatnonzero(found == UNSETTLED)
        found[open_], most = (np.searchsorted(self.leading, words[open_], side=side) for side in ("left", "right"))
        return found, open_[found[open_] != most]

    def _settle(self, entropy: Entropy, who: Places, words: Words, within: NDArray[np.int64] | None) -> Answers:
        """Read on until it is known which edges are at or below U."""
        found = np.zeros(who.size, np.uint8)
        digits, open_, unread = words.astype(object), np.arange(who.size), self.width * (REACH - 1)
        while True:
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

    From a keystream, the bits of all users are one long row that is jumped along; with tapes, each user jumps alone.
    """
    law, lit = jumps(threshold, width), np.zeros((users, -(-bits // 64)), np.uint64)
    if isinstance(entropy, Keystream):
        step = users_together(bits)
        for start in range(0, users, step):
            _jump_along(entropy, law, lit[start : start + step], bits)
    else:
        _jump_each(entropy, law, lit, bits)
    return lit


def _jump_along(entropy: Keystream, law: Jumps, lit: Words, bits: int) -> None:
    at, end = 0, lit.shape[0] * bits
    while at < end:
        at = light_along(entropy, law, lit, bits, at)
        if at < end:  # the next word ties with an edge, or they were too few: one jump, with all the words it needs
            _, at = _land(lit, bits, at, law.draw(entropy, 1, np.array([end - at])))


@accelerated("rare_bits.light_along")
def light_along(entropy: Keystream, law: Jumps, lit: Words, bits: int, at: int) -> int:
    """Jump along the row from bit `at` to its end or to a word that ties with an edge; where the next jump starts."""
    end = lit.shape[0] * bits

    def use(words: Words) -> int:
        nonlocal at
        found, tied = law.look_up(words)
        used, at = _land(lit, bits, at, found[: tied[0]] if tied.size else found)
        return used if at < end else words.size

    entropy.consume(law.enough(end - at), use)
    return at


def _land(lit: Words, bits: int, at: int, found: Answers) -> tuple[int, int]:
    """Light the bits where jumps along the row land; how many it takes to its end, and where the next starts."""
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


def _jump_each(entropy: Entropy, law: Jumps, lit: Words, bits: int) -> None:
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
    """Light dark bits, counted through all words: adding is the same, and sooner done than `bitwise_or.at`."""
    np.add.at(lit.reshape(-1), places >> 6, np.uint64(1) << (places & 63).view(np.uint64))
