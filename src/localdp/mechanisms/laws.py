"""What honest reports have in common whatever people hold, and what a forged one can do.

These laws are methods of every mechanism. The defaults say nothing, so a mechanism from outside is tested less, and
never wrongly. `localdp.forgery` tests batches with them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localdp.errors import WireCode, WireError
from localdp.kernels.binomial_tails import binomial_at_least, binomial_at_most
from localdp.types import Counts, Rows, Vector, Words

_ROWS = 1 << 12  # rows whose bits are counted at a time


@dataclass(frozen=True)
class WeightLaw:
    """The law of the weight of an honest report: Bernoulli(own) + Binomial(others, other).

    >>> law = WeightLaw(own=0.5, others=2, other=0.25)
    >>> [round(float(law.at_least(np.array([w]))[0]), 6) for w in (0, 1, 2, 3)]
    [1.0, 0.71875, 0.25, 0.03125]
    """

    own: float
    others: int
    other: float

    def at_least(self, weights: Counts) -> Vector:
        """Pr(W >= w) for each weight."""
        lit, dark = (binomial_at_least(weights - bit, self.others, self.other) for bit in (1, 0))
        return self.own * lit + (1 - self.own) * dark

    def at_most(self, weights: Counts) -> Vector:
        """Pr(W <= w) for each weight."""
        lit, dark = (binomial_at_most(weights - bit, self.others, self.other) for bit in (1, 0))
        return self.own * lit + (1 - self.own) * dark


@dataclass(frozen=True, eq=False)
class Drawn:
    """What devices draw at random: of each report, how many there are, and the largest probability of one."""

    values: Words
    known: int
    chance: float


class Laws:
    """The laws of a mechanism's reports."""

    @property
    def most_supported(self) -> int | None:
        """The most items that one report can support, and so also a forged one; None if that is not known."""
        return None

    @property
    def weight_law(self) -> WeightLaw | None:
        """The law of the weight of a report; None where it says nothing, or is the same for all reports."""
        return None

    def weights(self, rows: Rows) -> Counts:
        """The weight of each report, of which `weight_law` speaks: the number of its lit bits."""
        return lit_bits(rows)

    def drawn_in(self, rows: Rows) -> Drawn | None:  # noqa: ARG002 (most mechanisms draw nothing that is seen)
        """What devices draw without looking at their value, such as a hash function; None if there is nothing."""
        return None

    def compared(self, rows: Rows) -> Drawn | None:
        """What stands out if somebody sends the same report again and again: what is drawn, or what is reported."""
        return self.drawn_in(rows)


def require_below(size: int, numbers: Words, one: str, they: str) -> None:
    """Raise a `WireError` unless all numbers are below the size; `one` and `they` name them in a sentence."""
    if (numbers >= size).any():
        sentence = f"a report has {one} above {size - 1}, but {they} run from 0 to {size - 1}"
        raise WireError(WireCode.SYMBOL_OUT_OF_RANGE, sentence)


def require_weight(rows: Rows, weight: int, what: str) -> None:
    """Raise a `WireError` unless every report has so many lit bits, which stand for `what`."""
    if (lit_bits(rows) != weight).any():
        raise WireError(WireCode.WRONG_WEIGHT, f"a report does not hold exactly {weight} {what}, as every report must")


def lit_bits(rows: Rows) -> Counts:
    """The number of lit bits of each report."""
    weights, words = np.empty(len(rows), np.int64), -(-rows.shape[1] // 8)
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        padded = np.zeros((len(part), 8 * words), np.uint8)  # words of 64 bits are counted much faster than bytes
        padded[:, : rows.shape[1]] = part
        weights[start : start + _ROWS] = np.bitwise_count(padded.view(np.uint64)).sum(axis=1, dtype=np.int64)
    return weights
