"""Linear local hashing: a hash that is exactly pure and decodes by a fast transform."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from localdp.errors import WireCode, WireError
from localdp.kernels import linear_hash
from localdp.kernels.galois_field import irreducible
from localdp.mechanisms.hashed import Functions, HashedMechanism, Symbols
from localdp.mechanisms.symbols import SymbolResponse
from localdp.randomness.keystream import Entropy
from localdp.types import Counts, Rows, Words


class LinearLocalHashing(HashedMechanism):
    """Hash by a nonzero multiplier of GF(2^r), then randomized response.

    r = ceil(log2 d) and g = 2^m symbols, m the one with the least variance (g is near e^eps + 1). The
    derivation is in `localdp.kernels.linear_hash`: of the N - 1 = 2^r - 1 multipliers, exactly N/g - 1 make two items
    collide, whichever they are, so with p the probability of the true symbol

        p* = p,     q* = p (N/g - 1)/(N - 1) + (1 - p) (N/g)/(N - 1)

    with no ideal hash assumed. Counting many reports costs a transform of size N g and one of size N.

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
        self.response = min(options, key=self._noise)
        self.symbol_bits = self.response.symbols.bit_length() - 1

    @property
    def q(self) -> Fraction:
        return self._confusion(self.response)

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

    def validate(self, rows: Rows) -> None:
        super().validate(rows)
        if (self.split(rows)[0] == 0).any():
            raise WireError(WireCode.SYMBOL_OUT_OF_RANGE, "a report has the multiplier 0, which is never drawn")

    def count(self, rows: Rows) -> Counts:
        return linear_hash.count_support(rows, self.size, self.degree, self.symbol_bits)

    def _confusion(self, response: SymbolResponse) -> Fraction:
        """q* under a response: its true symbol where two items collide, a particular wrong one where they do not."""
        field = 1 << self.degree
        colliding = Fraction(field // response.symbols - 1, field - 1)
        return response.kept * colliding + response.other * (1 - colliding)

    def _noise(self, response: SymbolResponse) -> float:
        p, q = response.kept, self._confusion(response)
        return float(q * (1 - q) / (p - q) ** 2) if p > q else float("inf")
