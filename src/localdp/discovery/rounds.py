"""One round of a discovery: an ordinary plan over numbered cells, and the list of candidates that gives them meaning.

The plan alone does not tell which prefix a cell stands for. So devices get the document of the round, in canonical
JSON: the fingerprint of the discovery, the number of the round, the span of places that is asked, the candidates in
hexadecimal, and the plan. Its own fingerprint is the SHA-256 of that text. Whoever counts reports says under which
round they were made, and another round's reports are refused although their plan may be the same.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any, Self

import numpy as np

from localdp.discovery.codes import Code
from localdp.discovery.prefixes import Candidates
from localdp.discovery.question import Unlisted
from localdp.errors import InvalidInputError, LocalDPError, PlanError
from localdp.formats import canonical_json
from localdp.plan import Plan
from localdp.studies import series
from localdp.studies.places import PLACES, Span

_FORMAT = "localdp-round/1"
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
            "format": _FORMAT,
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
        try:
            document = canonical_json.loads(text)
            plan = Plan.from_json(
                canonical_json.dumps(document["plan"]), most_epsilon=most_epsilon, most_report_bytes=most_report_bytes
            )
            _check_numbers(document)
            candidates = Candidates.from_document(document)
            span = Span(document["from"], document["to"])
            made = cls(document["discovery"], document["round"], candidates, plan, span, code)
            same = made.to_json() == canonical_json.dumps(document)
        except LocalDPError:
            raise
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
            raise PlanError("this is not a round of a discovery: it is not text in JSON") from None
        except (KeyError, TypeError, ValueError, AttributeError):
            raise PlanError(f'this is not a round of a discovery: it is not a document "{_FORMAT}"') from None
        if not same:
            raise PlanError("this round was altered, or its candidates are not in order")
        return made

    def __repr__(self) -> str:
        known = self.candidates
        return (
            f"<Round {self.number}: {len(known.open):,} prefixes of {known.position} bits to extend by {known.bits}, "
            f"{len(known.finished):,} values, {self.plan.mechanism.name} on {known.cells:,} cells>"
        )


def first_candidates(code: Code, bits: int) -> Candidates:
    """The candidates of the first round: the empty prefix."""
    return Candidates(0, bits, np.zeros((1, code.row_bytes), np.uint8), np.zeros((0, code.row_bytes), np.uint8))


def _check_numbers(document: dict[str, Any]) -> None:
    number, first, end = document["round"], document["from"], document["to"]
    if any(type(given) is not int for given in (number, first, end)) or document["format"] != _FORMAT:
        raise ValueError
    if not 0 <= number <= 1 << 16 or not 0 <= first < end <= PLACES:
        raise ValueError
    if not isinstance(document["discovery"], str) or len(bytes.fromhex(document["discovery"])) != 32:
        raise ValueError
