"""Which part of a study asks a device: its place is drawn once, and every part asks a span of places of its own.

Places are the whole numbers below some size, all equally likely. Spans of different parts have no place in common, so a
device answers one part at most. Whoever runs a study may choose how long the next span is when they know what the parts
before have shown of other people; the place of a device never depends on its value, so which part it answers says
nothing about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from localdp.randomness.keystream import Entropy
from localdp.types import Flags, Indices

PLACES = 1 << 20


@dataclass(frozen=True)
class Places:
    """The places of a study: the whole numbers below `size`. A device derives the key of its draw with the `label`.

    >>> from localdp.randomness.keystream import seeded
    >>> Places().draw(3, seeded(1)).tolist()
    [631112, 445930, 926688]
    """

    size: int = PLACES
    label: str = "place"

    def draw(self, users: int, source: Entropy) -> Indices:
        """The place of each user."""
        return source.below(self.size, users).astype(np.int64)

    @property
    def everybody(self) -> Span:
        """The span of all places."""
        return Span(0, self.size, self.size)


@dataclass(frozen=True)
class Span:
    """The places from `first` up to `end`, without `end` itself; `of` is the number of all places of the study."""

    first: int
    end: int
    of: int = PLACES

    @property
    def share(self) -> float:
        """The share of the users that has one of these places."""
        return (self.end - self.first) / self.of

    def holds(self, places: Indices) -> Flags:
        """Whether each place belongs to the span."""
        return np.asarray((places >= self.first) & (places < self.end))

    def __contains__(self, place: int | None) -> bool:
        return place is not None and self.first <= place < self.end


def spans(shares: Sequence[int]) -> Iterator[Span]:
    """Spans one after the other that have these shares, with as many places as the shares add up to.

    >>> [(span.first, span.end, span.share) for span in spans((3, 1))]
    [(0, 3, 0.75), (3, 4, 0.25)]
    """
    for first, end in pairwise(accumulate(shares, initial=0)):
        yield Span(first, end, sum(shares))
