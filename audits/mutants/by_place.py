"""Mechanisms with a fault for some users or budgets only, and only with a real keystream at 64 bits.

A fault in the path of the keystream, in threads or in chunks would show like this. Trying every random input cannot
find it, because those runs use tapes and a smaller width.
"""

from __future__ import annotations

import numpy as np

from localdp.formats import bitstrings
from localdp.mechanisms import RandomizedResponse
from localdp.randomness.keystream import Entropy, Keystream
from localdp.types import Flags, Indices, Rows


class _TruthForSome(RandomizedResponse):
    """Randomized response that tells the plain truth for some users."""

    def exposed(self, values: Indices) -> Flags:
        """Which users get no noise."""
        raise NotImplementedError

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        rows = super().randomize(values, source)
        if not isinstance(source, Keystream) or self.width != 64:
            return rows
        plain = bitstrings.from_integers(values.astype(np.uint64), self.report_bits)
        return np.where(self.exposed(values)[:, None], plain, rows)


class TruthWhenAlone(_TruthForSome):
    """A batch of one user, the batch of every device, is the plain truth."""

    name = "mutant-alone"

    def exposed(self, values: Indices) -> Flags:
        return np.full(values.size, values.size == 1)


class TruthForTheLast(_TruthForSome):
    """The last user of a batch reports the plain truth."""

    name = "mutant-last"

    def exposed(self, values: Indices) -> Flags:
        return np.arange(values.size) == values.size - 1


class TruthPastEpsilonFour(_TruthForSome):
    """Every report is the plain truth if epsilon is more than 4."""

    name = "mutant-epsilon"

    def exposed(self, values: Indices) -> Flags:
        return np.full(values.size, self.requested_epsilon > 4)


class NeighboursValue(RandomizedResponse):
    """Every second user reports the value of the user before them."""

    name = "mutant-neighbour"

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        if isinstance(source, Keystream) and self.width == 64:
            values = values.copy()
            values[1::2] = values[: values.size // 2 * 2 : 2]
        return super().randomize(values, source)
