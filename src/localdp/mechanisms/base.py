"""What every mechanism is, and what is derived from it once.

A pure mechanism (Wang et al., USENIX Security 2017) is known to the rest of the library by two numbers,

    p* = Pr[ i in Support(report of a user who holds i) ],     q* = Pr[ i in Support(report of one who does not) ],

the same for all items. From the counts c_i = #{users whose report supports i} follow

    fhat_i = (c_i - n q*) / (p* - q*)                          unbiased,
    Var(fhat_i) = n q*(1-q*) / (p*-q*)^2 + f_i (1 - p* - q*) / (p* - q*),

the first term of which is the paper's constant variance. An author writes `randomize`, `supports`, `channel`, the
exact `p`, `q` and `ratio`, and the layout of the report; the rest is here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from localdp.errors import (
    ChannelTooLargeError,
    EpsilonError,
    InvalidInputError,
    WireCode,
    WireError,
)
from localdp.formats import bitstrings
from localdp.frozen import Frozen
from localdp.kernels import chunks
from localdp.randomness import keystream, thresholds
from localdp.randomness.keystream import Entropy
from localdp.types import Counts, Flags, Indices, Progress, Rows, Vector
from localdp.validation import checked_epsilon, checked_size

_LARGEST_CHANNEL = 1 << 20
_BATCH_USERS, _BATCH_BYTES = 1 << 22, 1 << 26


@dataclass(frozen=True)
class Channel:
    """The exact law of a mechanism: `probabilities[value][k]` is Pr(reports[k] | value), a fraction.

    `numpy.asarray(channel)` is the same as a float matrix, a row for each value.
    """

    reports: Rows
    probabilities: tuple[tuple[Fraction, ...], ...]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array([[float(p) for p in row] for row in self.probabilities], dtype=dtype)

    @property
    def ratio(self) -> Fraction:
        """The largest ratio between the probabilities of one report under two values: e^epsilon, exactly."""
        columns: list[tuple[Fraction, ...]] = list(zip(*self.probabilities, strict=True))
        return max(max(column) / min(column) for column in columns)


class Mechanism(Frozen, ABC):
    """Encode and perturb one of `size` items with local differential privacy.

    `epsilon` asks for a budget; the attribute of that name is the one realised, never larger. `width` is the
    number of bits every probability is a whole number of: 64, except where a check wants to try every tape.
    """

    name: ClassVar[str]
    exactly_pure: ClassVar[bool] = True
    """False where p* and q* rest on an assumption, such as an ideal hash. Privacy never does."""
    counts_pairs: ClassVar[bool] = False
    """True where counting takes n times d steps, which no collector of size can afford."""

    def __init__(self, size: int, epsilon: float, width: int = 64) -> None:
        self.size = checked_size(size)
        self.requested_epsilon = checked_epsilon(epsilon)
        if width not in range(1, 65):
            raise InvalidInputError(f"a width is a whole number of bits from 1 to 64, not {width!r}")
        self.width = width
        self.configure()
        if self.p <= self.q:
            raise EpsilonError(
                f"epsilon {self.requested_epsilon:g} is too small for {self.name} on {size} items: at {width} bits of "
                "resolution the report would not depend on the item at all; use a larger epsilon"
            )
        self._freeze()

    # What an author writes.

    @abstractmethod
    def configure(self) -> None:
        """Derive the thresholds and sizes from `size`, `requested_epsilon` and `width`."""

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """p*, exactly."""

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """q*, exactly."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """e^epsilon as realised: the largest ratio of two report probabilities, exactly."""

    @property
    @abstractmethod
    def report_bits(self) -> int:
        """The length of a report."""

    @abstractmethod
    def parameters(self) -> dict[str, int | str]:
        """Everything a client needs besides the size; thresholds as strings, since they pass 2^53."""

    @abstractmethod
    def randomize(self, values: Indices, source: Entropy) -> Rows:
        """A report for each item index, drawing the same words along the same path whatever the indices."""

    @abstractmethod
    def supports(self, rows: Rows, item: int) -> Flags:
        """Whether each report supports the item."""

    @abstractmethod
    def channel(self) -> Channel:
        """The exact probability of every report under every item, for small domains."""

    def validate(self, rows: Rows) -> None:
        """Refuse reports that no client can have produced. Extend it with what the layout alone does not say."""
        if bitstrings.nonzero_padding(rows, self.report_bits).any():
            raise WireError(
                WireCode.NONZERO_PADDING,
                f"a report has bits set past the last of its {self.report_bits} bits",
            )

    def count(self, rows: Rows) -> Counts:
        """How many reports support each item. Override it with something faster than one item at a time."""
        return np.array([np.count_nonzero(self.supports(rows, item)) for item in range(self.size)], np.int64)

    def simulate(self, frequencies: Counts, seed: int | None) -> Counts:
        """Counts with exactly the law of running every user. Override it where that has a shortcut."""
        source = keystream.secure() if seed is None else keystream.seeded(seed)
        counts = np.zeros(self.size, np.int64)
        for values in self._holders(frequencies):
            counts += self.tally(self.privatize(values, source))
        return counts

    # What is derived.

    @property
    def p_star(self) -> float:
        """The probability that a report supports the item its user holds."""
        return float(self.p)

    @property
    def q_star(self) -> float:
        """The probability that a report supports an item its user does not hold."""
        return float(self.q)

    @cached_property
    def gap(self) -> float:
        """p* - q*, subtracted exactly and rounded once: precise at any epsilon."""
        return float(self.p - self.q)

    @cached_property
    def epsilon(self) -> float:
        """The realised privacy budget, at most the one asked for."""
        return thresholds.log(self.ratio)

    @cached_property
    def excess_variance(self) -> float:
        """What every holder of an item adds to the variance of its estimate: (1 - p* - q*) / (p* - q*)."""
        return float((1 - self.p - self.q) / (self.p - self.q))

    @property
    def report_bytes(self) -> int:
        """The length of a report on the wire."""
        return bitstrings.byte_length(self.report_bits)

    def variance(self, n: int) -> float:
        """The variance of the estimate of an item nobody holds, among n users."""
        return float(n * self.q * (1 - self.q) / (self.p - self.q) ** 2)

    def estimate(self, counts: Counts, n: int) -> Vector:
        """The unbiased frequencies behind the counts."""
        return debias(counts, n, self.p, self.q)

    def privatize(self, values: Indices, source: Entropy, progress: Progress | None = None) -> Rows:
        """`randomize` in chunks, on all processors."""
        if source.width != self.width:
            # Thresholds out of 2^width compared with words of another width would be no privacy at all.
            raise InvalidInputError(f"a mechanism of {self.width} bits cannot draw words of {source.width} bits")
        rows = np.empty((values.size, self.report_bytes), np.uint8)
        chunks.randomized(self.randomize, values, source, rows, self._report_words, progress)
        return rows

    def tally(self, rows: Rows, progress: Progress | None = None) -> Counts:
        """`count` in parts, on all processors."""
        return chunks.counted(self.count, rows, self.size, self._count_words, progress)

    def at_width(self, width: int) -> Self:
        """The same mechanism with its probabilities out of 2^width, for checks that enumerate every tape."""
        return type(self)(self.size, self.requested_epsilon, width)

    @property
    def _report_words(self) -> int:
        """About how many words a report and its draws take."""
        return 4 + self.report_bits // 64

    @property
    def _count_words(self) -> int:
        """About how many words counting one report takes."""
        return self._report_words

    def _holders(self, frequencies: Counts) -> Iterator[Indices]:
        """The item of every user, in batches of up to 64 MiB of reports, so that counting pays off."""
        last = np.cumsum(frequencies)
        batch = max(1, min(_BATCH_USERS, _BATCH_BYTES // self.report_bytes))
        for start in range(0, int(last[-1]), batch):
            users = np.arange(start, min(start + batch, int(last[-1])))
            yield np.searchsorted(last, users, side="right").astype(np.int64)

    def _check_channel(self, reports: int) -> None:
        if self.size * reports > _LARGEST_CHANNEL or self.report_bits > 64:
            raise ChannelTooLargeError(
                f"{self.name} on {self.size} items has too many possible reports to list; "
                "ask for the channel of a small domain"
            )

    def _identity(self) -> tuple[object, ...]:
        return (type(self), self.size, self.requested_epsilon, self.width)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mechanism) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        return f"<{self.name} on {self.size} items, epsilon {self.epsilon:.6g}, {self.report_bits}-bit reports>"


def debias(counts: Counts, n: int, p: Fraction, q: Fraction) -> Vector:
    """(c - n q) / (p - q), with the subtraction of the large n q done once and exactly."""
    expected = n * q
    whole = int(expected)
    return ((counts - whole).astype(np.float64) - float(expected - whole)) / float(p - q)


def independent_counts(mechanism: Mechanism, frequencies: Counts, seed: int | None) -> Counts:
    """Counts of a mechanism whose reports support each item independently of the others: two binomials an item."""
    rng = np.random.default_rng(seed)
    others = int(frequencies.sum()) - frequencies
    return rng.binomial(frequencies, mechanism.p_star) + rng.binomial(others, mechanism.q_star)
