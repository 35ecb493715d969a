"""What mechanisms that hash the item to a few symbols have in common."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from localdp.errors import WireCode, WireError
from localdp.formats import bitstrings
from localdp.mechanisms.base import Channel, Mechanism
from localdp.mechanisms.symbols import SymbolResponse
from localdp.randomness.keystream import Entropy
from localdp.types import Flags, Indices, Rows

Functions = NDArray[np.uint64]
Symbols = NDArray[np.uint64]


class HashedMechanism(Mechanism):
    """Draw a hash function, report it with a randomized response to the symbol of the held item under it.

    The function is the low `function_bits` bits of the report, the symbol the rest. The report supports every
    item that hashes to its symbol. Since the function is drawn without looking at the item, the privacy of
    the response is the privacy of the report, whatever the hash.
    """

    response: SymbolResponse
    function_bits: int

    @abstractmethod
    def draw(self, users: int, source: Entropy) -> Functions:
        """A uniform hash function for each user."""

    @abstractmethod
    def functions(self) -> Functions:
        """All hash functions, for small families."""

    @abstractmethod
    def hashed(self, functions: Functions, items: NDArray[np.uint64]) -> Symbols:
        """The symbol of each item under each function; arguments broadcast."""

    @property
    def p(self) -> Fraction:
        return self.response.kept

    @property
    def ratio(self) -> Fraction:
        return self.response.ratio

    @property
    def report_bits(self) -> int:
        return self.function_bits + (self.response.symbols - 1).bit_length()

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        functions = self.draw(values.size, source)
        symbols = self.response.perturb(self.hashed(functions, values.astype(np.uint64)), source)
        return bitstrings.from_integers(functions | symbols << np.uint64(self.function_bits), self.report_bits)

    def validate(self, rows: Rows) -> None:
        super().validate(rows)
        if (self.split(rows)[1] >= self.response.symbols).any():
            raise WireError(
                WireCode.SYMBOL_OUT_OF_RANGE,
                f"a report names a symbol past the last of {self.response.symbols}",
            )

    def supports(self, rows: Rows, item: int) -> Flags:
        functions, symbols = self.split(rows)
        return np.asarray(self.hashed(functions, np.array([item], np.uint64)) == symbols)

    def channel(self) -> Channel:
        self._check_channel(1 << self.report_bits)
        functions = self.functions()
        hashed = self.hashed(functions[:, None], np.arange(self.size, dtype=np.uint64))
        alphabet = range(self.response.symbols)
        kept, other = (part / functions.size for part in (self.response.kept, self.response.other))
        rows = tuple(
            tuple(kept if symbol == own else other for symbol in alphabet for own in hashed[:, value].tolist())
            for value in range(self.size)
        )
        reports = np.concatenate([functions | np.uint64(symbol << self.function_bits) for symbol in alphabet])
        return Channel(bitstrings.from_integers(reports, self.report_bits), rows)

    def split(self, rows: Rows) -> tuple[Functions, Symbols]:
        """The hash function and the symbol of each report."""
        reports = bitstrings.to_integers(rows)
        return reports & np.uint64((1 << self.function_bits) - 1), reports >> np.uint64(self.function_bits)
