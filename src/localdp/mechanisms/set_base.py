"""The base class of mechanisms for users who hold sets: what an author writes, and what follows from it.

An author of such a mechanism writes `randomize_sets` and `channel_of` where others write `randomize` and `channel`.
p* and q* speak of sets with at most `set_size` items; a larger set counts for less, and its items are drawn from.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any, Self

import numpy as np

from localdp.domain import checked_indices
from localdp.errors import InvalidInputError
from localdp.held import Held
from localdp.item_sets import ItemSets
from localdp.mechanisms.channel import Channel
from localdp.mechanisms.pure import PureMechanism
from localdp.randomness.keystream import Entropy
from localdp.types import Counts, Indices, Progress, Rows, Words
from localdp.validation import checked_amount

MOST_ELEMENTS = 1 << 16
"""The largest set size."""

OneSet = tuple[int, ...]
"""The indices of the items that one user holds, in ascending order."""


def checked_set_size(set_size: int, most: int = MOST_ELEMENTS) -> int:
    """The number of items that a user may hold, if it is a whole number from 1 to `most`."""
    return checked_amount(set_size, most, "set_size, the number of items that a user may hold,")


class SetMechanism(PureMechanism):
    """Encode and perturb a set of items. Sets are treated alike as long as they have at most `set_size` items."""

    holds_sets = True
    most_elements = MOST_ELEMENTS

    def __init__(self, size: int, epsilon: float, width: int = 64, *, set_size: int) -> None:
        self.set_size = checked_set_size(set_size, self.most_elements)
        super().__init__(size, epsilon, width)

    @abstractmethod
    def randomize_sets(self, sets: ItemSets, source: Entropy) -> Rows:
        """One report for each user's set.

        The randomness drawn and the lines executed must not depend on the sets.
        """

    @abstractmethod
    def channel_of(self, sets: list[OneSet]) -> Channel:
        """The exact probability of every report, for each of these sets."""

    def options(self) -> dict[str, Any]:
        return {"set_size": self.set_size}

    @classmethod
    def examples(cls, size: int, epsilon: float) -> Iterator[Self]:
        yield cls(size, epsilon, set_size=2)  # `check_sets` tries other sizes too

    def privatize_sets(self, sets: ItemSets, source: Entropy, *, progress: Progress | None = None) -> Rows:
        """One report for each user's set: calls `randomize_sets` on chunks of users, on all processors."""
        # Compiled loops would write out of bounds, and a repeated item would reveal more than epsilon. So both are
        # checked on a copy that nobody changes afterwards; making the copy checks that every user has a set.
        held = ItemSets(checked_indices(sets.items.copy(), self.size), sets.sizes.astype(np.int64))
        starts = np.append(held.starts, held.items.size)

        def randomize(users: Indices, stream: Entropy) -> Rows:
            first, end = int(users[0]), int(users[-1]) + 1
            part = ItemSets(held.items[starts[first] : starts[end]], held.sizes[first:end])
            return self.randomize_sets(part, stream)

        return self._in_chunks(randomize, np.arange(held.users), source, progress)

    def answer(self, held: Held, source: Entropy, *, progress: Progress | None = None) -> Rows:
        return self.privatize_sets(ItemSets(held.items, held.sizes), source, progress=progress)

    def respond(self, held: Held, source: Entropy) -> Rows:
        return self.answer(held, source)

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        """Reports of users who hold one item each."""
        return self.randomize_sets(ItemSets(values, np.ones(values.size, np.int64)), source)

    def channel(self) -> Channel:
        """The exact probabilities of all reports of users who hold one item each."""
        return self.channel_of([(item,) for item in range(self.size)])

    def simulate(self, frequencies: Counts, seed: int | None) -> Counts:  # noqa: ARG002 (it refuses)
        raise InvalidInputError(
            "how many users hold each item does not say which items they hold together, so sets cannot be simulated "
            "from frequencies: make the sets, and privatize them with a seed"
        )

    def __repr__(self) -> str:
        return (
            f"<{self.name} on sets of up to {self.set_size} of {self.size} items, epsilon {self.epsilon:.6g}, "
            f"{self.report_bits}-bit reports>"
        )


def checked_held(held: OneSet) -> list[int]:
    """The items of one set in ascending order, for laws that are computed from them."""
    items = sorted(held)
    if len(set(items)) < len(items):
        raise InvalidInputError("an item is in a set twice")
    return items


def scaled(words: Words, sizes: Indices, width: int) -> Indices:
    """floor(word * size / 2^width), exactly. The product of two numbers of up to 64 bits does not fit into 64."""
    low, sizes = np.uint64(2**32 - 1), sizes.astype(np.uint64)
    if width <= 32:
        return (words * sizes >> np.uint64(width)).astype(np.int64)
    lower = (words & low) * sizes
    upper = (words >> np.uint64(32)) * sizes + (lower >> np.uint64(32))  # the product without its lowest 32 bits
    return (upper >> np.uint64(width - 32)).astype(np.int64)


def chances_of_places(size: int, width: int) -> list[Fraction]:
    """The exact probability of each place in a set of this size, if `scaled` draws it."""
    ends = [-(-place * 2**width // size) for place in range(size + 1)]
    return [Fraction(end - start, 2**width) for start, end in pairwise(ends)]
