"""Bugs that published LDP code has had, put back in on purpose: a check that does not catch them is worth nothing."""

from __future__ import annotations

import numpy as np

from localdp.formats import bitstrings
from localdp.kernels.biased_bits import biased_bits
from localdp.mechanisms import OptimizedUnary, RandomizedResponse
from localdp.randomness.keystream import Entropy, Who
from localdp.types import Indices, Rows, Words


class UnclearedBit(OptimizedUnary):
    """The held item's bit is set over its noise instead of in its place: it is 1 more often than p says."""

    name = "oue-uncleared"

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        words = biased_bits(source, values.size, self.size, self.noise, self.width)
        lit = source.integers(values.size) < self.keep
        words[np.arange(values.size), values >> 6] |= (np.uint64(1) << (values & 63).astype(np.uint64)) * lit
        return bitstrings.from_words(words, self.size)


class SwappedProbabilities(OptimizedUnary):
    """The held item's bit is lit with q and the others with p."""

    name = "oue-swapped"

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        words = biased_bits(source, values.size, self.size, self.keep, self.width)
        lit = source.integers(values.size) < self.noise
        users, column = np.arange(values.size), values >> 6
        bit = np.uint64(1) << (values & 63).astype(np.uint64)
        words[users, column] = words[users, column] & ~bit | bit * lit
        return bitstrings.from_words(words, self.size)


class _Modulo(Entropy):
    """Uniform draws by remainder: the first few values come up more often."""

    def __init__(self, source: Entropy) -> None:
        self._source = source

    def bits(self, who: Who, count: int) -> Words:
        return self._source.bits(who, count)

    def integers(self, who: Who) -> Words:
        return self._source.integers(who)

    def below(self, bound: int, who: Who) -> Words:
        return self._source.integers(who) % np.uint64(bound)


class ModuloBias(RandomizedResponse):
    """Randomized response whose noise is `word % size`."""

    name = "grr-modulo"

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        return super().randomize(values, _Modulo(source))


MUTANTS = (UnclearedBit, SwappedProbabilities, ModuloBias)
