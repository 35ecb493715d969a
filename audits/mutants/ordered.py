"""Square Waves that are wrong in one way each: the band, its ends, the threshold, the cell apart."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from localdp.formats import bitstrings
from localdp.mechanisms import SquareWave
from localdp.randomness.keystream import Entropy
from localdp.types import Indices, Rows


class BandTooNarrow(SquareWave):
    """A device draws from a band that has one output less than the channel says."""

    name = "narrow-band"

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        truthful = source.integers(values.size) < self.truth
        drawn = source.below(self.heavy * self.outcomes, values.size)
        near = self.first_output(values).astype(np.uint64) + drawn % np.uint64(max(self.heavy - 1, 1))
        return bitstrings.from_integers(np.where(truthful, near, drawn // np.uint64(self.heavy)), self.report_bits)


class EndsReflected(SquareWave):
    """Outputs beyond the ends of the scale are moved onto the first and the last cell."""

    name = "folded-ends"

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        outputs = bitstrings.to_integers(super().randomize(values, source))
        inside = np.clip(outputs, self.band, self.outcomes - 1 - self.band)
        return bitstrings.from_integers(inside.astype(np.uint64), self.report_bits)


class ThresholdTooLarge(SquareWave):
    """An output of the band is reported a tenth more often than epsilon allows."""

    name = "wide-threshold"

    def configure(self) -> None:
        super().configure()
        self.truth = min(2**self.width - 1, int(self.truth * Fraction(11, 10)) + 1)


class OneOutputApart(SquareWave):
    """The cell apart has a single output of its own, drawn as often as a whole band."""

    name = "single-output"

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        outputs = bitstrings.to_integers(super().randomize(values, source))
        apart, first = values >= self.ordered, self.first_output(values).astype(np.uint64)
        own = apart & (outputs >= first) & (outputs < first + np.uint64(self.heavy))
        return bitstrings.from_integers(np.where(own, first, outputs), self.report_bits)
