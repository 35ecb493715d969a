"""Linear local hashing (`llh`, `slh`): a linear hash is exactly pure, and a fast transform counts its reports."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np

from localdp.errors import WireCode, WireError
from localdp.kernels import linear_hash
from localdp.kernels.galois_field import irreducible
from localdp.mechanisms.hashing_base import Functions, HashedMechanism, Symbols
from localdp.mechanisms.pure import require_sum
from localdp.mechanisms.report_classes import Shuffled, two_levels
from localdp.mechanisms.symbol_response import SymbolResponse
from localdp.randomness import thresholds
from localdp.randomness.keystream import Entropy
from localdp.types import Counts, Rows, Words

_TRIED = 64  # items that are looked at for three whose hashes are as independent as they can be
_MORE_BITS = 3  # of symbols than e^epsilon + 1 takes: then some s/g is within 14% of any share
_NEARLY_BEST = Fraction(10044, 10000)


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
        self._respond_with(min(options, key=self._variance_with))

    def _respond_with(self, response: SymbolResponse) -> None:
        self.response, self.symbol_bits = response, response.symbols.bit_length() - 1

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
        return min(self.size, self.response.among << (self.degree - self.symbol_bits))

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
        return linear_hash.count_support(rows, self.size, self.degree, self.symbol_bits, self.response.among)

    @property
    def partial_size(self) -> int:
        return 1 << self.degree

    def count_partial(self, rows: Rows) -> Counts:
        return linear_hash.collect(rows, self.degree, self.symbol_bits, self.response.among)

    def complete(self, sums: Counts, n: int) -> Counts:
        return linear_hash.counts_from(sums.copy(), n, self.size, self.symbol_bits, self.response.among)

    def validate_counts(self, counts: Counts, n: int) -> None:
        if self.size == 1 << self.degree:
            supported = self.response.among * (self.size >> self.symbol_bits)
            require_sum(counts, n * supported, f"since every report supports {supported} items")

    def shuffled(self) -> Shuffled:
        """Two items differ by a hash that is evenly distributed; of three, the two hashes are in a linear space."""
        field, symbols, among = 1 << self.degree, self.response.symbols, self.response.among
        reports = (field - 1) * symbols
        two = Fraction(field // symbols * among**2 - among, reports)
        spaces = (self._space(1, item) for item in range(2, min(self.size, _TRIED)))
        space = max(spaces, key=len, default=None)
        three = None
        if space is not None:
            # t, t XOR u and t XOR v must all be below `among`, for the hashes u and v of the differences.
            inside = sum(
                1
                for t, u, v in product(range(among), repeat=3)
                if not _reduced((t ^ u) << self.symbol_bits | t ^ v, space)
            )
            three = Fraction((field >> len(space)) * inside - among, reports)
        return Shuffled.alike(two_levels(self.p, Fraction(among, symbols), two, three))

    def _space(self, *items: int) -> list[int]:
        """A basis of what the hashes of these items can be, one after the other, over all multipliers."""
        units = np.uint64(1) << np.arange(self.degree, dtype=np.uint64)
        images = [0] * self.degree
        for item in items:
            hashes = self.hashed(units, np.array([item], np.uint64)).tolist()
            images = [image << self.symbol_bits | part for image, part in zip(images, hashes, strict=True)]
        basis: list[int] = []
        for image in images:
            rest = _reduced(image, basis)
            if rest:
                basis = sorted([*basis, rest], reverse=True)
        return basis

    def _q_with(self, response: SymbolResponse) -> Fraction:
        """q* with this response. If two items have different hashes, each difference is equally likely."""
        field, among = 1 << self.degree, response.among
        colliding = Fraction(field // response.symbols - 1, field - 1)
        p = among * response.kept
        apart = (p * (among - 1) + (1 - p) * among) / (response.symbols - 1)
        return p * colliding + apart * (1 - colliding)

    def _variance_with(self, response: SymbolResponse) -> Fraction | float:
        """The variance per user with this response; infinite if holders and other users would report alike."""
        p, q = response.among * response.kept, self._q_with(response)
        return q * (1 - q) / (p - q) ** 2 if p > q else float("inf")


class SubsetLocalHashing(LinearLocalHashing):
    """The linear hash of `llh`, and a report that stands for a set of s symbols: the least variance at every epsilon.

    The less a report tells about other items, the better is a share of supported items near 1/(e^eps + 1): the variance
    is (u + 1)^2/(4 u) times the least possible one (that of `ss`), with u = e^eps w/(1 - w) for the share w. With one
    symbol, w = 1/g must be a power of 1/2. Here a report (a, z) stands for the s symbols z XOR y, y < s, so w = s/g can
    be nearly anything. The device draws one of the s symbols h XOR y, for the hash h of its item, and reports it by
    randomized response, so each of the s values of z that support the item has e^eps times the chance of the others.

    **Exactly pure.** The hashes of two items are equal under a share c = (N/g - 1)/(N - 1) of the multipliers, and
    otherwise every other difference is equally likely (`localdp.kernels.linear_hash`). The other item is supported with
    probability p in the first case. In the second, its place among the symbols is equally likely any of the g - 1 that
    the held item's is not:

        p* = p,     q* = c p + (1 - c) (p (s - 1) + (1 - p) s)/(g - 1).

    g is the smallest power of two for which some s has at most 1.0044 times the least variance of larger ones, because
    counting takes time in proportion to g.

    >>> mechanism = SubsetLocalHashing(size=41_270, epsilon=0.5)
    >>> mechanism.response.among, mechanism.response.symbols, mechanism.report_bits
    (3, 8, 19)
    """

    name = "slh"

    def configure(self) -> None:
        self.degree = self.function_bits = (self.size - 1).bit_length()
        wanted = thresholds.exp_below(self.requested_epsilon) + 1
        longest = min(self.degree, math.ceil(wanted).bit_length() + _MORE_BITS)
        options = [self._best_of(bits, wanted) for bits in range(1, longest + 1)]
        enough = _NEARLY_BEST * min(map(self._variance_with, options))
        self._respond_with(next(found for found in options if self._variance_with(found) <= enough))

    def _best_of(self, bits: int, wanted: Fraction) -> SymbolResponse:
        """The response with so many bits, and the best number of symbols that a report stands for."""
        around = math.floor((1 << bits) / wanted)
        among = (max(1, around), around + 1)
        responses = (SymbolResponse.private(1 << bits, self.requested_epsilon, self.width, each) for each in among)
        return min(responses, key=self._variance_with)

    def parameters(self) -> dict[str, int | str]:
        return super().parameters() | {"among": self.response.among}


def _reduced(vector: int, basis: list[int]) -> int:
    """What is left of a vector over GF(2) after subtracting the basis: 0 if it is in their span."""
    for one in basis:  # the leading bits are different and descend
        vector = min(vector, vector ^ one)
    return vector
