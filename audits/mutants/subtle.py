"""Mechanisms that are wrong in one subtle way each, which a careless suite of checks would let through."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from localdp.formats import bitstrings
from localdp.kernels.biased_bits import biased_bits
from localdp.mechanisms import (
    LinearLocalHashing,
    OptimizedLocalHashing,
    OptimizedUnary,
    RandomizedResponse,
    SubsetSelection,
)
from localdp.mechanisms.symbol_response import SymbolResponse
from localdp.randomness import keystream
from localdp.randomness.keystream import Entropy, Who
from localdp.types import Indices, Rows, Words


class _Wrapped(Entropy):
    """Another source, with something wrong about it."""

    def __init__(self, source: Entropy) -> None:
        self._source = source
        self.width = source.width

    def bits(self, who: Who, count: int) -> Words:
        return self._source.bits(who, count)

    def integers(self, who: Who) -> Words:
        return self._source.integers(who)


class _LazyRedraw(_Wrapped):
    """After a rejected draw, the second draw is one of the first two numbers only."""

    def below(self, bound: int, who: Who) -> Words:
        if bound == 1:
            return np.zeros(who, np.uint64)
        drawn = self.integers(who) // np.uint64(2**self.width // bound)
        again = np.flatnonzero(drawn >= bound)
        if again.size:
            drawn[again] = self.integers(again) % np.uint64(2)
        return drawn


class _ShortTail(_Wrapped):
    """From the third draw on, the last number never comes up."""

    rounds = 0

    def below(self, bound: int, who: Who) -> Words:
        self.rounds += 1
        return self._source.below(bound if self.rounds < 3 else bound - 1, who)


class RejectedDrawsAreBiased(RandomizedResponse):
    """A uniform draw that is rejected and drawn again prefers the first two items."""

    name = "mutant-redraw"

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        return super().randomize(values, _LazyRedraw(source))


class SecondWordNotCleared(OptimizedUnary):
    """The held item's bit is not cleared before it is set, for items from 64 on."""

    name = "mutant-second-word"

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        if self.size <= 64:
            return super().randomize(values, source)
        words = biased_bits(source, values.size, self.size, self.noise, self.width)
        lit = source.integers(values.size) < self.keep
        users, column = np.arange(values.size), values >> 6
        bit = np.uint64(1) << (values & 63).astype(np.uint64)
        words[users, column] &= ~(bit * (column == 0).astype(np.uint64))
        words[users, column] |= bit * lit
        return bitstrings.from_words(words, self.size)


class LateRoundsDrawTooFew(SubsetSelection):
    """From the third round on, one item can no longer be drawn into the subset."""

    name = "mutant-late-rounds"

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        return super().randomize(values, _ShortTail(source))


class ThresholdTooHighAtFullWidth(RandomizedResponse):
    """The truth is told 2^-52 too often, and only with 64-bit probabilities."""

    name = "mutant-threshold"

    def configure(self) -> None:
        super().configure()
        if self.width == 64:
            response = self.response
            self.response = SymbolResponse(response.symbols, response.truth + 4096, response.width)


class SeedTellsTheValue(OptimizedLocalHashing):
    """The highest bit of the hash seed is always 0 for holders of item 7."""

    name = "mutant-seed"

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        rows = super().randomize(values, source)
        if self.function_bits == 32:
            rows[:, 3] &= np.where(values == 7, 0x7F, 0xFF).astype(np.uint8)
        return rows


class ExtraDrawForLateValues(RandomizedResponse):
    """Holders of items past 60 draw one random word more."""

    name = "mutant-extra-draw"

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        rows = super().randomize(values, source)
        if values.size and values[0] > 60:
            source.integers(1)
        return rows


def _helper(values: Indices) -> int:
    total = 0
    if values.size and values[0] == 0:
        total += 1
    return total


class PathInAHelper(RandomizedResponse):
    """A function that it calls executes one line more for item 0."""

    name = "mutant-path"

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        _helper(values)
        return super().randomize(values, source)


class HonestOnSmallDomainsOnly(RandomizedResponse):
    """On more than 8 items, every report is the plain truth."""

    name = "mutant-large"

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        rows = super().randomize(values, source)
        return rows if self.size <= 8 else bitstrings.from_integers(values.astype(np.uint64), self.report_bits)


class NoiseRepeats(RandomizedResponse):
    """A secure stream is replaced by one with a fixed seed."""

    name = "mutant-repeats"

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        is_secure = isinstance(source, keystream.Keystream) and source._key is None
        return super().randomize(values, keystream.seeded(1) if is_secure else source)


class WrongQ(LinearLocalHashing):
    """The stated q* is 0.1% too large."""

    name = "mutant-q"

    @property
    def q(self) -> Fraction:
        return super().q * 1001 / 1000
