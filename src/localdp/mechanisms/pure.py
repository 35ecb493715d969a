"""Pure mechanisms, which p* and q* describe; those that report a bitmap; and what follows for their counts."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

import numpy as np

from localdp.errors import FrequencyError
from localdp.formats import bitstrings
from localdp.kernels.counting import count_bits
from localdp.mechanisms.base import Mechanism
from localdp.types import Counts, Flags, Rows


class PureMechanism(Mechanism):
    """A mechanism that p* and q* describe, so that the paper's formula holds for it.

    A class that derives from `Mechanism` and has `p` and `q` is one too; deriving from this one makes sure of it.
    """

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """p* as an exact fraction."""

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """q* as an exact fraction."""


class BitmapMechanism(PureMechanism):
    """A report has one bit for each item, and supports the items that have their bit set."""

    @property
    def report_bits(self) -> int:
        return self.size

    def supports(self, rows: Rows, item: int) -> Flags:
        return bitstrings.bit(rows, item)

    def count(self, rows: Rows) -> Counts:
        return count_bits(rows, self.size)


def require_sum(counts: Counts, expected: int, why: str) -> None:
    """Raise a `FrequencyError` unless the counts add up to `expected`; the message ends with `why` they must."""
    total = exact_sum(counts)
    if total != expected:
        raise FrequencyError(f"no reports can have these counts: they add up to {total}, not to {expected}, {why}")


def exact_sum(counts: Counts) -> int:
    """The sum of the counts. (The plain sum of int64 could overflow.)"""
    low = np.int64(2**32 - 1)
    return (int((counts >> 32).sum()) << 32) + int((counts & low).sum())


def independent_counts(mechanism: Mechanism, frequencies: Counts, seed: int | None) -> Counts:
    """Simulated counts where a report supports each item independently of the others: two binomials for each item."""
    rng = np.random.default_rng(seed)
    others = int(frequencies.sum()) - frequencies
    return rng.binomial(frequencies, mechanism.p_star) + rng.binomial(others, mechanism.q_star)
