"""Unary encoding (`sue`, `oue`): a report has one bit for each item, and every bit gets its own noise."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

import numpy as np

from localdp.formats import bitstrings
from localdp.kernels import rare_bits
from localdp.kernels.biased_bits import biased_bits, replace_bits
from localdp.mechanisms.channel import Channel
from localdp.mechanisms.laws import WeightLaw
from localdp.mechanisms.pure import BitmapMechanism, independent_counts
from localdp.mechanisms.report_classes import Shuffled, two_levels
from localdp.randomness import thresholds
from localdp.randomness.keystream import Entropy
from localdp.types import Counts, Indices, Rows, Words


class IndependentBits(BitmapMechanism):
    """A report whose bits are independent: the held item's is set with probability p*, each other one with q*."""

    @property
    def most_supported(self) -> int:
        return self.size

    @property
    def weight_law(self) -> WeightLaw:
        return WeightLaw(self.p_star, self.size - 1, self.q_star)

    def channel(self) -> Channel:
        self._check_channel(1 << self.size)
        reports = range(2**self.size)

        p, q = self._exact_pair
        others = self.size - 1
        noise = [q**lit * (1 - q) ** (others - lit) for lit in range(self.size)]  # by how many other bits are set
        own_bit_clear, own_bit_set = [(1 - p) * chance for chance in noise], [p * chance for chance in noise]

        def probability(value: int, report: int) -> Fraction:
            lit = (report & ~(1 << value)).bit_count()
            return own_bit_set[lit] if report >> value & 1 else own_bit_clear[lit]

        rows = tuple(tuple(probability(value, report) for report in reports) for value in range(self.size))
        return Channel(bitstrings.from_integers(np.array(reports, np.uint64), self.size), rows)

    def shuffled(self) -> Shuffled:
        p, q = self._exact_pair
        return Shuffled.alike(two_levels(p, q, q**2, q**3 if self.size > 2 else None))

    def simulate(self, frequencies: Counts, seed: int | None) -> Counts:
        return independent_counts(self, frequencies, seed)


class UnaryEncoding(IndependentBits):
    """Set the held item's bit with probability keep/2^width, and each other bit with probability noise/2^width."""

    keep: int
    noise: int

    @abstractmethod
    def thresholds(self) -> tuple[int, int]:
        """`keep` and `noise` for the requested epsilon, rounded so that the realised epsilon is not larger."""

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
        """Draw noise for all bits, then overwrite the bit of the held item."""
        coins = source.integers(values.size)
        words = noise_bits(source, values.size, self.size, self.noise, self.width)
        replace_bits(words, values, coins, self.keep)
        coins[:] = 0  # together with the report, they would tell the value
        return bitstrings.from_words(words, self.size)


class SymmetricUnary(UnaryEncoding):
    """Basic RAPPOR: every bit is kept with probability e^(eps/2)/(1 + e^(eps/2)), and flipped otherwise.

    Erlingsson, Pihur & Korolova, CCS 2014, without the Bloom filter, which would make it impure.

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
    """Optimized unary encoding: set the held item's bit with probability 1/2, any other bit with 1/(1 + e^eps).

    Wang et al., USENIX Security 2017, section 4.3; Jia & Gong's Eq. 4.

    >>> OptimizedUnary(size=4, epsilon=1.0).p_star
    0.5
    """

    name = "oue"

    def thresholds(self) -> tuple[int, int]:
        noise = thresholds.rounded_up(1 / (1 + thresholds.exp_below(self.requested_epsilon)), self.width)
        return 2 ** (self.width - 1), noise


def noise_bits(source: Entropy, users: int, bits: int, threshold: int, width: int) -> Words:
    """Independent bits, each 1 with probability threshold/2^width, drawn in the way that is faster here."""
    draw = rare_bits.rare_bits if rare_bits.jumping_pays(threshold, width) else biased_bits
    return draw(source, users, bits, threshold, width)
