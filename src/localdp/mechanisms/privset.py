r"""PrivSet (`privset`): every user holds a set of items, and a report perturbs the whole set at once.

The device fills its set up with padding until it has `set_size` = m elements. There are d items and m elements of
padding, D = d + m in all. A report is a subset of k of these D elements. Every subset that has an element in common
with the padded set is e^epsilon times as likely as one that has none (Wang, Huang, Nie, Wang, Xu & Yang, "PrivSet:
set-valued data analyses with local differential privacy", INFOCOM 2018). For m = 1 this is subset selection.

**Privacy.** All padded sets have m elements, so the probabilities of all subsets have the same sum under each of them,
and the largest ratio is e^epsilon. It needs no amplification, and no assumption about the sets.

**Estimates.** A report supports the items that are in its subset. By symmetry, it supports an element of the padded
set with one probability p* and any other with q*, so this is a pure mechanism. With x = k m / D, about the number of
common elements of a subset that is drawn without looking,

    Var = n q*(1-q*)/(p*-q*)^2   is about   n m (1 + e^epsilon (e^x - 1))^2 / (x (e^epsilon - 1)^2),

which grows with m, where that of padding and sampling grows with m^2. It is smallest near x = 1/(e^epsilon + 1). So k
is D/(m (e^epsilon + 1)), rounded, or one less if that is better. Of a set with K > m items, m are drawn, and every
holder counts as m/K of a holder, as in padding and sampling.

**Drawing.** Let h_j be the share of the subsets of k elements that have j in common with the padded set (a
hypergeometric law). With a probability of T_j / 2^w, for j = 1 .. m, the device draws one of those with j in common,
each alike, and with the rest R / 2^w any subset at all. A subset with j in common is then sent with R / (2^w C) +
T_j / (2^w C h_j), where C is the number of subsets, so that exactly

    ratio = 1 + max_j T_j / (h_j R) <= e^epsilon       for       T_j = floor(2^w (e^epsilon - 1) h_j / s),
    s = 1 + (e^epsilon - 1)(1 - h_0).

A probability that is rounded down to 0 only makes a report less likely than it could be, never impossible.

The subset is drawn without looking at the set: c of the places 0 .. m-1, which stand for the padded set, and k - c of
the others. A word chooses c = j, or that c is drawn as if the subset were any: m draws, the first among D, the next
among D - 1, and so on, count those that hit the k elements of the subset. Then the places are renamed: for t = m-1
.. 0, the bit of place t changes places with the bit of the t-th element of the padded set, in ascending order. An
element is never below t, so no swap undoes another. A set with more than m items is cut to m that follow each other,
in a circle, from a random one on. Everybody draws the same numbers, whatever they hold and whatever c is.

>>> mechanism = PrivSet(100, 1.0, set_size=3)
>>> mechanism.subset, mechanism.report_bits, round(mechanism.epsilon, 9)
(9, 103, 1.0)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np

from localdp.errors import FrequencyError
from localdp.formats import bitstrings
from localdp.item_sets import ItemSets
from localdp.kernels.subsets import draw_bitmaps, swap_bits
from localdp.mechanisms.channel import Channel
from localdp.mechanisms.laws import require_weight
from localdp.mechanisms.pure import BitmapMechanism, exact_sum
from localdp.mechanisms.report_classes import Shuffled, two_levels
from localdp.mechanisms.set_base import OneSet, SetMechanism, chances_of_places, checked_held, scaled
from localdp.randomness import thresholds
from localdp.randomness.keystream import Entropy
from localdp.types import Counts, Indices, Rows


@dataclass(frozen=True)
class SubsetLaw:
    """The law of a report: a subset of `subset` out of `elements`, for padded sets of `set_size` elements."""

    elements: int
    set_size: int
    subset: int
    width: int
    growth: Fraction
    """e^epsilon - 1, or just below."""

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """h_j for j = 0, 1, ..: the share of all subsets that have j elements in common with the padded set."""
        most = min(self.set_size, self.subset)
        others = self.elements - self.subset
        every = math.comb(self.elements, self.set_size)
        return tuple(
            Fraction(math.comb(self.subset, j) * math.comb(others, self.set_size - j), every) for j in range(most + 1)
        )

    @cached_property
    def hits(self) -> tuple[int, ...]:
        """T_j for j = 1, 2, .., without the zeros at the end."""
        sum_of_all = 1 + self.growth * (1 - self.shares[0])
        found = [thresholds.rounded_down(self.growth * share / sum_of_all, self.width) for share in self.shares[1:]]
        while found and not found[-1]:
            found.pop()
        return tuple(found)

    @property
    def rest(self) -> int:
        """R, out of 2^width: how often the subset is drawn without regard to the set."""
        return (1 << self.width) - sum(self.hits)

    @cached_property
    def p(self) -> Fraction:
        common = sum(j * hit for j, hit in enumerate(self.hits, 1))
        return (Fraction(self.rest * self.subset, self.elements) + Fraction(common, self.set_size)) / (1 << self.width)

    @cached_property
    def q(self) -> Fraction:
        others = sum((self.subset - j) * hit for j, hit in enumerate(self.hits, 1))
        apart = self.elements - self.set_size
        return (Fraction(self.rest * self.subset, self.elements) + Fraction(others, apart)) / (1 << self.width)

    @property
    def ratio(self) -> Fraction:
        return 1 + max((hit / (self.shares[j] * self.rest) for j, hit in enumerate(self.hits, 1)), default=Fraction(0))

    @property
    def precision(self) -> Fraction:
        """(p* - q*)^2 / (q* (1 - q*)): the larger, the less noise."""
        return (self.p - self.q) ** 2 / (self.q * (1 - self.q))


class PrivSet(SetMechanism, BitmapMechanism):
    """Report a subset of k elements; those that have something in common with the user's set are likelier.

    Wang et al., INFOCOM 2018. The report is a bitmap of the items and the padding with k bits set.
    """

    name = "privset"
    most_elements = 256  # the law is computed with whole numbers of this many times the bits of the number of items

    def configure(self) -> None:
        e = thresholds.exp_below(self.requested_epsilon)
        elements = self.size + self.set_size
        near = math.floor(elements / (self.set_size * (e + 1)) + Fraction(1, 2))
        laws = [
            SubsetLaw(elements, self.set_size, subset, self.width, e - 1)
            for subset in {min(max(1, k), self.size) for k in (near - 1, near)}
        ]
        # Of two that are equally precise, the smaller subset: the order of the set above must not decide.
        self._law = max(laws, key=lambda law: (law.precision if law.p > law.q else -1, -law.subset))
        self.subset = self._law.subset
        self.hits = self._law.hits

    @property
    def p(self) -> Fraction:
        return self._law.p

    @property
    def q(self) -> Fraction:
        return self._law.q

    @property
    def ratio(self) -> Fraction:
        return self._law.ratio

    @property
    def rounds(self) -> int:
        return self.subset

    @property
    def report_bits(self) -> int:
        return self.size + self.set_size

    def parameters(self) -> dict[str, int | str]:
        return {"subset": self.subset, "hits": ",".join(map(str, self.hits))}

    def randomize_sets(self, sets: ItemSets, source: Entropy) -> Rows:
        elements = self.padded(sets, source)
        common = self._common(sets.users, source)
        bits, held = self.report_bits, self.set_size
        rows = draw_bitmaps(source, held - common, held, held, 0, bits)
        rows |= draw_bitmaps(source, common, self.size, self.subset, held, bits)
        for place in reversed(range(held)):
            swap_bits(rows, place, elements[:, place])
        return rows

    def padded(self, sets: ItemSets, source: Entropy) -> Indices:
        """The `set_size` elements of each user's padded set, in ascending order, one row for each user."""
        sizes = np.maximum(sets.sizes, self.set_size)
        start = scaled(source.integers(sets.users), np.maximum(sets.sizes, 1), self.width)
        places = (np.where(sets.sizes > self.set_size, start, 0)[:, None] + np.arange(self.set_size)) % sizes[:, None]
        places.sort(axis=1)
        following = np.append(sets.items, 0)  # so that there is something to look up where a set is empty
        own = following[np.minimum(sets.starts[:, None] + places, sets.items.size)]
        missing = places - sets.sizes[:, None]
        return np.where(missing < 0, own, self.size + missing)

    def _common(self, users: int, source: Entropy) -> Indices:
        """How many elements each user's report has in common with the padded set."""
        ends = np.cumsum(np.array(self.hits, np.uint64), dtype=np.uint64)
        chosen = np.searchsorted(ends, source.integers(users), side="right") + 1
        any_subset = np.zeros(users, np.int64)
        for turn in range(self.set_size):
            drawn = source.below(self.report_bits - turn, users).view(np.int64)
            any_subset += drawn < self.subset - any_subset
        return np.where(chosen <= len(self.hits), chosen, any_subset).astype(np.int64)

    @property
    def most_supported(self) -> int:
        return self.subset

    def validate(self, rows: Rows) -> None:
        super().validate(rows)
        require_weight(rows, self.subset, "elements")

    def validate_counts(self, counts: Counts, n: int) -> None:
        total, least = exact_sum(counts), n * max(0, self.subset - self.set_size)
        if not least <= total <= n * self.subset:
            raise FrequencyError(
                f"no reports can have these counts: they add up to {total}, and {n} reports support at least {least} "
                f"and at most {n * self.subset} items"
            )

    def shuffled(self) -> Shuffled:
        """A report tells whether it has anything in common with the padded set. Sets with nothing in common are worst.

        The thresholds T_j are rounded, so not all subsets with something in common are quite equally likely.
        """
        every, held = self.report_bits, self.set_size
        shared = max(0, held - self.size)  # padding that is in every padded set
        lengths = (shared, held, min(2 * held, every), *((3 * held,) if 3 * held <= every else ()))
        clear, *missed = (
            Fraction(math.comb(every - self.subset, elements), math.comb(every, elements)) for elements in lengths
        )
        one, two = 1 - missed[0], 1 - 2 * missed[0] + missed[1]
        three = 1 - 3 * missed[0] + 3 * missed[1] - missed[2] if len(missed) > 2 else None
        hit = 1 - missed[0] * Fraction(self._law.rest, 1 << self.width)
        classes = two_levels(hit, one, two, three, 1 - clear)
        if shared:
            *others, surely = classes
            chances = (*self.hits, *(0 for _ in range(len(self.hits) + 1, len(self._law.shares))))
            more = min(chance / self._law.shares[j] for j, chance in enumerate(chances, 1))
            classes = (*others, replace(surely, least=(1 - clear) * (self._law.rest + more) / (1 << self.width)))
        return Shuffled((classes,), (classes,), Fraction(len(self._law.shares), 1 << self.width))

    def channel_of(self, sets: list[OneSet]) -> Channel:
        """The exact probability of every report, for each of these sets. A larger set is a mixture of those drawn."""
        self._check_channel(math.comb(self.report_bits, self.subset))
        subsets = list(combinations(range(self.report_bits), self.subset))
        law = self._law
        hits = {j: hit / law.shares[j] for j, hit in enumerate(self.hits, 1)}
        every = math.comb(self.report_bits, self.subset) << self.width

        def chance(padded: frozenset[int], report: tuple[int, ...]) -> Fraction:
            common = sum(element in padded for element in report)
            return (law.rest + hits.get(common, Fraction(0))) / every

        def mixed(held: OneSet) -> tuple[Fraction, ...]:
            chances = self._chances(held)
            return tuple(
                sum((share * chance(padded, report) for padded, share in chances.items()), Fraction(0))
                for report in subsets
            )

        bitmaps = np.array([sum(1 << element for element in subset) for subset in subsets], np.uint64)
        return Channel(bitstrings.from_integers(bitmaps, self.report_bits), tuple(mixed(held) for held in sets))

    def _chances(self, held: OneSet) -> dict[frozenset[int], Fraction]:
        """The exact probability of every padded set that a device may make of a set."""
        items, size = checked_held(held), len(held)
        if size <= self.set_size:
            return {frozenset((*items, *range(self.size, self.size + self.set_size - size))): Fraction(1)}
        return {
            frozenset(items[(place + turn) % size] for turn in range(self.set_size)): chance
            for place, chance in enumerate(chances_of_places(size, self.width))
        }

    @property
    def _randomize_work(self) -> int:
        return 4 + self.set_size + (self.report_bits >> 6) + self.subset  # changing it changes all seeded results

    @property
    def _count_work(self) -> int:
        return 4 + (self.report_bits >> 6)
