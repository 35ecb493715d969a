"""Hadamard response, where it is pure."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from localdp.errors import ImpureMechanismError
from localdp.formats import bitstrings
from localdp.kernels.counting import add_histogram
from localdp.kernels.galois_field import parity
from localdp.kernels.walsh_hadamard import walsh_hadamard
from localdp.mechanisms.base import Channel, Mechanism
from localdp.randomness import thresholds
from localdp.randomness.keystream import Entropy
from localdp.types import Counts, Flags, Indices, Rows


class HadamardResponse(Mechanism):
    """Report a column of the Hadamard matrix of order K where the item's row is +1, or, less likely, -1.

    Acharya, Sun & Zhang, AISTATS 2019. Item x owns row x+1 of the Sylvester matrix of order K = 2^ceil(log2(d+1)),
    whose entry at column y is the parity of `(x+1) & y`. Any two such rows agree on half of either's +1 columns, so
    with one block the scheme is pure: p* = e^eps/(1 + e^eps), q* = 1/2. The published scheme takes
    B = 2^(ceil(log2 e^eps) - 1) blocks, and with B > 1 items that share a block collide while others never do: no
    single q* exists. So `hr` is offered while B = 1, that is for e^eps <= 2, and refuses beyond.

    >>> HadamardResponse(size=100, epsilon=0.5).report_bits
    7
    >>> HadamardResponse(size=100, epsilon=1.0)
    Traceback (most recent call last):
    localdp.errors.ImpureMechanismError: hr is pure only up to epsilon = ln 2 = 0.693: at epsilon 1 ...
    """

    name = "hr"

    def configure(self) -> None:
        e = thresholds.exp_below(self.requested_epsilon)
        if e > 2:
            raise ImpureMechanismError(
                f"hr is pure only up to epsilon = ln 2 = 0.693: at epsilon {self.requested_epsilon:g} Hadamard "
                "response splits the items into blocks, and items of one block are confused more often than others, so "
                "there is no single q* to debias with; use llh, which is as small and pure at every epsilon"
            )
        self.order_bits = self.size.bit_length()
        self.keep = thresholds.rounded_down(e / (1 + e), self.width)

    @property
    def p(self) -> Fraction:
        return Fraction(self.keep, 2**self.width)

    @property
    def q(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def ratio(self) -> Fraction:
        return self.p / (1 - self.p)

    @property
    def report_bits(self) -> int:
        return self.order_bits

    def parameters(self) -> dict[str, int | str]:
        return {"order_bits": self.order_bits, "keep": str(self.keep)}

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        """A uniform column, moved to the other half (by flipping a bit of the row) if its sign is not the one drawn."""
        row = values.astype(np.uint64) + np.uint64(1)
        column = source.bits(values.size, self.order_bits) & np.uint64(2**self.order_bits - 1)
        wanted = (source.integers(values.size) >= self.keep).astype(np.uint64)
        lowest_bit = row & (~row + np.uint64(1))
        column ^= lowest_bit * (parity(column & row) ^ wanted)
        return bitstrings.from_integers(column, self.report_bits)

    def supports(self, rows: Rows, item: int) -> Flags:
        return np.asarray(parity(bitstrings.to_integers(rows) & np.uint64(item + 1)) == 0)

    def count(self, rows: Rows) -> Counts:
        histogram = np.zeros(1 << self.order_bits, np.int64)
        add_histogram(rows, histogram)
        walsh_hadamard(histogram)
        return np.asarray((histogram[1 : self.size + 1] + rows.shape[0]) >> 1)

    def channel(self) -> Channel:
        order = 1 << self.order_bits
        self._check_channel(order)
        inside, outside = self.p * 2 / order, (1 - self.p) * 2 / order
        rows = tuple(
            tuple(outside if (value + 1 & column).bit_count() % 2 else inside for column in range(order))
            for value in range(self.size)
        )
        return Channel(bitstrings.from_integers(np.arange(order, dtype=np.uint64), self.report_bits), rows)
