"""Generalized randomized response (`grr`, also called k-RR): report the item itself or a random one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from localdp.formats import bitstrings
from localdp.kernels.counting import add_histogram
from localdp.mechanisms.channel import Channel
from localdp.mechanisms.laws import Drawn, require_below
from localdp.mechanisms.pure import PureMechanism, require_sum
from localdp.mechanisms.report_classes import Shuffled, two_levels
from localdp.mechanisms.symbol_response import SymbolResponse
from localdp.randomness.keystream import Entropy
from localdp.types import Counts, Flags, Indices, Rows


class RandomizedResponse(PureMechanism):
    """Report the held item with probability e^eps/(e^eps + d - 1), and otherwise any of the d - 1 others.

    Kairouz, Bonawitz & Ramage, ICML 2016. It has less noise than `oue` when d < 3 e^eps + 2. The report is the index
    of an item, and supports that item alone.

    >>> mechanism = RandomizedResponse(size=4, epsilon=1.0)
    >>> round(mechanism.p_star, 6), round(mechanism.q_star, 6), mechanism.report_bits
    (0.475367, 0.174878, 2)
    """

    name = "grr"

    def configure(self) -> None:
        self.response = SymbolResponse.private(self.size, self.requested_epsilon, self.width)

    @property
    def p(self) -> Fraction:
        return self.response.kept

    @property
    def q(self) -> Fraction:
        return self.response.other

    @property
    def ratio(self) -> Fraction:
        return self.response.ratio

    @property
    def report_bits(self) -> int:
        return (self.size - 1).bit_length()

    def parameters(self) -> dict[str, int | str]:
        return {"truth": str(self.response.truth)}

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        return bitstrings.from_integers(self.response.perturb(values.astype(np.uint64), source), self.report_bits)

    def compared(self, rows: Rows) -> Drawn:
        return Drawn(bitstrings.to_integers(rows), self.size, self.p_star)

    @property
    def most_supported(self) -> int:
        return 1

    def validate(self, rows: Rows) -> None:
        super().validate(rows)
        require_below(self.size, bitstrings.to_integers(rows), "an item index", "indices")

    def supports(self, rows: Rows, item: int) -> Flags:
        return np.asarray(bitstrings.to_integers(rows) == item)

    def count(self, rows: Rows) -> Counts:
        counts = np.zeros(self.size, np.int64)
        add_histogram(rows, counts)
        return counts

    def validate_counts(self, counts: Counts, n: int) -> None:
        require_sum(counts, n, "since every report supports one item")

    def channel(self) -> Channel:
        self._check_channel(self.size)
        reports = np.arange(self.size, dtype=np.uint64)
        p, q = self._exact_pair
        rows = tuple(tuple(p if report == value else q for report in range(self.size)) for value in range(self.size))
        return Channel(bitstrings.from_integers(reports, self.report_bits), rows)

    def shuffled(self) -> Shuffled:
        three = Fraction(0) if self.size > 2 else None
        return Shuffled.alike(two_levels(self.p, Fraction(1, self.size), Fraction(0), three))

    def simulate(self, frequencies: Counts, seed: int | None) -> Counts:
        """A binomial number of each item's holders tell the truth; all other users report a uniformly drawn item."""
        rng = np.random.default_rng(seed)
        truthful = rng.binomial(frequencies, self.gap)
        others = int(frequencies.sum() - truthful.sum())
        return truthful + rng.multinomial(others, np.full(self.size, 1 / self.size))
