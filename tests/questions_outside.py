"""A question and a mechanism that the library does not know: an hour of the day, reported as a gap between hours.

The outcomes of the mechanism are not its cells: of `size` cells in a row there are size + 1 gaps, before, between and
after them. A report names one of the two gaps beside the hour with more probability than any other gap, or "no gap",
which tells nothing.
"""

from fractions import Fraction

import numpy as np

from localdp.domain import Domain
from localdp.errors import InvalidInputError, WireCode, WireError
from localdp.formats import bitstrings
from localdp.held import OneEach
from localdp.mechanisms import Channel, Mechanism, thresholds
from localdp.mechanisms import register as register_mechanism
from localdp.questions import Question, Words
from localdp.questions import register as register_question


@register_question
class Hour(Question):
    """At which hour? A clock time such as "17:25" counts for its hour."""

    name = "test-hour"
    words = Words(answer="one clock time", example="'17:25'")

    def __init__(self, step=3):
        self.step = step
        self.cells = Domain([f"{hour:02}h" for hour in range(0, 24, step)])
        self._freeze()

    def read(self, values):
        return OneEach(np.array([int(value[:2]) // self.step for value in values], np.int64))

    def details(self):
        return {"step": self.step}

    @classmethod
    def from_details(cls, details):
        if set(details) != {"step"} or details["step"] not in (1, 2, 3, 4, 6):
            raise InvalidInputError("the step of hours is 1, 2, 3, 4 or 6")
        return cls(details["step"])

    @property
    def takes_everything(self):
        return True


@register_mechanism
class Gaps(Mechanism):
    """Report one of the two gaps beside the hour with a larger probability than any other gap, or no gap.

    Of 2^w numbers, each of the two gaps has `heavy`, each other gap `light`, and "no gap" has what is left over, which
    is the same for every value. The largest ratio is heavy/light.
    """

    name = "test-gaps"
    counts_pairs = True

    def configure(self):
        e = thresholds.exp_below(self.requested_epsilon)
        self.light = int(2**self.width / (2 * e + self.size))
        self.heavy = int(e * self.light)
        self.gaps = self.size + 1
        self.named = 2 * self.heavy + (self.gaps - 2) * self.light

    @property
    def outcomes(self):
        return self.gaps + 1

    @property
    def ratio(self):
        return Fraction(self.heavy, self.light)

    @property
    def report_bits(self):
        return self.gaps.bit_length()

    def parameters(self):
        return {"heavy": str(self.heavy), "light": str(self.light)}

    def chance(self, item, outcome):
        if outcome == self.gaps:
            return Fraction(2**self.width - self.named, 2**self.width)
        return Fraction(self.heavy if outcome in (item, item + 1) else self.light, 2**self.width)

    def randomize(self, values, source):
        # Gaps are drawn relative to the value: the two heavy ones, then the others in a circle, then none.
        ends = np.cumsum([self.heavy, self.heavy, *[self.light] * (self.gaps - 2)], dtype=object)
        drawn = np.searchsorted(ends.astype(np.uint64), source.integers(values.size), side="right")
        outcome = np.where(drawn < self.gaps, (values + drawn) % self.gaps, self.gaps)
        return bitstrings.from_integers(outcome.astype(np.uint64), self.report_bits)

    def supports(self, rows, item):
        return bitstrings.to_integers(rows) == item

    def validate(self, rows):
        super().validate(rows)
        if (bitstrings.to_integers(rows) > self.gaps).any():
            raise WireError(WireCode.SYMBOL_OUT_OF_RANGE, "a report names a gap that is not there")

    def channel(self):
        self._check_channel(self.outcomes)
        reports = bitstrings.from_integers(np.arange(self.outcomes, dtype=np.uint64), self.report_bits)
        law = tuple(tuple(self.chance(item, o) for o in range(self.outcomes)) for item in range(self.size))
        return Channel(reports, law)
