"""Several of a list: everybody holds a set of items, perhaps an empty one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from localdp.domain import Domain
from localdp.held import Held
from localdp.item_sets import ItemSets
from localdp.items import Item, typed
from localdp.mechanisms.set_base import checked_set_size
from localdp.questions.base import Question, Words
from localdp.questions.choice import domain_with, with_one_more


class Choices(Question):
    """Which of these items? Estimates are right if nobody holds more than `most` of them; a larger set counts for less.

    >>> Choices(["tea", "milk", "bread"], most=2).read([["milk", "tea"], []]).sizes.tolist()
    [2, 0]
    """

    name = "choices"
    words = Words(answer="one set of items", example="['tea', 'milk']")
    layout = "sets"

    def __init__(self, items: Domain | int | Iterable[Item], most: int = 4, other: Item | None = None) -> None:
        self.cells = domain_with(items, other)
        self.most = checked_set_size(most)
        self._freeze()

    def read(self, values: Any) -> Held:
        return ItemSets.read(values, self.cells)

    def taking_everything(self) -> Question:
        return self if self.takes_everything else Choices(with_one_more(self.cells), self.most)

    def typed(self, text: str) -> list[Item]:
        return [typed(part.strip(), self.cells.items) for part in text.split(";") if part.strip()]

    def total(self, n: int) -> int | None:  # noqa: ARG002 (people hold as many items as they like)
        return None

    def options(self) -> dict[str, Any]:
        return {"set_size": self.most}

    def describe(self, where: str = "") -> str:
        return f"{super().describe(where)}, sets of up to {self.most} of them"

    def details(self) -> dict[str, Any]:
        return {**self.cells.to_json(), "most": self.most}

    @classmethod
    def from_details(cls, details: dict[str, Any]) -> Self:
        cells = {name: value for name, value in details.items() if name != "most"}
        return cls(Domain.from_json(cells), details["most"])

    def document(self) -> dict[str, Any]:
        return {"domain": self.cells.to_json(), "set_size": self.most}  # as plans had it before
