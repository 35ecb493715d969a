"""Generalized randomized response (k-RR)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from localdp.errors import WireCode, WireError
from localdp.formats import bitstrings
from localdp.kernels.counting import add_histogram
from localdp.mechanisms.base import Channel, Mechanism
from localdp.mechanisms.symbols import SymbolResponse
from localdp.randomness.keystream import Entropy
from localdp.types import Counts, Flags, Indices, Rows


class RandomizedResponse(Mechanism):
    """Report the item itself with probability e^eps/(e^eps + d - 1), else another one uniformly.

    Kairouz, Bonawitz & Ramage, ICML 2016. The best there is when d < 3 e^eps + 2. The report is the index of
    an item, and supports that item alone.

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

    def validate(self, rows: Rows) -> None:
        super().validate(rows)
        if (bitstrings.to_integers(rows) >= self.size).any():
            raise WireError(WireCode.SYMBOL_OUT_OF_RANGE, f"a report names an item past the last of {self.size}")

    def supports(self, rows: Rows, item: int) -> Flags:
        return np.asarray(bitstrings.to_integers(rows) == item)

    def count(self, rows: Rows) -> Counts:
        counts = np.zeros(self.size, np.int64)
        add_histogram(rows, counts)
        return counts

    def channel(self) -> Channel:
        self._check_channel(self.size)
        reports = np.arange(self.size, dtype=np.uint64)
        rows = tuple(
            tuple(self.p if report == value else self.q for report in range(self.size)) for value in range(self.size)
        )
        return Channel(bitstrings.from_integers(reports, self.report_bits), rows)

    def simulate(self, frequencies: Counts, seed: int | None) -> Counts:
        """Binomially many tell the truth; the others spread uniformly."""
        rng = np.random.default_rng(seed)
        truthful = rng.binomial(frequencies, float(self.p - self.q))
        others = int(frequencies.sum() - truthful.sum())
        return truthful + rng.multinomial(others, np.full(self.size, 1 / self.size))
