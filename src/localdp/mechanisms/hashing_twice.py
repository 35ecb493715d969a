"""Changing values for less (`llh+llh`): a device keeps one hash function, and pays for hash values, not for items.

A device that is asked again and again keeps a permanent response for every value that it has held, and each of them
spends epsilon (`permanent`). Here it draws one linear hash function to g symbols, once, and keeps a permanent
response for every *symbol*. Items with the same symbol share a response: changing between them costs nothing and
cannot be seen. However often the item changes, there are at most g responses, so a device spends at most g epsilon.

**The law of a report.** The function is drawn without looking at the value. The permanent response tells the true
symbol with probability t1, and otherwise draws any of the g symbols. Every report does the same to the response, with
t2. So a report tells the true symbol with probability t = t1 t2, and otherwise draws any: it is a report of `llh` with
that t, exactly pure, with the same p* and q*. All reports from one response spend epsilon, for
t1 = (e^epsilon - 1)/(e^epsilon + g - 1); one report alone spends `once`, for t = (e^once - 1)/(e^once + g - 1). g is
the power of two with the least variance of one report: it is near e^once + 1, and does not depend on epsilon.

**What it gives away.** Every report of a device has the same function, so the collector sees which reports come from
one device. That is fine where it knows that anyway, as with accounts, and not where reports must not be linked.
`auto` never takes it.

LOLOHA (Arcolezi, Pinzon, Palamidessi & Gambs, EDBT 2023) does this with an ordinary hash, whose collisions are assumed.

>>> mechanism = LinearHashingTwice(size=1_000, epsilon=2.0, once=1.0)
>>> mechanism.response.symbols, mechanism.report_bits, round(mechanism.epsilon_once, 6)
(4, 12, 1.0)
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from localdp.formats import bitstrings
from localdp.mechanisms.chains import Chain
from localdp.mechanisms.linear_hashing import LinearLocalHashing
from localdp.mechanisms.symbol_response import SymbolResponse
from localdp.randomness.keystream import Entropy
from localdp.types import Indices, Rows, Words


class LinearHashingOnce(LinearLocalHashing):
    """`llh` with a given length of symbols: it makes the permanent responses."""

    def __init__(self, size: int, epsilon: float, width: int = 64, *, symbol_bits: int) -> None:
        self._given_bits = symbol_bits
        super().__init__(size, epsilon, width)

    def configure(self) -> None:
        self.degree = self.function_bits = (self.size - 1).bit_length()
        self._respond_with(SymbolResponse.private(1 << self._given_bits, self.requested_epsilon, self.width))

    def options(self) -> dict[str, Any]:
        return {"symbol_bits": self._given_bits}


class LinearHashingTwice(Chain, LinearLocalHashing):
    """One hash function for each device, a permanent response for each symbol, and a fresh response in each report."""

    name = "llh+llh"
    keeps_buckets = True

    def configure(self) -> None:
        self.degree = self.function_bits = (self.size - 1).bit_length()
        together = [self._together(bits) for bits in range(1, self.degree + 1)]
        self._respond_with(min(together, key=self._variance_with))
        self.first: LinearHashingOnce = LinearHashingOnce(
            self.size, self.requested_epsilon, self.width, symbol_bits=self.symbol_bits
        )
        self.second = SymbolResponse(self.response.symbols, self._again(self.first.response), self.width)

    def _together(self, bits: int) -> SymbolResponse:
        """The law of one report with symbols of so many bits."""
        first = SymbolResponse.private(1 << bits, self.requested_epsilon, self.width)
        return first.then(self._again(first))

    def _again(self, first: SymbolResponse) -> int:
        """The largest `again_truth` with which one report is private enough."""
        return min(first.again(self.requested_once), (1 << self.width) - 1)

    @property
    def ratio_once(self) -> Fraction:
        return self.response.ratio

    def parameters(self) -> dict[str, int | str]:
        return self.first.parameters() | {"again_truth": str(self.second.truth)}

    def bucket(self, values: Indices, source: Entropy) -> Words:
        functions = self.draw(values.size, source)
        return functions | self.hashed(functions, values.astype(np.uint64)) << np.uint64(self.function_bits)

    def randomize_bucket(self, buckets: Words, source: Entropy) -> Rows:
        return self._perturbed(buckets, self.first.response, source)

    def randomize_permanent(self, values: Indices, source: Entropy) -> Rows:
        return self.randomize_bucket(self.bucket(values, source), source)

    def randomize_again(self, permanent: Rows, source: Entropy) -> Rows:
        return self._perturbed(bitstrings.to_integers(permanent), self.second, source)

    def _perturbed(self, reports: Words, response: SymbolResponse, source: Entropy) -> Rows:
        """The reports with the same functions and perturbed symbols."""
        shift = np.uint64(self.function_bits)
        symbols = response.perturb(reports >> shift, source)
        functions = reports & np.uint64((1 << self.function_bits) - 1)
        return bitstrings.from_integers(functions | symbols << shift, self.report_bits)
