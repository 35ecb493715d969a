"""Linear local hashing (`llh`): a linear hash is exactly pure, and a fast transform counts its reports."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from localdp.errors import WireCode, WireError
from localdp.kernels import linear_hash
from localdp.kernels.galois_field import irreducible
from localdp.mechanisms.hashing_base import Functions, HashedMechanism, Symbols
from localdp.mechanisms.pure import require_sum
from localdp.mechanisms.report_classes import Shuffled, two_levels
from localdp.mechanisms.symbol_response import SymbolResponse
from localdp.randomness.keystream import Entropy
from localdp.types import Counts, Rows, Words

_TRIED = 64  # items that are looked at for three whose hashes are as independent as they can be


class LinearLocalHashing(HashedMechanism):
    """Hash the item to m bits by a random nonzero multiplier from GF(2^r), and perturb these bits as one symbol.

    r = ceil(log2 d). There are g = 2^m symbols, where m is chosen for the least variance (g is near e^eps + 1). Of the
    N - 1 = 2^r - 1 multipliers, exactly N/g - 1 hash two given items to the same symbol, whichever two they are
    (`localdp.kernels.linear_hash` derives it). So, with p the probability that the true symbol is reported,

        p* = p,     q* = p (N/g - 1)/(N - 1) + (1 - p) (N/g)/(N - 1)

    exactly: unlike `olh`, this assumes nothing about the hash. Counting takes one transform of size N g and one of
    size N, not n times d hashes.

    >>> mechanism = LinearLocalHashing(size=41_270, epsilon=1.0)
    >>> mechanism.degree, mechanism.symbol_bits, mechanism.report_bits
    (16, 2, 18)
    """

    name = "llh"

    def configure(self) -> None:
        self.degree = self.function_bits = (self.size - 1).bit_length()
        options = (
            SymbolResponse.private(1 << bits, self.requested_epsilon, self.width) for bits in range(1, self.degree + 1)
        )
        self.response = min(options, key=self._variance_with)
        self.symbol_bits = self.response.symbols.bit_length() - 1

    @property
    def q(self) -> Fraction:
        return self._q_with(self.response)

    def parameters(self) -> dict[str, int | str]:
        return {
            "degree": self.degree,
            "polynomial": irreducible(self.degree),
            "symbol_bits": self.symbol_bits,
            "truth": str(self.response.truth),
        }

    def draw(self, users: int, source: Entropy) -> Functions:
        return source.below((1 << self.degree) - 1, users) + np.uint64(1)

    def functions(self) -> Functions:
        return np.arange(1, 1 << self.degree, dtype=np.uint64)

    def hashed(self, functions: Functions, items: Words) -> Symbols:
        return linear_hash.linear_hash(functions, items, self.degree, self.symbol_bits)

    @property
    def known_functions(self) -> int:
        return (1 << self.function_bits) - 1  # a device never draws the multiplier 0

    @property
    def most_supported(self) -> int:
        return min(self.size, 1 << (self.degree - self.symbol_bits))

    def validate(self, rows: Rows) -> None:
        super().validate(rows)
        # The bytes of the multiplier, one after the other: to make integers of them would take five times as long.
        whole, rest = divmod(self.function_bits, 8)
        lit = rows[:, whole] & np.uint8((1 << rest) - 1) if rest else np.zeros(len(rows), np.uint8)
        for place in range(whole):
            lit |= rows[:, place]
        if not lit.all():
            raise WireError(WireCode.SYMBOL_OUT_OF_RANGE, "a report has the multiplier 0, which no client draws")

    def count(self, rows: Rows) -> Counts:
        return linear_hash.count_support(rows, self.size, self.degree, self.symbol_bits)

    @property
    def partial_size(self) -> int:
        return 1 << self.degree

    def count_partial(self, rows: Rows) -> Counts:
        return linear_hash.collect(rows, self.degree, self.symbol_bits)

    def complete(self, sums: Counts, n: int) -> Counts:
        return linear_hash.counts_from(sums.copy(), n, self.size, self.symbol_bits)

    def validate_counts(self, counts: Counts, n: int) -> None:
        if self.size == 1 << self.degree:
            supported = self.size >> self.symbol_bits
            require_sum(counts, n * supported, f"since every report supports {supported} items")

    def shuffled(self) -> Shuffled:
        """The hashes of u and v together are a linear map of the multiplier: its rank tells how often both are 0."""
        field, symbols = 1 << self.degree, self.response.symbols
        two = Fraction(field // symbols - 1, (field - 1) * symbols)
        rank = max((self._rank(1, item) for item in range(2, min(self.size, _TRIED))), default=None)
        three = None if rank is None else Fraction((field >> rank) - 1, (field - 1) * symbols)
        return Shuffled.alike(two_levels(self.p, Fraction(1, symbols), two, three))

    def _rank(self, *items: int) -> int:
        """The rank of the map from the multiplier to the hashes of all these items."""
        units = np.uint64(1) << np.arange(self.degree, dtype=np.uint64)
        columns = [0] * self.degree
        for item in items:
            hashes = self.hashed(units, np.array([item], np.uint64)).tolist()
            columns = [column << self.symbol_bits | part for column, part in zip(columns, hashes, strict=True)]
        rank = 0
        while any(columns):
            pivot = max(columns)
            columns = [min(column, column ^ pivot) for column in columns if column != pivot]
            rank += 1
        return rank

    def _q_with(self, response: SymbolResponse) -> Fraction:
        """q* with this response: `kept` if two items have the same hash, `other` if not, weighted by their chances."""
        field = 1 << self.degree
        colliding = Fraction(field // response.symbols - 1, field - 1)
        return response.kept * colliding + response.other * (1 - colliding)

    def _variance_with(self, response: SymbolResponse) -> float:
        """The variance per user with this response; infinite if holders and other users would report alike."""
        p, q = response.kept, self._q_with(response)
        return float(q * (1 - q) / (p - q) ** 2) if p > q else float("inf")
