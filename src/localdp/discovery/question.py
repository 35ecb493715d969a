"""The question of a discovery's round: a person's value is read as the cell of the candidate that it begins with."""

from __future__ import annotations

from typing import Any, Self

from localdp.discovery.codes import Code, code_named
from localdp.discovery.prefixes import Candidates
from localdp.domain import Domain
from localdp.held import Held, OneEach
from localdp.questions import Question, Words


class Unlisted(Question):
    """Any text, or any key, that nobody listed. What no candidate covers is the catch-all, the last cell.

    >>> from localdp import Discovery
    >>> question = Discovery(bits=16, epsilon=2.0, users=10_000).round.question
    >>> question.read([12_345, 1 << 16, None]).items.tolist()
    [12345, 65536, 65536]
    """

    name = "unlisted"
    words = Words(answer="a value that nobody listed", example="'tea'")

    def __init__(self, code: Code, candidates: Candidates) -> None:
        self.code, self.candidates = code, candidates
        self.cells = Domain(candidates.cells, candidates.cells - 1)
        self._freeze()

    def read(self, values: Any) -> Held:
        return OneEach(self.candidates.indices(self.code.encode(values)))

    def typed(self, text: str) -> str | int | None:
        return self.code.typed(text)

    def details(self) -> dict[str, Any]:
        return {"values": self.code.document(), **self.candidates.document()}

    @classmethod
    def from_details(cls, details: dict[str, Any]) -> Self:
        return cls(code_named(details["values"]), Candidates.from_document(details))
