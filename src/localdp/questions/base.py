"""The base class of questions: what is counted, what a person may answer, and how the result is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from localdp.domain import Domain
from localdp.errors import InvalidInputError
from localdp.frozen import Frozen
from localdp.held import Held
from localdp.items import typed

if TYPE_CHECKING:
    from localdp.estimate.calibrated import Calibrated
    from localdp.structures import Structure


@dataclass(frozen=True)
class Words:
    """What the parts of a question are called in errors, in help and on pages."""

    answer: str
    """What one person answers: "one item", "one set of items"."""
    example: str
    """Such an answer, as it is written in Python."""


NO_ANSWER = "no answer"
"""What the cell of people who do not answer is called, unless an item has this name."""


class Question(Frozen, ABC):
    """What is asked. `cells` are what is counted; a person's answer is one or several of them.

    An author of a kind of question sets `name` and `words`, sets `cells` in `__init__` and calls `_freeze()` last, and
    writes `read`, `details` and `from_details`. The other methods have defaults for questions that everybody answers
    with one cell. Kinds that are not of this library are made known by `localdp.questions.register`.
    """

    name: ClassVar[str]
    """The name of this kind, in the documents of plans."""
    words: ClassVar[Words]
    cells: Domain

    # What an author writes.

    @abstractmethod
    def read(self, values: Any) -> Held:
        """The cells of people who gave these answers, one answer for each person."""

    @abstractmethod
    def details(self) -> dict[str, Any]:
        """What makes this question anew, as a JSON value: `from_details` reads it."""

    @classmethod
    @abstractmethod
    def from_details(cls, details: dict[str, Any]) -> Self:
        """The question with these details. They come from elsewhere, so check them before doing any work."""

    # What an author may replace.

    def read_one(self, value: Any) -> tuple[int, ...]:
        """The cells of one person, in ascending order."""
        return tuple(self.read([value]).items.tolist())

    layout: ClassVar[str] = "values"
    """How answers stand in the column of a file: "values" for `read`, "items", or "sets" of items."""

    def typed(self, text: str) -> Any:
        """The answer that somebody typed."""
        return typed(text, self.cells.items)

    @property
    def takes_everything(self) -> bool:
        """Whether every value has a cell. If not, staying silent tells that a value has none."""
        return self.cells.other is not None

    def taking_everything(self) -> Question:
        """This question, if every value has a cell; otherwise the same with one more cell, the last, for the others."""
        if self.takes_everything:
            return self
        raise InvalidInputError(
            f"{self!r} has no cell for people who do not answer: give it one, such as other='no answer'"
        )

    def total(self, n: int) -> int | None:
        """The sum of the frequencies of all cells among n people; None if it is not known."""
        return n

    @property
    def structure(self) -> Structure | None:
        """How the cells belong together, if that is known: `calibrate()` uses it unless it is told otherwise."""
        return None

    def options(self) -> dict[str, Any]:
        """What mechanisms for this question are made with, besides the number of cells and epsilon."""
        return {}

    def result(self, calibrated: Calibrated) -> Calibrated:
        """The calibrated frequencies of the cells, as people read them."""
        return calibrated

    def describe(self, where: str = "") -> str:
        """What a person answers with, for people who make plans; `where` says in brackets where the items are from."""
        return f"{self.cells.size:,} items{where}"

    # What is derived.

    def document(self) -> dict[str, Any]:
        """The part of a plan's document that describes the question."""
        return {"question": {"name": self.name, **self.details()}}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.document() == other.document()

    def __hash__(self) -> int:
        return hash((type(self), self.cells))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.describe()}>"
