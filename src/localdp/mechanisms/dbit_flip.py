"""dBitFlip (`dbit`): every user answers for b of the d items, drawn at random, with one noisy bit for each.

The device draws b different items, without looking at its value, and reports a bit for each: set with probability p if
it is the held item, and with q if not. A report supports the items that were drawn and have their bit set. Each item is
drawn with probability b/d, whatever the value is, so

    p* = (b/d) p,     q* = (b/d) q:

the mechanism is pure. Its variance is n q (1 - q b/d) / (p - q)^2 times d/b.

**Privacy.** The drawn items say nothing about the value. If x and y were both drawn, the probabilities of two bits
differ between x and y, and the largest ratio is p (1-q) / (q (1-p)), as in a unary encoding. With p = 1/2 and
q = 1/(1 + e^epsilon), as in `oue`, it is e^epsilon. (Another p would give less variance where few items are drawn, by
at most 16%.) If b = 1, only one bit can differ. The ratios are then p/q and (1-q)/(1-p), and both are e^epsilon for
p = e^epsilon / (1 + e^epsilon) = 1 - q.

Ding, Kulkarni & Yekhanin, "Collecting telemetry data privately", NIPS 2017, flip the bits symmetrically instead, with
p = e^(epsilon/2) / (1 + e^(epsilon/2)) = 1 - q also for b = 1. That is as private, but the pure estimate from it has
more variance at every epsilon, and for b = 1 only half of epsilon is used.

**The permanent form** (their dBitFlipPM). The drawn items and the bits are kept for each value, and every report of the
value is the same. Two values never share a stream: their responses would differ only at items that were held. So a new
value is a new response and spends epsilon again, and that the value has changed is not hidden.

>>> mechanism = DBitFlip(size=100, epsilon=1.0, answers=4)
>>> round(mechanism.p_star, 6), round(mechanism.q_star, 6), mechanism.report_bits
(0.02, 0.010758, 32)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from localdp.errors import FrequencyError, WireCode, WireError
from localdp.formats import bitstrings
from localdp.kernels.subsets import draw_items
from localdp.mechanisms.channel import Channel
from localdp.mechanisms.laws import WeightLaw, require_below
from localdp.mechanisms.pure import PureMechanism, exact_sum
from localdp.mechanisms.report_classes import ReportClass, Shuffled, merged
from localdp.randomness import thresholds
from localdp.randomness.keystream import Entropy
from localdp.types import Counts, Flags, Indices, Rows
from localdp.validation import checked_amount, checked_size

_FEW = 8  # answers, unless a number is given: a report of some bytes
_MOST_AT_ONCE = 500_000_000  # users simulated together: NumPy draws hypergeometric numbers from a billion at most
_MOST = 1 << 12  # answers: drawing different items takes time that grows with the square of their number

Fields = NDArray[np.uint64]
"""One row for each user, and one number for each answer: the item, and the bit above it."""


class DBitFlip(PureMechanism):
    """Answer for `answers` of the items, drawn at random: one noisy bit for each.

    A report lists the items in ascending order, each with its bit. If no number of answers is given, it is half of the
    items, at most 8.
    """

    name = "dbit"
    takes_sets = False

    def __init__(self, size: int, epsilon: float, width: int = 64, *, answers: int | None = None) -> None:
        most = min(checked_size(size), _MOST)
        given = min(_FEW, -(-most // 2)) if answers is None else answers
        self.answers = checked_amount(given, most, "answers, the number of items that each user answers for,")
        super().__init__(size, epsilon, width)

    def configure(self) -> None:
        self.noise = thresholds.rounded_up(1 / (1 + thresholds.exp_below(self.requested_epsilon)), self.width)
        self.keep = 1 << (self.width - 1) if self.answers > 1 else (1 << self.width) - self.noise
        self.item_bits = (self.size - 1).bit_length()

    def options(self) -> dict[str, Any]:
        return {"answers": self.answers}

    @classmethod
    def examples(cls, size: int, epsilon: float) -> Iterator[Self]:
        for answers in (1, 2):
            yield cls(size, epsilon, answers=answers)

    @property
    def p(self) -> Fraction:
        return Fraction(self.answers * self.keep, self.size * 2**self.width)

    @property
    def q(self) -> Fraction:
        return Fraction(self.answers * self.noise, self.size * 2**self.width)

    @property
    def ratio(self) -> Fraction:
        return Fraction(2**self.width - self.noise, self.noise)

    @property
    def rounds(self) -> int:
        return self.answers

    @property
    def report_bits(self) -> int:
        return self.answers * (self.item_bits + 1)

    def parameters(self) -> dict[str, int | str]:
        return {"keep": str(self.keep), "noise": str(self.noise)}

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        """Draw the items, then two bits for each of them: one for a holder of the item, one for everybody else."""
        fields = draw_items(source, values.size, self.size, self.answers)
        held = fields == values.astype(np.uint64)[:, None]
        for answer in range(self.answers):
            own, other = source.integers(values.size) < self.keep, source.integers(values.size) < self.noise
            fields[:, answer] |= np.where(held[:, answer], own, other).astype(np.uint64) << np.uint64(self.item_bits)
        return bitstrings.from_fields(fields, self.item_bits + 1)

    @property
    def most_supported(self) -> int:
        return self.answers

    @property
    def weight_law(self) -> WeightLaw:
        held = self.answers / self.size
        p, q = (threshold / 2**self.width for threshold in (self.keep, self.noise))
        return WeightLaw(held * p + (1 - held) * q, self.answers - 1, q)

    def weights(self, rows: Rows) -> Counts:
        """The lit bits among the answers, not those of the items that a report names."""
        return np.asarray((self.fields(rows) >> np.uint64(self.item_bits)).sum(axis=1)).astype(np.int64)

    def validate(self, rows: Rows) -> None:
        super().validate(rows)
        items = self._items(self.fields(rows))
        require_below(self.size, items, "an item index", "indices")
        if (items[:, 1:] <= items[:, :-1]).any():
            raise WireError(
                WireCode.WRONG_ORDER,
                f"a report does not name {self.answers} different items in ascending order, as every report must",
            )

    def supports(self, rows: Rows, item: int) -> Flags:
        return np.asarray((self.fields(rows) == (item | 1 << self.item_bits)).any(axis=1))

    def count(self, rows: Rows) -> Counts:
        fields = self.fields(rows)
        lit = self._items(fields)[fields >> np.uint64(self.item_bits) != 0]
        return np.bincount(lit.astype(np.int64), minlength=self.size).astype(np.int64)

    def simulate(self, frequencies: Counts, seed: int | None) -> Counts:
        """Random counts with exactly the law of running every user, in time that grows with the items alone.

        The items are visited one after the other. A user who has still to draw r of the d' items that are left draws
        this one with probability r/d', whatever was drawn before. So it suffices to know how many users have each r:
        apart for those whose held item was visited already, because the holders of an item are a random part of the
        others.
        """
        rng = np.random.default_rng(seed)
        ends = np.cumsum(frequencies)
        counts = np.zeros(self.size, np.int64)
        for start in range(0, int(ends[-1]), _MOST_AT_ONCE):
            part = np.diff(np.clip(ends, start, start + _MOST_AT_ONCE), prepend=start)
            counts += self._simulate_some(np.asarray(part, np.int64), rng)
        return counts

    def _simulate_some(self, frequencies: Counts, rng: np.random.Generator) -> Counts:
        left = np.arange(self.answers + 1)
        before, after = np.zeros(left.size, np.int64), np.zeros(left.size, np.int64)
        before[-1] = int(frequencies.sum())
        keep, noise = self.keep / 2**self.width, self.noise / 2**self.width
        counts = np.zeros(self.size, np.int64)
        for item, holders in enumerate(frequencies.tolist()):
            chances = np.minimum(left / (self.size - item), 1.0)  # nobody has more to draw than there are left
            own = _random_part(before, holders, rng)
            before -= own
            drawn = [rng.binomial(users, chances) for users in (own, before, after)]
            counts[item] = rng.binomial(drawn[0].sum(), keep) + rng.binomial(drawn[1].sum() + drawn[2].sum(), noise)
            for users, some in zip((own, before, after), drawn, strict=True):
                users -= some
                users[:-1] += some[1:]
            after += own
        return counts

    def validate_counts(self, counts: Counts, n: int) -> None:
        total = exact_sum(counts)
        if total > n * self.answers:
            raise FrequencyError(
                f"no reports can have these counts: they add up to {total}, and {n} reports support at most "
                f"{n * self.answers} items, since each answers for {self.answers}"
            )

    def channel(self) -> Channel:
        self._check_channel(math.comb(self.size, self.answers) << self.answers)
        sets = combinations(range(self.size), self.answers)
        reports = [(items, bits) for items in sets for bits in range(1 << self.answers)]
        drawn = Fraction(1, math.comb(self.size, self.answers))
        lit = [Fraction(threshold, 2**self.width) for threshold in (self.noise, self.keep)]  # by whether it is held

        def probability(value: int, items: tuple[int, ...], bits: int) -> Fraction:
            chances = (lit[item == value] for item in items)
            return math.prod((p if bits >> i & 1 else 1 - p for i, p in enumerate(chances)), start=drawn)

        rows = tuple(tuple(probability(value, *report) for report in reports) for value in range(self.size))
        listed = [
            [item | (bits >> place & 1) << self.item_bits for place, item in enumerate(items)]
            for items, bits in reports
        ]
        return Channel(bitstrings.from_fields(np.array(listed, np.uint64), self.item_bits + 1), rows)

    def shuffled(self) -> Shuffled:
        """A report has classes by whether x, x' and y were drawn, and by their bits."""
        lit, noise = (Fraction(threshold, 2**self.width) for threshold in (self.keep, self.noise))
        level = {None: Fraction(1), True: lit / noise, False: (1 - lit) / (1 - noise)}
        others = self.size - 3
        classes = []
        for states in product((None, True, False), repeat=3 if others >= 0 else 2):
            drawn = [state for state in states if state is not None]
            rest = self.answers - len(drawn)
            if not 0 <= rest <= self.size - len(states):
                continue
            ways = Fraction(math.comb(self.size - len(states), rest), math.comb(self.size, self.answers))
            chance = math.prod((noise if state else 1 - noise for state in drawn), start=ways)
            for least, share in self._least(drawn, noise, level[False]):
                x, other = (chance * share * level[state] for state in (states[0], states[-1 if others >= 0 else 0]))
                classes.append(ReportClass(x, chance * share * level[states[1]], other, chance * share * least))
        return Shuffled.alike(merged(classes))

    def _least(self, drawn: list[bool], noise: Fraction, dark: Fraction) -> tuple[tuple[Fraction, Fraction], ...]:
        """The least level of a report under any value, and how often it is that. It is `dark` if any bit may be."""
        if self.answers > 1:
            return ((dark, Fraction(1)),)
        if drawn:
            return ((Fraction(1) if drawn[0] else dark, Fraction(1)),)
        return (Fraction(1), noise), (dark, 1 - noise)

    def fields(self, rows: Rows) -> Fields:
        """The answers of each report: the item, and the bit above it."""
        return bitstrings.to_fields(rows, self.answers, self.item_bits + 1)

    def _items(self, fields: Fields) -> Fields:
        """The item of each answer."""
        return fields & np.uint64((1 << self.item_bits) - 1)

    @property
    def _randomize_work(self) -> int:
        return 8 * self.answers  # changing it changes all seeded results


def _random_part(users: Counts, size: int, rng: np.random.Generator) -> Counts:
    """How many of each kind are among `size` users that are drawn at random from those with these numbers of kinds."""
    found, others = np.zeros_like(users), int(users.sum())
    for kind in np.flatnonzero(users).tolist():
        others -= int(users[kind])
        found[kind] = rng.hypergeometric(int(users[kind]), others, size)
        size -= int(found[kind])
    return found
