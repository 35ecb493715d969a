"""Randomized response over an alphabet: the truth now and then, otherwise a uniform symbol.

With t = truth/2^width and g symbols, a report is the true symbol with probability p = t + (1-t)/g and any
other one with (1-t)/g, so the ratio is 1 + g t/(1-t), at most e^epsilon for t = (e^epsilon - 1)/(e^epsilon + g - 1)
rounded down. It is the classic scheme in another order; this order draws the noise before it looks at
the value, and keeps p - (1-t)/g = t exact at tiny epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from localdp.randomness import thresholds
from localdp.randomness.keystream import Entropy
from localdp.types import Words


@dataclass(frozen=True)
class SymbolResponse:
    """Randomized response over `symbols` symbols, telling the truth with probability truth/2^width."""

    symbols: int
    truth: int
    width: int

    @classmethod
    def private(cls, symbols: int, epsilon: float, width: int) -> SymbolResponse:
        """The most truthful response whose ratio is at most e^epsilon."""
        e = thresholds.exp_below(epsilon)
        return cls(symbols, thresholds.rounded_down((e - 1) / (e + symbols - 1), width), width)

    @property
    def other(self) -> Fraction:
        """The probability of one particular wrong symbol."""
        return Fraction(2**self.width - self.truth, 2**self.width * self.symbols)

    @property
    def kept(self) -> Fraction:
        """The probability of the true symbol."""
        return Fraction(self.truth, 2**self.width) + self.other

    @property
    def ratio(self) -> Fraction:
        """e^epsilon as realised."""
        return self.kept / self.other

    def perturb(self, symbols: Words, source: Entropy) -> Words:
        """The response to each symbol."""
        truthful = source.integers(symbols.size) < self.truth
        return np.where(truthful, symbols, source.below(self.symbols, symbols.size))
