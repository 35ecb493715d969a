"""Unary encoding: a report has a bit for every item, each flipped on its own."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

import numpy as np

from localdp.formats import bitstrings
from localdp.kernels import rare_bits
from localdp.kernels.biased_bits import biased_bits, replace_bits
from localdp.mechanisms.base import Channel, independent_counts
from localdp.mechanisms.bitmaps import BitmapMechanism
from localdp.randomness import thresholds
from localdp.randomness.keystream import Entropy
from localdp.types import Counts, Indices, Rows


class UnaryEncoding(BitmapMechanism):
    """Light the held item's bit with probability keep/2^width and any other with noise/2^width."""

    keep: int
    noise: int

    @abstractmethod
    def thresholds(self) -> tuple[int, int]:
        """keep and noise, rounded toward more noise."""

    def configure(self) -> None:
        self.keep, self.noise = self.thresholds()

    @property
    def p(self) -> Fraction:
        return Fraction(self.keep, 2**self.width)

    @property
    def q(self) -> Fraction:
        return Fraction(self.noise, 2**self.width)

    @property
    def ratio(self) -> Fraction:
        return self.p * (1 - self.q) / (self.q * (1 - self.p))

    def parameters(self) -> dict[str, int | str]:
        return {"keep": str(self.keep), "noise": str(self.noise)}

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        """Noise for every bit, then the held item's own bit in its place."""
        coins = source.integers(values.size)
        noise = rare_bits.rare_bits if rare_bits.jumping_pays(self.noise, self.width) else biased_bits
        words = noise(source, values.size, self.size, self.noise, self.width)
        replace_bits(words, values, coins, self.keep)
        return bitstrings.from_words(words, self.size)

    def channel(self) -> Channel:
        self._check_channel(1 << self.size)
        reports = range(2**self.size)

        def probability(value: int, report: int) -> Fraction:
            others = (report & ~(1 << value)).bit_count()
            own = self.p if report >> value & 1 else 1 - self.p
            return own * self.q**others * (1 - self.q) ** (self.size - 1 - others)

        rows = tuple(tuple(probability(value, report) for report in reports) for value in range(self.size))
        return Channel(bitstrings.from_integers(np.array(reports, np.uint64), self.size), rows)

    def simulate(self, frequencies: Counts, seed: int | None) -> Counts:
        return independent_counts(self, frequencies, seed)


class SymmetricUnary(UnaryEncoding):
    """Basic RAPPOR: every bit is told truthfully with probability e^(eps/2)/(1 + e^(eps/2)).

    Erlingsson, Pihur & Korolova, CCS 2014, without the Bloom filter (with it, no mechanism is pure).

    >>> mechanism = SymmetricUnary(size=4, epsilon=1.0)
    >>> round(mechanism.p_star, 6), round(mechanism.q_star, 6)
    (0.622459, 0.377541)
    """

    name = "sue"

    def thresholds(self) -> tuple[int, int]:
        e_half = thresholds.exp_below(self.requested_epsilon, halved=True)
        noise = thresholds.rounded_up(1 / (1 + e_half), self.width)
        return 2**self.width - noise, noise


class OptimizedUnary(UnaryEncoding):
    """Optimized unary encoding: keep the held item's bit with 1/2, light any other with 1/(1 + e^eps).

    Wang et al., USENIX Security 2017, section 4.3; Jia & Gong's Eq. 4.

    >>> OptimizedUnary(size=4, epsilon=1.0).p_star
    0.5
    """

    name = "oue"

    def thresholds(self) -> tuple[int, int]:
        noise = thresholds.rounded_up(1 / (1 + thresholds.exp_below(self.requested_epsilon)), self.width)
        return 2 ** (self.width - 1), noise
