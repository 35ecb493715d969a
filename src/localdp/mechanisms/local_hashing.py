"""Local hashing (`olh`, `blh`) with an ordinary hash, which is assumed to be ideal."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction

import numpy as np

from localdp.kernels import local_hash
from localdp.mechanisms.hashing_base import Functions, HashedMechanism, Symbols
from localdp.mechanisms.pure import independent_counts
from localdp.mechanisms.report_classes import Shuffled, two_levels
from localdp.mechanisms.symbol_response import SymbolResponse
from localdp.randomness import thresholds
from localdp.randomness.keystream import Entropy
from localdp.types import Counts, Rows, Words

_COUNT_REPORTS = 1 << 14  # unpacked and counted at a time, which bounds the memory


class LocalHashing(HashedMechanism):
    """Hash the item with a random 32-bit seed to one of g symbols, and perturb the symbol.

    Wang et al., USENIX Security 2017, section 4.4. Privacy does not depend on the hash. The value q* = 1/g does:
    it is exact only for an ideal hash, and the tests measure how close `localdp.kernels.local_hash` comes. Counting
    takes n times d hashes; `llh` is as accurate without that cost.
    """

    exactly_pure = False
    counts_pairs = True

    @abstractmethod
    def symbols(self) -> int:
        """The number of symbols g."""

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
    def _count_work(self) -> int:
        return self.size

    def shuffled(self) -> Shuffled:
        """From above, as if no two items ever had the same hash, which is the worst; from below, for an ideal hash."""
        share = Fraction(1, self.response.symbols)
        never = two_levels(self.p, share, Fraction(0), None)
        return Shuffled((never,), (two_levels(self.p, share, share**2, share**3 if self.size > 2 else None),))

    def simulate(self, frequencies: Counts, seed: int | None) -> Counts:
        """Counts under an ideal hash, with which a report supports each item independently of the others."""
        return independent_counts(self, frequencies, seed)


class OptimizedLocalHashing(LocalHashing):
    """Local hashing to g = e^eps + 1 symbols (rounded): as accurate as `oue`, with reports of a few bytes.

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
