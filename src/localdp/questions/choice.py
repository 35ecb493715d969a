"""One of a list: everybody holds one item."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from localdp.domain import Domain
from localdp.held import Held, OneEach
from localdp.items import Item
from localdp.questions.base import NO_ANSWER, Question, Words


class Choice(Question):
    """Which one of these items? `items` is a list, a number of items or a `Domain`.

    `other` names a catch-all item, which stands for every value that is not listed.

    >>> Choice(["tea", "coffee"], other="something else").read(["coffee", "cocoa"]).items.tolist()
    [1, 2]
    """

    name = "choice"
    words = Words(answer="one item", example="'tea'")
    layout = "items"

    def __init__(self, items: Domain | int | Iterable[Item], other: Item | None = None) -> None:
        self.cells = domain_with(items, other)
        self._freeze()

    def read(self, values: Any) -> Held:
        return OneEach(self.cells.indices(values))

    def read_one(self, value: Any) -> tuple[int, ...]:
        return (self.cells.index(value),)

    def taking_everything(self) -> Question:
        return self if self.takes_everything else Choice(with_one_more(self.cells))

    def details(self) -> dict[str, Any]:
        return self.cells.to_json()

    @classmethod
    def from_details(cls, details: dict[str, Any]) -> Self:
        return cls(Domain.from_json(details))

    def document(self) -> dict[str, Any]:
        return {"domain": self.details()}  # as plans had it before there were other questions


def domain_with(items: Domain | int | Iterable[Item], other: Item | None) -> Domain:
    """The items as a domain, with this catch-all if one is given."""
    if not isinstance(items, Domain):
        return Domain(items, other)
    if other is None:
        return items
    return Domain(items.size if isinstance(items.items, range) else items.items, other)


def with_one_more(cells: Domain) -> Domain:
    """These cells and a catch-all, the last one, for people who do not answer.

    >>> with_one_more(Domain(["yes", "no"]))
    Domain(['yes', 'no', 'no answer'], 3 items, other='no answer')
    """
    if isinstance(cells.items, range):
        return Domain(cells.size + 1, cells.size)
    label = NO_ANSWER
    while label in cells.items:
        label = f"({label})"
    return Domain(cells.items, label)
