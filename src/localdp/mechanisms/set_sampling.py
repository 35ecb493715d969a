"""Padding and sampling: every user holds a set of items, and reports one of its elements by another mechanism.

The device fills its set up with padding until it has `set_size` = l elements, draws one element uniformly, and perturbs
it. A set with more than l elements is not filled up; one of its own elements is drawn (Wang, Li & Jha, "Locally
differentially private frequent itemset mining", IEEE S&P 2018).

**Estimates.** Let the mechanism that perturbs the drawn element be pure, with p and q. A holder of item i whose set has
at most l elements draws it with probability 1/l, so the report supports i with

    p* = p/l + (1 - 1/l) q = q + (p - q)/l,        and that of a user who does not hold i with        q* = q.

So this is a pure mechanism again, and everything that follows from p* and q* holds: the estimate of the number of
holders is unbiased, its variance is l^2 times that of the inner mechanism, and the counts have the same law. A holder
with k > l elements draws the item with probability 1/k only. Each of them is counted as l/k of a holder: the estimate
is too low by the sum of 1 - l/k over them.

**Privacy.** A report under a set is a mixture of reports under its elements. A report under one element has at most
e^epsilon times the probability that it has under another, so the same holds for mixtures. Nothing more is needed.

For `grr` more is true. Let the padding be l *different* elements, so that no element, padding or not, is ever drawn
with probability more than 1/l. The report y has probability q + s (p - q), where s, from 0 to 1/l, is the probability
that y was drawn. The largest ratio is

    (q + (p - q)/l) / q  =  (p/q + l - 1) / l,     which is e^epsilon for     p/q = l (e^epsilon - 1) + 1.

So the drawn element may be perturbed less than at epsilon. This is amplification by sampling. It is proven here for
`grr` alone: a report by hashing or by bits can support all elements of a set at once, and then sampling hides nothing.
There, the padding is one single element.

**Drawing.** Every user draws the same words: a uniform place among l, and a word u of w bits. A set with at most l
elements takes the element at the place, which is padding if the set is shorter. A set with k > l elements takes its
element floor(u k / 2^w). No element of it has a probability above 1/k + 2^-w, which is below 1/l at w = 64.

>>> from localdp.item_sets import ItemSets
>>> mechanism = PaddingAndSampling(100, 2.0, set_size=4, kind=RandomizedResponse)
>>> mechanism.inner.size, round(mechanism.epsilon, 9)  # padding has the indices after those of the items
(104, 2.0)
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from localdp.errors import FrequencyError
from localdp.item_sets import ItemSets
from localdp.mechanisms.base import Mechanism
from localdp.mechanisms.channel import Channel
from localdp.mechanisms.laws import Drawn, WeightLaw
from localdp.mechanisms.pure import exact_sum
from localdp.mechanisms.randomized_response import RandomizedResponse
from localdp.mechanisms.report_classes import Shuffled, told_by_flag, two_levels
from localdp.mechanisms.set_base import OneSet, SetMechanism, chances_of_places, checked_held, scaled
from localdp.mechanisms.symbol_response import SymbolResponse
from localdp.randomness.keystream import Entropy
from localdp.types import Counts, Flags, Indices, Rows


class SampledResponse(RandomizedResponse):
    """`grr` for an element that was drawn from at least `set_size` different ones: it tells the truth more often."""

    def __init__(self, size: int, epsilon: float, width: int = 64, *, set_size: int) -> None:
        self._set_size = set_size
        super().__init__(size, epsilon, width)

    def configure(self) -> None:
        private = SymbolResponse.private(self.size, self.requested_epsilon, self.width, self._set_size)
        self.response = replace(private, among=1)  # of the element that was drawn


class PaddingAndSampling(SetMechanism):
    """Report one element of a set by the mechanism `kind`. `set_size` is the length that shorter sets are padded to."""

    def __init__(self, size: int, epsilon: float, width: int = 64, *, set_size: int, kind: type[Mechanism]) -> None:
        self.kind = kind
        self.name = kind.name  # type: ignore[misc]  # every instance is named after the mechanism that it samples for
        self.exactly_pure = kind.exactly_pure  # type: ignore[misc]  # likewise
        super().__init__(size, epsilon, width, set_size=set_size)

    def configure(self) -> None:
        if self.kind is RandomizedResponse:
            elements = self.size + self.set_size
            self.inner: Mechanism = SampledResponse(
                elements, self.requested_epsilon, self.width, set_size=self.set_size
            )
        else:
            self.inner = self.kind(self.size + 1, self.requested_epsilon, self.width)

    @property
    def named_kind(self) -> type[Mechanism]:
        return self.kind

    def at_width(self, width: int) -> PaddingAndSampling:
        return type(self)(self.size, self.requested_epsilon, width, set_size=self.set_size, kind=self.kind)

    @property
    def p(self) -> Fraction:
        p, q = self.inner._exact_pair
        return q + (p - q) / self.set_size

    @property
    def q(self) -> Fraction:
        return self.inner._exact_pair[1]

    @property
    def ratio(self) -> Fraction:
        return self.p / self.q if self.kind is RandomizedResponse else self.inner.ratio

    @property
    def rounds(self) -> int:
        return self.inner.rounds

    @property
    def report_bits(self) -> int:
        return self.inner.report_bits

    def parameters(self) -> dict[str, int | str]:
        return self.inner.parameters()

    def randomize_sets(self, sets: ItemSets, source: Entropy) -> Rows:
        return self.inner.randomize(self.drawn(sets, source), source)

    def drawn(self, sets: ItemSets, source: Entropy) -> Indices:
        """The element that each user draws: the index of an item, or `size` and above for padding."""
        place = source.below(self.set_size, sets.users).astype(np.int64)
        longer = scaled(source.integers(sets.users), sets.sizes, self.width)
        place = np.where(sets.sizes > self.set_size, longer, place)
        padding = self.size + (place if self.kind is RandomizedResponse else 0 * place)
        padded = np.append(sets.items, 0)  # so that there is something to look up where a set is empty
        own = padded[np.minimum(sets.starts + place, sets.items.size)]
        return np.where(place < sets.sizes, own, padding)

    # The laws of a report hold whichever element it is about.

    @property
    def weight_law(self) -> WeightLaw | None:
        return self.inner.weight_law

    def weights(self, rows: Rows) -> Counts:
        return self.inner.weights(rows)

    def drawn_in(self, rows: Rows) -> Drawn | None:
        return self.inner.drawn_in(rows)

    @property
    def most_supported(self) -> int | None:
        most = self.inner.most_supported
        return None if most is None else min(most, self.size)

    def validate(self, rows: Rows) -> None:
        self.inner.validate(rows)

    def supports(self, rows: Rows, item: int) -> Flags:
        return self.inner.supports(rows, item)

    def count(self, rows: Rows) -> Counts:
        return self.inner.count(rows)[: self.size]

    def validate_counts(self, counts: Counts, n: int) -> None:
        total = exact_sum(counts)
        if self.kind is RandomizedResponse and total > n:
            raise FrequencyError(
                f"no reports can have these counts: they add up to {total}, and {n} reports support at most {n} items"
            )

    def channel_of(self, sets: list[OneSet]) -> Channel:
        inner = self.inner.channel()
        by_element = inner.probabilities

        def mixed(held: OneSet) -> tuple[Fraction, ...]:
            chances = self._chances(held)
            return tuple(
                sum((chance * by_element[element][report] for element, chance in chances.items()), Fraction(0))
                for report in range(len(inner.reports))
            )

        return Channel(inner.reports, tuple(mixed(held) for held in sets))

    def shuffled(self) -> Shuffled:
        """With `grr`, a report is in the padded set or not. With others, it tells no more than one of one element."""
        p, q = self.inner._exact_pair
        held, every = self.set_size, self.size + self.set_size
        if self.kind is RandomizedResponse:
            shared = Fraction(max(0, held - self.size), every)  # padding that is in every padded set
            three = Fraction(0) if self.size >= 2 * held else None
            return Shuffled.alike(two_levels(held * q + p - q, Fraction(held, every), shared, three, shared))
        pair = (p, q) if self.size >= held else self._exact_pair  # nothing held at all, against `held` items
        return Shuffled(self.inner.shuffled().upper, (told_by_flag(*pair, pair[1]),))

    def _chances(self, held: OneSet) -> dict[int, Fraction]:
        """The exact probability with which each element of a padded set is drawn."""
        items, size = checked_held(held), len(held)
        if size > self.set_size:
            return dict(zip(items, chances_of_places(size, self.width), strict=True))
        chances = {item: Fraction(1, self.set_size) for item in items}
        if self.kind is RandomizedResponse:
            return chances | {self.size + place: Fraction(1, self.set_size) for place in range(size, self.set_size)}
        return chances | {self.size: Fraction(self.set_size - size, self.set_size)}

    def _equality_key(self) -> tuple[object, ...]:
        return (*super()._equality_key(), self.kind)

    @property
    def _count_work(self) -> int:
        return self.inner._count_work
