"""Mechanisms with bugs that published LDP code has had."""

from __future__ import annotations

import numpy as np

from localdp.formats import bitstrings
from localdp.kernels.biased_bits import biased_bits
from localdp.mechanisms import OptimizedUnary, RandomizedResponse
from localdp.randomness.keystream import Entropy, Who
from localdp.types import Indices, Rows, Words


class UnclearedBit(OptimizedUnary):
    """The noise of the held item's bit is not cleared before the bit is set, so it is 1 more often than p says."""

    name = "oue-uncleared"

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        words = biased_bits(source, values.size, self.size, self.noise, self.width)
        lit = source.integers(values.size) < self.keep
        words[np.arange(values.size), values >> 6] |= (np.uint64(1) << (values & 63).astype(np.uint64)) * lit
        return bitstrings.from_words(words, self.size)


class SwappedProbabilities(OptimizedUnary):
    """The held item's bit is set with probability q and the others with probability p."""

    name = "oue-swapped"

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        words = biased_bits(source, values.size, self.size, self.keep, self.width)
        lit = source.integers(values.size) < self.noise
        users, column = np.arange(values.size), values >> 6
        bit = np.uint64(1) << (values & 63).astype(np.uint64)
        words[users, column] = words[users, column] & ~bit | bit * lit
        return bitstrings.from_words(words, self.size)


class _Modulo(Entropy):
    """A source that makes uniform draws by remainder, so that small numbers come up more often."""

    def __init__(self, source: Entropy) -> None:
        self._source = source

    def bits(self, who: Who, count: int) -> Words:
        return self._source.bits(who, count)

    def integers(self, who: Who) -> Words:
        return self._source.integers(who)

    def below(self, bound: int, who: Who) -> Words:
        return self._source.integers(who) % np.uint64(bound)


class ModuloBias(RandomizedResponse):
    """Randomized response that draws its noise as `word % size`."""

    name = "grr-modulo"

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        return super().randomize(values, _Modulo(source))
