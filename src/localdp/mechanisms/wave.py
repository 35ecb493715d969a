r"""Square Wave on whole numbers (`wave`): report a number near one's own. For answers that have an order.

Of d ordered cells, a person in cell i has the *band* of outputs i, i + 1, .., i + 2b, out of the d + 2b outputs that
there are. With probability t a device reports an output of its band, and otherwise any output at all, both uniformly:

    Pr[o | i] = t / (2b + 1) [o in the band of i] + (1 - t) / m,            m = number of outputs.

Every value has equally many outputs in its band, so the largest ratio of two probabilities of one output is

    1 + t m / ((2b + 1) (1 - t))  <=  e^epsilon     for    t = (e^epsilon - 1)(2b + 1) / ((e^epsilon - 1)(2b + 1) + m),

rounded down to a whole number out of 2^64 (Li, Wang, Lopuhaa-Zwakenberg, Skoric & Li, SIGMOD 2020, on the interval from
0 to 1; `symbol_response` has the same form with a band of one output).

**Cells apart.** A cell without a place in the order, such as "no answer", is as private as any other: it gets a band of
2b + 1 outputs of its own, after those of the ordered cells. (With a single output the ratio would not be e^epsilon
for it: at epsilon 1 and 100 cells its epsilon would be 1.46.) So m = d + 2b + (2b + 1) for each cell apart.

**The width.** The paper takes the b that maximises the mutual information of a value and its report,

    b = d (epsilon e^epsilon - e^epsilon + 1) / (2 e^epsilon (e^epsilon - 1 - epsilon)).

We round it to the nearest whole number. A narrower band shows more detail, and a wider one shows better where people
are on the whole: 0.6 of this width knows the distribution function better by 5% up to epsilon 1 and worse by 11% at
epsilon 4, and its squared error of the mean is larger by 10% (epsilon 0.25) to 65% (epsilon 3), under the prior of
`localdp.structures` (decision 31). For few cells or a large epsilon b is 0, and this is `grr`.

The mechanism is not pure: an output is a sign of all cells in whose bands it lies. Counts are of outputs, and inverting
their law gives single cells a hundred times the noise of a pure mechanism. Calibrate works from the counts themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from localdp.errors import ImpureMechanismError, InvalidInputError
from localdp.formats import bitstrings
from localdp.kernels.counting import add_histogram
from localdp.mechanisms.base import Mechanism
from localdp.mechanisms.channel import Channel
from localdp.mechanisms.laws import Drawn, require_below
from localdp.mechanisms.pure import require_sum
from localdp.randomness import thresholds
from localdp.randomness.keystream import Entropy
from localdp.types import Counts, Flags, Indices, Rows, Vector
from localdp.validation import checked_amount

MOST_CELLS = 1536
"""The most cells of a plan with `wave`: the work of calibrating grows with their square."""


class SquareWave(Mechanism):
    """Report an output of the band around one's own cell with probability t, and otherwise any output.

    The first `ordered` cells have an order, and the others have none; without it, all have.

    >>> mechanism = SquareWave(size=100, epsilon=1.0)
    >>> mechanism.band, mechanism.outcomes, round(mechanism.epsilon, 9)
    (26, 152, 1.0)
    """

    name = "wave"
    shows_raw: ClassVar[bool] = False

    def __init__(self, size: int, epsilon: float, width: int = 64, *, ordered: int | None = None) -> None:
        self.ordered = size if ordered is None else checked_amount(ordered, size, "the number of ordered cells")
        super().__init__(size, epsilon, width)

    def configure(self) -> None:
        e, epsilon = thresholds.exp_below(self.requested_epsilon), Fraction(self.requested_epsilon)
        self.band = int(self.ordered * (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon)) + Fraction(1, 2))
        """How many outputs the band of a cell has on each side of its middle."""
        self.heavy = 2 * self.band + 1
        """How many outputs the band of a cell has."""
        wide = (e - 1) * self.heavy
        self.truth = thresholds.rounded_down(wide / (wide + self.outcomes), self.width)

    @property
    def outcomes(self) -> int:
        return self.ordered + 2 * self.band + self.heavy * (self.size - self.ordered)

    @property
    def ratio(self) -> Fraction:
        return 1 + Fraction(self.truth * self.outcomes, self.heavy * (2**self.width - self.truth))

    @property
    def report_bits(self) -> int:
        return (self.outcomes - 1).bit_length()

    def parameters(self) -> dict[str, int | str]:
        return {"band": self.band, "truth": str(self.truth)}

    def options(self) -> dict[str, Any]:
        return {"ordered": self.ordered}

    @classmethod
    def examples(cls, size: int, epsilon: float) -> Iterator[Self]:
        yield cls(size, epsilon)
        if size > 2:
            yield cls(size, epsilon, ordered=size - 1)

    def first_output(self, values: Indices) -> Indices:
        """The first output of the band of each cell."""
        apart = np.maximum(values - (self.ordered - 1), 0)  # 1 for the first cell apart
        return np.asarray(values + 2 * self.band * apart)

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        truthful = source.integers(values.size) < self.truth
        # One number serves both cases, of which only one happens: its remainder is uniform over the outputs of a band,
        # and its quotient over all outputs.
        drawn = source.below(self.heavy * self.outcomes, values.size)
        near = self.first_output(values).astype(np.uint64) + drawn % np.uint64(self.heavy)
        return bitstrings.from_integers(np.where(truthful, near, drawn // np.uint64(self.heavy)), self.report_bits)

    def supports(self, rows: Rows, item: int) -> Flags:
        return np.asarray(bitstrings.to_integers(rows) == item)

    def chance(self, item: int, outcome: int) -> Fraction:
        first = int(self.first_output(np.array([item]))[0])
        other = Fraction(2**self.width - self.truth, 2**self.width * self.outcomes)
        inside = first <= outcome < first + self.heavy
        return other + Fraction(self.truth, 2**self.width * self.heavy) if inside else other

    @cached_property
    def _outcome_law(self) -> Vector:
        truth, rest = self.truth / 2**self.width, (2**self.width - self.truth) / 2**self.width
        place = np.arange(self.outcomes)
        first = self.first_output(np.arange(self.size))[:, None]
        inside = (place >= first) & (place < first + self.heavy)
        return np.asarray(rest / self.outcomes + truth / self.heavy * inside)

    @property
    def outcome_chances(self) -> tuple[float, float]:
        """The largest and the smallest probability of an output, whatever the user holds."""
        largest = self.chance(0, 0)
        return float(largest), float(largest / self.ratio)

    def compared(self, rows: Rows) -> Drawn:
        return Drawn(bitstrings.to_integers(rows), self.outcomes, self.outcome_chances[0])

    def validate(self, rows: Rows) -> None:
        super().validate(rows)
        require_below(self.outcomes, bitstrings.to_integers(rows), "an output", "outputs")

    def count(self, rows: Rows) -> Counts:
        counts = np.zeros(self.outcomes, np.int64)
        add_histogram(rows, counts)
        return counts

    def validate_counts(self, counts: Counts, n: int) -> None:
        require_sum(counts, n, "since every report is one output")

    def channel(self) -> Channel:
        self._check_channel(self.outcomes)
        reports = bitstrings.from_integers(np.arange(self.outcomes, dtype=np.uint64), self.report_bits)
        law = tuple(tuple(self.chance(item, o) for o in range(self.outcomes)) for item in range(self.size))
        return Channel(reports, law)

    def simulate(self, frequencies: Counts, seed: int | None) -> Counts:
        """A binomial number of each cell's holders report an output of its band; all others report any output."""
        rng = np.random.default_rng(seed)
        truthful = rng.binomial(frequencies, self.truth / 2**self.width)
        others = int(frequencies.sum() - truthful.sum())
        counts = rng.multinomial(others, np.full(self.outcomes, 1 / self.outcomes))
        near = rng.multinomial(truthful, np.full(self.heavy, 1 / self.heavy))
        place = self.first_output(np.arange(self.size))[:, None] + np.arange(self.heavy)
        np.add.at(counts, place, near)
        return counts


def check_cells(size: int) -> None:
    """Raise `InvalidInputError` if a plan with so many cells could not be calibrated."""
    if size > MOST_CELLS:
        raise InvalidInputError(
            f"wave takes scales of up to {MOST_CELLS:,} cells, and this one has {size:,}: take a larger step, or "
            "another mechanism, such as 'llh'"
        )


def no_raw_estimates(name: str) -> ImpureMechanismError:
    """The error for whoever asks for estimates of single cells."""
    return ImpureMechanismError(
        f"{name} is not pure: a report is a sign of many neighbouring cells, so there are no raw estimates of single "
        "cells. (Inverting the law of the reports would give them a hundred times the noise of a pure mechanism.) "
        "Calibrate works from the counts: use estimate.calibrate(), or ask with a pure mechanism such as 'grr' or 'llh'"
    )
