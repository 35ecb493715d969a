"""Hadamard response (`hr`), for the small epsilons at which it is pure."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from localdp.errors import ImpureMechanismError
from localdp.formats import bitstrings
from localdp.kernels.counting import add_histogram
from localdp.kernels.galois_field import parity
from localdp.kernels.walsh_hadamard import walsh_hadamard
from localdp.mechanisms.channel import Channel
from localdp.mechanisms.laws import Drawn
from localdp.mechanisms.pure import PureMechanism
from localdp.mechanisms.report_classes import Shuffled, two_levels
from localdp.randomness import thresholds
from localdp.randomness.keystream import Entropy
from localdp.types import Counts, Flags, Indices, Rows


class HadamardEntry(PureMechanism):
    """A report tells whether one entry of a row of a Hadamard matrix is +1: with probability e^eps/(1 + e^eps), truly.

    `hcms` reports such an entry too.
    """

    keep: int

    def _set_noise(self) -> None:
        e = thresholds.exp_below(self.requested_epsilon)
        self.keep = thresholds.rounded_down(e / (1 + e), self.width)

    @property
    def p(self) -> Fraction:
        return Fraction(self.keep, 2**self.width)

    @property
    def ratio(self) -> Fraction:
        return self.p / (1 - self.p)


class HadamardResponse(HadamardEntry):
    """Report a column of a Hadamard matrix: columns where the item's row is +1 are e^eps times likelier than the rest.

    Acharya, Sun & Zhang, AISTATS 2019. The matrix has K = 2^ceil(log2(d+1)) rows and columns; item x has row x+1.
    The entry in column y is +1 if `(x+1) & y` has an even number of ones, and -1 otherwise. A report supports the
    items that have +1 in its column. Half of the +1 columns of one row are also +1 columns of any other row, so the
    mechanism is pure: p* = e^eps/(1 + e^eps), q* = 1/2.

    For e^eps > 2 the authors split the items into blocks. Items of one block then share columns and items of
    different blocks never do, so there is no single q*. `hr` is therefore offered only for e^eps <= 2.

    >>> HadamardResponse(size=100, epsilon=0.5).report_bits
    7
    >>> HadamardResponse(size=100, epsilon=1.0)
    Traceback (most recent call last):
    localdp.errors.ImpureMechanismError: hr is pure only up to epsilon = ln 2 = 0.693: at epsilon 1 ...
    """

    name = "hr"

    def configure(self) -> None:
        if thresholds.exp_below(self.requested_epsilon) > 2:
            raise ImpureMechanismError(
                f"hr is pure only up to epsilon = ln 2 = 0.693: at epsilon {self.requested_epsilon:g} Hadamard "
                "response splits the items into blocks and confuses items of one block more often than others, so "
                "there is no single q* to debias with; use llh, which has equally small reports and is pure at every "
                "epsilon"
            )
        self.order_bits = self.size.bit_length()
        self._set_noise()

    @property
    def q(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def report_bits(self) -> int:
        return self.order_bits

    def parameters(self) -> dict[str, int | str]:
        return {"order_bits": self.order_bits, "keep": str(self.keep)}

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        """Draw a uniform column and a wanted sign; if the item's row has the opposite sign there, change the column.

        To change it, flip one of its bits: the lowest bit set in the row number. That changes the sign. The flip maps
        the columns of one sign one-to-one to those of the other, so the report is uniform among the columns of the
        wanted sign.
        """
        row = values.astype(np.uint64) + np.uint64(1)
        column = source.bits(values.size, self.order_bits) & np.uint64(2**self.order_bits - 1)
        wanted = (source.integers(values.size) >= self.keep).astype(np.uint64)
        lowest_bit = row & (~row + np.uint64(1))
        column ^= lowest_bit * (parity(column & row) ^ wanted)
        return bitstrings.from_integers(column, self.report_bits)

    def supports(self, rows: Rows, item: int) -> Flags:
        return np.asarray(parity(bitstrings.to_integers(rows) & np.uint64(item + 1)) == 0)

    def count(self, rows: Rows) -> Counts:
        return self.complete(self.count_partial(rows), rows.shape[0])

    @property
    def partial_size(self) -> int:
        return 1 << self.order_bits

    def count_partial(self, rows: Rows) -> Counts:
        histogram = np.zeros(self.partial_size, np.int64)
        add_histogram(rows, histogram)
        return histogram

    def complete(self, sums: Counts, n: int) -> Counts:
        transformed = sums.copy()
        walsh_hadamard(transformed)
        return np.asarray((transformed[1 : self.size + 1] + n) >> 1)

    def drawn_in(self, rows: Rows) -> Drawn:
        known = 1 << self.order_bits
        return Drawn(bitstrings.to_integers(rows), known, 2 * self.p_star / known)

    @property
    def most_supported(self) -> int:
        return self.size  # column 0 supports all items

    def shuffled(self) -> Shuffled:
        """The rows 1, 2 and 4 are independent. Of three items, the third row is the sum of the others."""
        half = Fraction(1, 2)
        three = {2: None, 3: half**2}.get(self.size, half**3)
        return Shuffled.alike(two_levels(self.p, half, half**2, three))

    def channel(self) -> Channel:
        order = 1 << self.order_bits
        self._check_channel(order)
        p, _ = self._exact_pair
        inside, outside = p * 2 / order, (1 - p) * 2 / order
        rows = tuple(
            tuple(outside if (value + 1 & column).bit_count() % 2 else inside for column in range(order))
            for value in range(self.size)
        )
        return Channel(bitstrings.from_integers(np.arange(order, dtype=np.uint64), self.report_bits), rows)
