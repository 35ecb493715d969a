"""The base class of mechanisms that hash the item to one of a few symbols: `olh`, `blh`, `llh` and `slh`."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from localdp.formats import bitstrings
from localdp.mechanisms.channel import Channel
from localdp.mechanisms.laws import Drawn, require_below
from localdp.mechanisms.pure import PureMechanism
from localdp.mechanisms.symbol_response import SymbolResponse
from localdp.randomness.keystream import Entropy
from localdp.types import Flags, Indices, Rows

Functions = NDArray[np.uint64]
"""Hash functions, each as the number that identifies it: a seed (`olh`, `blh`) or a multiplier (`llh`, `slh`)."""
Symbols = NDArray[np.uint64]
"""Hash values, from 0 to the number of symbols - 1."""


class HashedMechanism(PureMechanism):
    """Draw a hash function, hash the held item to a symbol, and report the function with a perturbed symbol.

    The low `function_bits` bits of a report are the function, the other bits are the symbol z. The report supports
    every item that hashes to one of the symbols z XOR y, for y < `response.among`: to z itself, except with `slh`. The
    function is drawn without looking at the item and so says nothing about it: the
    report is exactly as private as the randomized response to the symbol, however good or bad the hash is.
    """

    response: SymbolResponse
    function_bits: int

    @abstractmethod
    def draw(self, users: int, source: Entropy) -> Functions:
        """One uniformly drawn hash function for each user."""

    @abstractmethod
    def functions(self) -> Functions:
        """All hash functions there are, to list the channel of small families."""

    @abstractmethod
    def hashed(self, functions: Functions, items: NDArray[np.uint64]) -> Symbols:
        """The symbol of each item under each function; arguments broadcast."""

    @property
    def p(self) -> Fraction:
        return self.response.among * self.response.kept

    @property
    def ratio(self) -> Fraction:
        return self.response.ratio

    @property
    def report_bits(self) -> int:
        return self.function_bits + (self.response.symbols - 1).bit_length()

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        functions = self.draw(values.size, source)
        hashes = self.hashed(functions, values.astype(np.uint64))
        symbols = self.response.perturb(hashes ^ source.below(self.response.among, values.size), source)
        return bitstrings.from_integers(functions | symbols << np.uint64(self.function_bits), self.report_bits)

    @property
    def known_functions(self) -> int:
        """How many hash functions a device draws from, all equally likely."""
        return 1 << self.function_bits

    def drawn_in(self, rows: Rows) -> Drawn:
        return Drawn(self.split(rows)[0], self.known_functions, 1 / self.known_functions)

    def validate(self, rows: Rows) -> None:
        super().validate(rows)
        symbols = self.response.symbols
        if symbols & (symbols - 1):  # with 2, 4 or 8 symbols, every pattern is one
            require_below(symbols, self.split(rows)[1], "a symbol", "symbols")

    def supports(self, rows: Rows, item: int) -> Flags:
        functions, symbols = self.split(rows)
        return self.hits(self.hashed(functions, np.array([item], np.uint64)), symbols)

    def hits(self, hashes: Symbols, reported: Symbols) -> Flags:
        """Whether reports with these symbols support items with these hashes; arguments broadcast."""
        return np.asarray(hashes ^ reported < self.response.among)

    def channel(self) -> Channel:
        self._check_channel(1 << self.report_bits)
        functions = self.functions()
        hashed = self.hashed(functions[:, None], np.arange(self.size, dtype=np.uint64))
        alphabet = range(self.response.symbols)
        kept, other = (part / functions.size for part in (self.response.kept, self.response.other))
        rows = tuple(
            tuple(
                kept if hit else other
                for symbol in alphabet
                for hit in self.hits(hashed[:, value], np.full(1, symbol, np.uint64)).tolist()
            )
            for value in range(self.size)
        )
        reports = np.concatenate([functions | np.uint64(symbol << self.function_bits) for symbol in alphabet])
        return Channel(bitstrings.from_integers(reports, self.report_bits), rows)

    def split(self, rows: Rows) -> tuple[Functions, Symbols]:
        """The hash function and the symbol of each report."""
        reports = bitstrings.to_integers(rows)
        return reports & np.uint64((1 << self.function_bits) - 1), reports >> np.uint64(self.function_bits)
