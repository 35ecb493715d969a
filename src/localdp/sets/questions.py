"""What the rounds of a survey of sets ask: how many items a person holds, and which; or the same of candidates."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from typing import Any, Self

from localdp.domain import Domain
from localdp.formats import canonical_json
from localdp.held import Held, OneEach
from localdp.item_sets import ItemSets
from localdp.items import Item
from localdp.questions import Choices, Question, Words
from localdp.sets.candidates import Itemset, held
from localdp.sets.sizes import SizeClasses

Candidates = tuple[Itemset, ...]


class OfSet(Question):
    """A question about the set that a person holds, out of `domain`; with `candidates`, about those of them it covers.

    The cells of no two questions are the same, and neither are those of two lists of candidates: their labels hold a
    digest.
    """

    words = Words(answer="a set of items", example="['tea', 'milk']")

    def __init__(self, domain: Domain, candidates: Candidates | None) -> None:
        self.domain, self.candidates = domain, candidates
        self.cells = self._cells()
        self._freeze()

    @abstractmethod
    def _cells(self) -> Domain:
        """What is counted."""

    def sets(self, values: Any) -> ItemSets:
        """What each person holds of what is asked for: their items, or the numbers of the candidates.

        `values` has a list of items for each person, or is `ItemSets`.
        """
        sets = ItemSets.read(values, self.domain)
        return sets if self.candidates is None else held(self.candidates, sets)

    def typed(self, text: str) -> list[Item]:
        return Choices(self.domain).typed(text)

    def total(self, n: int) -> int | None:  # noqa: ARG002 (people hold as many items as they like)
        return None

    def details(self) -> dict[str, Any]:
        listed = None if self.candidates is None else [list(itemset) for itemset in self.candidates]
        return {"domain": self.domain.to_json(), "candidates": listed}

    @classmethod
    def from_details(cls, details: dict[str, Any]) -> Self:
        given = details["candidates"]
        candidates = None if given is None else tuple(tuple(itemset) for itemset in given)
        return cls(Domain.from_json(details["domain"]), candidates)

    @property
    def _digest(self) -> str:
        """What tells these candidates from others."""
        listed = [list(itemset) for itemset in self.candidates or ()]
        return hashlib.sha256(canonical_json.dumps(listed).encode()).hexdigest()[:12]


class Sizes(OfSet):
    """How many of the items, or of the candidates, do you hold? The cells are classes of sizes.

    >>> Sizes(Domain(["tea", "milk", "bread"]), None).read([["milk", "tea"], []]).items.tolist()
    [2, 0]
    """

    name = "set-sizes"

    def _cells(self) -> Domain:
        what = "items" if self.candidates is None else f"candidates of {self._digest}"
        return Domain(self.classes.labels(what))

    @property
    def classes(self) -> SizeClasses:
        """The classes of sizes."""
        return SizeClasses.up_to(self.domain.size if self.candidates is None else len(self.candidates))

    def total(self, n: int) -> int | None:
        return n

    def read(self, values: Any) -> Held:
        return OneEach(self.classes.of(self.sets(values).sizes))


class Members(OfSet):
    """Which of the items, or of the candidates, do you hold?

    >>> Members(Domain(["tea", "milk", "bread"]), ((0, 1), (2,))).read([["milk", "tea"], []]).items.tolist()
    [0]
    """

    name = "set-members"

    def _cells(self) -> Domain:
        if self.candidates is None:
            return Domain(self.domain.size)
        return Domain([f"candidate {number} of {self._digest}" for number in range(len(self.candidates))])

    def read(self, values: Any) -> Held:
        return self.sets(values)
