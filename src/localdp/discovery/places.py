"""Which round a device answers: its place is drawn once, and every round asks a span of places of its own.

Places are the whole numbers below `PLACES`, all equally likely. Spans of different rounds have no place in common, so a
device answers one round at most. The server chooses how long the next span is when it knows what the rounds before have
shown of other users; the place of a device never depends on its value, so which round it answers says nothing about it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localdp.randomness.keystream import Entropy
from localdp.types import Flags, Indices

PLACES = 1 << 20


def draw(users: int, source: Entropy) -> Indices:
    """The place of each user.

    >>> from localdp.randomness.keystream import seeded
    >>> draw(3, seeded(1)).tolist()
    [631112, 445930, 926688]
    """
    return source.below(PLACES, users).astype(np.int64)


@dataclass(frozen=True)
class Span:
    """The places from `first` up to `end`, without `end` itself."""

    first: int
    end: int

    @property
    def share(self) -> float:
        """The share of the users that has one of these places."""
        return (self.end - self.first) / PLACES

    def holds(self, places: Indices) -> Flags:
        """Whether each place belongs to the span."""
        return np.asarray((places >= self.first) & (places < self.end))
