"""Randomized response over a few symbols, the step that `grr`, `olh`, `blh` and `llh` share.

Report the true symbol with probability t, and otherwise a symbol drawn uniformly from all g. The true symbol then has
probability p = t + (1-t)/g and each other symbol (1-t)/g. Their ratio 1 + g t/(1-t) is at most e^epsilon for
t = (e^epsilon - 1)/(e^epsilon + g - 1), rounded down to truth/2^width.

Where the truth is not one symbol but any of `among`, the device draws one of them first. Each of them then has
probability t/among + (1-t)/g, and t = among (e^epsilon - 1)/(among (e^epsilon - 1) + g).

The textbook draws one of the g - 1 *other* symbols instead, which gives the same probabilities. Drawing from all g
symbols needs no look at the true symbol, and it makes the difference p - (1-t)/g = t exact even at a tiny epsilon
(docs/decisions/0002).
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
    """Randomized response over `symbols` symbols: the true one with probability truth/2^width, else any of them.

    >>> SymbolResponse(symbols=4, truth=1, width=1).kept
    Fraction(5, 8)
    """

    symbols: int
    truth: int
    width: int
    among: int = 1
    """How many symbols are true, one of which is drawn."""

    @classmethod
    def private(cls, symbols: int, epsilon: float, width: int, among: int = 1) -> SymbolResponse:
        """The most truthful response that is epsilon-private."""
        more = among * (thresholds.exp_below(epsilon) - 1)
        return cls(symbols, thresholds.rounded_down(more / (more + symbols), width), width, among)

    @property
    def other(self) -> Fraction:
        """The probability that a given symbol other than the true one is reported."""
        return Fraction(2**self.width - self.truth, 2**self.width * self.symbols)

    @property
    def kept(self) -> Fraction:
        """The probability that the true symbol, or a given one of several, is reported."""
        return Fraction(self.truth, 2**self.width * self.among) + self.other

    @property
    def ratio(self) -> Fraction:
        """e^epsilon as realised."""
        return self.kept / self.other

    def again(self, epsilon: float) -> int:
        """The largest truth of a second response, made from this one, with which a report is epsilon-private.

        It is 2^width or more if this one alone is so private.
        """
        more = thresholds.exp_below(epsilon) - 1
        both = more / (more + self.symbols)  # the t of both together, which is t1 t2 and rounded down only once
        return thresholds.rounded_down(both * Fraction(2**self.width, self.truth or 1), self.width)

    def then(self, again: int) -> SymbolResponse:
        """The law of a second response, made from this one: the truth with probability t1 t2, otherwise any symbol."""
        return SymbolResponse(self.symbols, self.truth * again, 2 * self.width)

    def perturb(self, symbols: Words, source: Entropy) -> Words:
        """The reported symbol for each true symbol. Draws the same randomness whatever the symbols are."""
        truthful = source.integers(symbols.size) < self.truth
        return np.where(truthful, symbols, source.below(self.symbols, symbols.size))
