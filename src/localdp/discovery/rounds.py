"""One round of a discovery: an ordinary plan over numbered cells, and the list of candidates that gives them meaning.

The plan alone does not tell which prefix a cell stands for. So devices get the document of the round, in canonical
JSON: the fingerprint of the discovery, the number of the round, the span of places that is asked, the candidates in
hexadecimal, and the plan. Its own fingerprint is the SHA-256 of that text. Whoever counts reports says under which
round they were made, and another round's reports are refused although their plan may be the same.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from localdp.discovery.codes import Code
from localdp.discovery.prefixes import Candidates
from localdp.discovery.question import Unlisted
from localdp.errors import InvalidInputError, PlanError
from localdp.plan import Plan
from localdp.studies import series
from localdp.studies.places import PLACES, Span

_SMALL = 1 << 12  # cells: up to here every mechanism is compared, beyond it llh is the one that can be counted


class Round(series.Round):
    """A round that is under way: its `number` (from 0), its `candidates`, the `plan` under which devices report, and
    the `span` of places that devices have which are asked. The `code` of the discovery, which is not in the document,
    is needed to read values.

    >>> from localdp import Discovery
    >>> question = Discovery(bits=16, epsilon=2.0, users=10_000).round
    >>> question.number, question.plan.domain.size
    (0, 65537)
    >>> Round.from_json(question.to_json()) == question
    True
    """

    format = "localdp-round/1"
    of = "discovery"

    def __init__(
        self, discovery: str, number: int, candidates: Candidates, plan: Plan, span: Span, code: Code | None = None
    ) -> None:
        self.discovery = discovery
        self.number = number
        self.candidates = candidates
        self.plan = plan
        self.span = span
        self.code = code
        if plan.domain.size != candidates.cells or plan.domain.other != candidates.cells - 1:
            raise PlanError("the plan of this round does not have a cell for each of its candidates and a catch-all")
        if code is not None and len(code.known) != candidates.known:
            raise PlanError("this round does not have a cell for each of the values that its discovery knows")
        self._freeze()

    @classmethod
    def make(
        cls,
        discovery: str,
        number: int,
        candidates: Candidates,
        epsilon: float,
        span: Span,
        code: Code | None = None,
    ) -> Self:
        """The round of a discovery with these candidates."""
        size = candidates.cells
        plan = Plan(size, "auto" if size <= _SMALL else "llh", epsilon, other=size - 1)
        return cls(discovery, number, candidates, plan, span, code)

    @cached_property
    def question(self) -> Unlisted:
        if self.code is None:
            raise InvalidInputError("this round was read without its discovery, which knows how values are written")
        return Unlisted(self.code, self.candidates)

    def document(self) -> dict[str, Any]:
        return {
            "format": self.format,
            "discovery": self.discovery,
            "round": self.number,
            "from": self.span.first,
            "to": self.span.end,
            **self.candidates.document(),
            "plan": self.plan._document(),
        }

    @classmethod
    def from_json(
        cls,
        text: str | bytes,
        *,
        most_epsilon: float | None = None,
        most_report_bytes: int | None = None,
        code: Code | None = None,
    ) -> Self:
        """Read a round that `to_json` wrote. Anything else is a `PlanError`.

        A device gives `most_epsilon` and `most_report_bytes`: a round that asks for more is a `PlanLimitError`.
        """
        return cls._read(text, most_epsilon, most_report_bytes, code=code)

    @classmethod
    def _from_document(cls, document: dict[str, Any], plan: Plan, **known: Any) -> Self:
        study, number = cls._study_in(document, "discovery"), document["round"]
        first, end = document["from"], document["to"]
        whole = type(first) is int and type(end) is int
        if not whole or not 0 <= number <= 1 << 16 or not 0 <= first < end <= PLACES:
            raise ValueError("its numbers are impossible")
        return cls(study, number, Candidates.from_document(document), plan, Span(first, end), **known)

    def __repr__(self) -> str:
        known = self.candidates
        return (
            f"<Round {self.number}: {len(known.open):,} prefixes of {known.position} bits to extend by {known.bits}, "
            f"{len(known.finished):,} values, {self.plan.mechanism.name} on {known.cells:,} cells>"
        )


def first_candidates(code: Code, bits: int) -> Candidates:
    """The candidates of the first round: the empty prefix."""
    opened, finished = (np.zeros((count, code.row_bytes), np.uint8) for count in (1, 0))
    return Candidates(0, bits, opened, finished, len(code.known))
