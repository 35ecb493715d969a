"""The base class of all mechanisms: what an author writes, and what the library derives from it.

A mechanism is *pure* (Wang et al., USENIX Security 2017) when two probabilities describe it, the same for all items:

    p* = Pr[ the report of a user who holds item i supports i ],
    q* = Pr[ the report of a user who does not hold i supports i ].

Let c_i be the number of reports that support item i, out of n. If f_i users hold item i, the estimate of f_i is

    fhat_i = (c_i - n q*) / (p* - q*),                         which is unbiased, with
    Var(fhat_i) = n q*(1-q*) / (p*-q*)^2 + f_i (1 - p* - q*) / (p* - q*).

The paper's constant variance is the first term (`variance`); the second is f_i times `excess_variance`.

A mechanism need not be pure. What is counted are the *outcomes* of reports, and `observe` says what their counts tell
about the cells (`observation`). A pure mechanism has an outcome for each item, which is that a report supports it.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from localdp.domain import checked_indices
from localdp.errors import (
    ChannelTooLargeError,
    EpsilonError,
    ImpureMechanismError,
    InvalidInputError,
    WireCode,
    WireError,
)
from localdp.formats import bitstrings
from localdp.held import Held
from localdp.kernels import chunks
from localdp.mechanisms.channel import Channel
from localdp.mechanisms.laws import Laws
from localdp.mechanisms.observation import Observation, Supported, Through
from localdp.mechanisms.permanent import AskedAgain, Randomize
from localdp.mechanisms.report_classes import Shuffled, shuffled_by_channel
from localdp.randomness import keystream, thresholds
from localdp.randomness.keystream import Entropy
from localdp.types import Counts, Flags, Indices, Progress, Rows, Vector
from localdp.validation import checked_amount, checked_epsilon, checked_size

_LARGEST_CHANNEL = 1 << 20  # entries: to list this many takes less than a second
_LARGEST_LAW = 1 << 22  # entries: to compute them from fractions takes seconds


class Mechanism(AskedAgain, Laws):
    """Encode and perturb one of `size` items with local differential privacy.

    `requested_epsilon` is the privacy budget asked for; `epsilon` is the realised one, which is never larger. Every
    probability is a whole number out of 2^`width`. The width is 64, except in checks that try all random inputs.

    An author of a mechanism

    - sets `name`, and `exactly_pure` and `counts_pairs` where the defaults are wrong;
    - writes `configure`, `p`, `q`, `ratio`, `report_bits`, `parameters`, `randomize`, `supports` and `channel`;
    - or, for one that is not pure, `outcomes` and `chance` instead of `p` and `q`; `supports` then tells whether a
      report has an outcome;
    - may extend `validate` and `validate_counts`, and may replace `count` and `simulate` by something faster;
    - where there are options, or where reports perturb a permanent response, replaces what `chains` replaces.

    Methods that stand below "What is derived" are not meant to be overridden.
    """

    name: ClassVar[str]
    """The name that chooses this mechanism, as in `Plan(items, mechanism="grr", epsilon=1.0)`."""
    exactly_pure: ClassVar[bool] = True
    """False where p* and q* rest on an assumption, such as an ideal hash. Privacy never rests on one."""
    holds_sets: ClassVar[bool] = False
    """Whether every user holds a set of items."""
    takes_sets: ClassVar[bool] = True
    """Whether it can report one element of a set, as `set_sampling` needs it."""
    counts_pairs: ClassVar[bool] = False
    """True where counting looks at every pair of a report and an item. `auto` never chooses these: they are slow."""
    shows_raw: ClassVar[bool] = True
    """False where estimates of single cells are too noisy to be shown: only Calibrate reads the counts then."""

    def __init__(self, size: int, epsilon: float, width: int = 64) -> None:
        self.size = checked_size(size)
        self.requested_epsilon = checked_epsilon(epsilon)
        self.width = checked_amount(width, 64, "the number of bits of a probability")
        self.configure()
        if self._gains_nothing:
            raise EpsilonError(
                f"epsilon {self.requested_once:g} is too small for {self.name} on {size} items: at {width} bits of "
                "resolution the report would not depend on the item at all; use a larger epsilon"
            )
        self._freeze()

    # What an author writes.

    @abstractmethod
    def configure(self) -> None:
        """Set the integer thresholds and the sizes, from `size`, `requested_epsilon` and `width`."""

    @property
    def p(self) -> Fraction:
        """p* as an exact fraction. A plain property will do: the library evaluates it once for each mechanism."""
        raise ImpureMechanismError.by_outcomes(self.name)

    @property
    def q(self) -> Fraction:
        """q* as an exact fraction, evaluated once like `p`."""
        raise ImpureMechanismError.by_outcomes(self.name)

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest ratio of the probabilities of one report under two values, exactly. Its log is `epsilon`.

        Where every report of a device perturbs a permanent response, it is the ratio of that response.
        """

    @property
    @abstractmethod
    def report_bits(self) -> int:
        """The length of a report in bits."""

    @abstractmethod
    def parameters(self) -> dict[str, int | str]:
        """The numbers that a client needs besides the size.

        Thresholds are strings, because JavaScript cannot read integers above 2^53.
        """

    @abstractmethod
    def randomize(self, values: Indices, source: Entropy) -> Rows:
        """One report for each value, given as an index.

        The randomness drawn and the lines executed must not depend on the values.
        """

    @abstractmethod
    def supports(self, rows: Rows, item: int) -> Flags:
        """Whether each report supports the item; of a mechanism that is not pure, whether it has this outcome."""

    @abstractmethod
    def channel(self) -> Channel:
        """The exact probability of every report under every value. Call `_check_channel` first."""

    # What an author may extend or replace.

    def validate(self, rows: Rows) -> None:
        """Raise a `WireError` if no client can have produced one of the reports.

        This checks the unused bits of the last byte; extend it where more bit patterns are impossible.
        """
        if bitstrings.nonzero_padding(rows, self.report_bits).any():
            sentence = f"a report has bits set past the last of its {self.report_bits} bits"
            raise WireError(WireCode.NONZERO_PADDING, sentence)

    @property
    def outcomes(self) -> int:
        """How many numbers `count` returns: one for each item if pure; otherwise a report has exactly one outcome."""
        return self.size

    def chance(self, item: int, outcome: int) -> Fraction:
        """The exact probability that the report of a user who holds the item has this outcome."""
        p, q = self._exact_pair
        return p if item == outcome else q

    def observe(self, counts: Counts, n: int) -> Observation:
        """What the counts of n reports say about how many users hold each item."""
        return Supported(counts, n, *self._exact_pair) if self.pure else Through(counts, n, self._outcome_law)

    def count(self, rows: Rows) -> Counts:
        """How many of the reports support each item. This default is slow: it looks at one item after the other."""
        return np.array([np.count_nonzero(self.supports(rows, item)) for item in range(self.outcomes)], np.int64)

    @property
    def partial_size(self) -> int:
        """How many numbers `count_partial` returns."""
        return self.outcomes

    def count_partial(self, rows: Rows) -> Counts:
        """Numbers that add up over any division of the reports, and from which `complete` gets the counts.

        By default they are the counts themselves. Where counting ends with a transform of sums, return the sums: then
        many machines can count their share, and the transform is done once.
        """
        return self.count(rows)

    def complete(self, sums: Counts, n: int) -> Counts:  # noqa: ARG002 (some mechanisms need n)
        """The counts of n reports, from the sums of what `count_partial` returned for all of them."""
        return sums

    def validate_counts(self, counts: Counts, n: int) -> None:
        """Raise a `FrequencyError` if no n reports can have these counts. Extend it where their sum is fixed."""

    def simulate(self, frequencies: Counts, seed: int | None) -> Counts:
        """Random counts, distributed exactly as if every user sent a report. This default does run every user."""
        source = keystream.secure() if seed is None else keystream.seeded(seed)
        counts = np.zeros(self.outcomes, np.int64)
        for values in chunks.values_in_groups(frequencies, self.report_bytes):
            counts += self.tally(self.privatize(values, source))
        return counts

    def shuffled(self) -> Shuffled:
        """The classes of reports that matter once nobody knows who sent which."""
        return shuffled_by_channel(self)

    # What is derived.

    @property
    def pure(self) -> bool:
        """Whether p* and q* describe the mechanism, as the paper's formula needs it."""
        return type(self).p is not Mechanism.p

    @property
    def _gains_nothing(self) -> bool:
        """Whether reports do not depend on the item at all."""
        if not self.pure:
            return self.ratio <= 1
        p, q = self._exact_pair
        return p <= q

    @cached_property
    def _exact_pair(self) -> tuple[Fraction, Fraction]:
        """p* and q*, exactly. Everything below starts from this pair, so that `p` and `q` are evaluated only once."""
        return self.p, self.q

    @cached_property
    def _outcome_law(self) -> Vector:
        """The probability of each outcome, a column, for each item, a row, where outcomes exclude each other."""
        if self.size * self.outcomes > _LARGEST_LAW:
            raise ChannelTooLargeError(f"{self.name} on {self.size} items has too many outcomes to invert its law")
        return np.array([[float(self.chance(i, o)) for o in range(self.outcomes)] for i in range(self.size)])

    @property
    def outcome_chances(self) -> tuple[float, float]:
        """The largest and the smallest probability of an outcome, whatever the user holds."""
        return (self.p_star, self.q_star) if self.pure else (1.0, 0.0)

    @cached_property
    def push(self) -> float:
        """The most users that one forged report can add to the estimate of an item."""
        return self._of_one_user.push

    @cached_property
    def p_star(self) -> float:
        """The probability that a report supports the item its user holds."""
        return float(self._exact_pair[0])

    @cached_property
    def q_star(self) -> float:
        """The probability that a report supports an item its user does not hold."""
        return float(self._exact_pair[1])

    @cached_property
    def gap(self) -> float:
        """p* - q*. The subtraction is exact and rounded once, so it keeps its precision at any epsilon."""
        p, q = self._exact_pair
        return float(p - q)

    @cached_property
    def epsilon(self) -> float:
        """The realised privacy budget, rounded up to a float; at most `requested_epsilon`.

        It is what all reports reveal together that a device makes from one permanent response; see `permanent`.
        """
        return thresholds.log_rounded_up(self.ratio)

    @cached_property
    def excess_variance(self) -> float:
        """The variance that each holder of an item adds to the item's estimate: (1 - p* - q*) / (p* - q*)."""
        return (self._by_pair(1) if self.pure else self._of_one_user).excess_variance

    @property
    def makes_permanent(self) -> Mechanism:
        """The mechanism that makes permanent responses: this one, unless every report perturbs them once more."""
        return self

    @property
    def rounds(self) -> int:
        """How many rounds of drawing, one after the other, one report takes. A device refuses plans with too many."""
        return 1

    @property
    def report_bytes(self) -> int:
        """The length of a report in bytes, as it travels."""
        return bitstrings.byte_length(self.report_bits)

    def variance(self, n: int) -> float:
        """The variance of the estimate of an item that nobody holds, among n users.

        Where it differs by item, it is the mean over the items if all outcomes are equally frequent.
        """
        if not self.pure:
            return n * float(np.mean(self._of_one_user.variance))
        return self._by_pair(n).variance

    def _by_pair(self, n: int) -> Supported:
        """What p* and q* alone say about n reports. Of the paper's formulas, only the estimates need the counts."""
        return Supported(np.zeros(0, np.int64), n, *self._exact_pair)

    @cached_property
    def _of_one_user(self) -> Observation:
        """What a user is expected to show if all outcomes are equally frequent."""
        return self.observe(np.full(self.outcomes, 1 / self.outcomes), 1)

    def estimate(self, counts: Counts, n: int) -> Vector:
        """The unbiased estimate of each item's frequency, from the counts of n reports."""
        return self.observe(counts, n).frequencies

    def answer(self, held: Held, source: Entropy, *, progress: Progress | None = None) -> Rows:
        """One report for each user, from what users hold."""
        return self.privatize(held.one_each(), source, progress=progress)

    def privatize(self, values: Indices, source: Entropy, *, progress: Progress | None = None) -> Rows:
        """One report for each value: calls `randomize` on chunks of users, on all processors."""
        return self._randomized(self.randomize, values, source, progress)

    def _randomized(self, randomize: Randomize, values: Indices, source: Entropy, progress: Progress | None) -> Rows:
        """What `randomize` makes of the values, which are checked before."""
        values = checked_indices(values, self.size)

        def checked(chunk: Indices, stream: Entropy) -> Rows:
            # Compiled loops would write out of bounds, so what they get is a copy that nobody changes after the check.
            return randomize(checked_indices(chunk.copy(), self.size), stream)

        return self._in_chunks(checked, values, source, progress)

    def _in_chunks(self, randomize: Randomize, values: Indices, source: Entropy, progress: Progress | None) -> Rows:
        """One row for each number, in chunks of users, on all processors."""
        if source.width != self.width:
            # Thresholds out of 2^width compared with words of another width would give no privacy at all.
            raise InvalidInputError(f"a mechanism of {self.width} bits cannot draw words of {source.width} bits")
        rows = np.empty((values.size, self.report_bytes), np.uint8)
        chunks.randomize_chunks(randomize, values, source, rows, self._randomize_work, progress)
        return rows

    def tally(self, rows: Rows, *, progress: Progress | None = None) -> Counts:
        """How many of the reports support each item: calls `count` on chunks of reports, on all processors."""
        return chunks.count_chunks(self.count, rows, self.outcomes, self._count_work, progress)

    def tally_partial(self, rows: Rows, *, threads: int | None = None) -> Counts:
        """What `count_partial` gives for all rows, called on chunks of reports.

        `threads` is the number of threads; None means all processors.
        """
        return chunks.count_chunks(self.count_partial, rows, self.partial_size, self._count_work, None, threads)

    @property
    def named_kind(self) -> type[Mechanism]:
        """The class that goes by this mechanism's name."""
        return type(self)

    def at_width(self, width: int) -> Self:
        """The same mechanism with probabilities out of 2^width, for checks that try all random inputs."""
        return type(self)(self.size, self.requested_epsilon, width, **self.options())

    @property
    def _randomize_work(self) -> int:
        """Roughly how much work it takes to make one report, in 64-bit words written or drawn.

        It decides how many users make a chunk. Each chunk has its own random stream, so changing this number changes
        all seeded results.
        """
        return 4 + self.report_bits // 64

    @property
    def _count_work(self) -> int:
        """Roughly how much work it takes to count one report, in 64-bit words read or hashed.

        It decides how many reports a thread takes.
        """
        return self._randomize_work

    def _check_channel(self, reports: int) -> None:
        """Refuse to list a channel with this number of possible reports if it would not fit into memory."""
        if self.size * reports > _LARGEST_CHANNEL or self.report_bits > 64:
            raise ChannelTooLargeError(
                f"{self.name} on {self.size} items has too many possible reports to list; "
                "ask for the channel of a small domain"
            )

    def _equality_key(self) -> tuple[object, ...]:
        """Two mechanisms are equal if these are: everything else follows from them."""
        return (type(self), self.size, self.requested_epsilon, self.width, *sorted(self.options().items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mechanism) and self._equality_key() == other._equality_key()

    def __hash__(self) -> int:
        return hash(self._equality_key())

    def __repr__(self) -> str:
        return f"<{self.name} on {self.size} items, epsilon {self.epsilon:.6g}, {self.report_bits}-bit reports>"
