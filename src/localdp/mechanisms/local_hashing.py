"""Local hashing: a hash that mixes well, assumed ideal."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction

import numpy as np

from localdp.kernels import local_hash
from localdp.mechanisms.base import independent_counts
from localdp.mechanisms.hashed import Functions, HashedMechanism, Symbols
from localdp.mechanisms.symbols import SymbolResponse
from localdp.randomness import thresholds
from localdp.randomness.keystream import Entropy
from localdp.types import Counts, Rows, Words

_COUNT_REPORTS = 1 << 14


class LocalHashing(HashedMechanism):
    """Hash with a 32-bit seed, then randomized response.

    Wang et al., USENIX Security 2017, section 4.4. Privacy is exact whatever the hash; p* and q* = 1/g hold for an
    ideal one, which `localdp.kernels.local_hash` is measured against. Counting is n times d hashes: `llh` has the same
    accuracy without that cost.
    """

    exactly_pure = False
    counts_pairs = True

    @abstractmethod
    def symbols(self) -> int:
        """How many symbols to hash to."""

    def configure(self) -> None:
        self.function_bits = min(local_hash.SEED_BITS, self.width)
        self.response = SymbolResponse.private(self.symbols(), self.requested_epsilon, self.width)

    @property
    def q(self) -> Fraction:
        return Fraction(1, self.response.symbols)

    def parameters(self) -> dict[str, int | str]:
        return {"hash": local_hash.NAME, "symbols": self.response.symbols, "truth": str(self.response.truth)}

    def draw(self, users: int, source: Entropy) -> Functions:
        return source.bits(users, self.function_bits) & np.uint64((1 << self.function_bits) - 1)

    def functions(self) -> Functions:
        return np.arange(1 << self.function_bits, dtype=np.uint64)

    def hashed(self, functions: Functions, items: Words) -> Symbols:
        mixed = local_hash.mixed_items(items.astype(np.uint32))
        return local_hash.local_hash(functions.astype(np.uint32), mixed, self.response.symbols)

    def count(self, rows: Rows) -> Counts:
        mixed = local_hash.mixed_items(np.arange(self.size, dtype=np.uint32))
        counts = np.zeros(self.size, np.int64)
        for start in range(0, rows.shape[0], _COUNT_REPORTS):
            functions, symbols = self.split(rows[start : start + _COUNT_REPORTS])
            ranges = local_hash.preimage(symbols, self.response.symbols)
            counts += local_hash.count_hashed(functions.astype(np.uint32), *ranges, mixed)
        return counts

    @property
    def _count_words(self) -> int:
        return self.size

    def simulate(self, frequencies: Counts, seed: int | None) -> Counts:
        """Under an ideal hash, whether a report supports an item is independent from item to item."""
        return independent_counts(self, frequencies, seed)


class OptimizedLocalHashing(LocalHashing):
    """Local hashing to g = e^eps + 1 symbols, rounded: as accurate as `oue` in a few bytes.

    >>> mechanism = OptimizedLocalHashing(size=1000, epsilon=1.0)
    >>> mechanism.response.symbols, mechanism.report_bits
    (4, 34)
    """

    name = "olh"

    def symbols(self) -> int:
        return max(2, math.floor(thresholds.exp_below(self.requested_epsilon) + 1 + Fraction(1, 2)))


class BinaryLocalHashing(LocalHashing):
    """Local hashing to 2 symbols (after Bassily & Smith, STOC 2015).

    >>> BinaryLocalHashing(size=1000, epsilon=1.0).report_bits
    33
    """

    name = "blh"

    def symbols(self) -> int:
        return 2
