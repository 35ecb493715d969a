"""PART: what is counted in a study. A plan, a question that reads people's values into its cells, and who is asked.

Devices get the document of a part in canonical JSON. Its fingerprint is the SHA-256 of that text. It says under which
document a report was made: two rounds may have equal plans, and still are never counted together. (Parts that are open
at the same time have different plans too, by `localdp.plan.part_key`.)
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

from localdp.formats import canonical_json
from localdp.frozen import Frozen
from localdp.plan import Aggregate, Plan, Reports
from localdp.questions import Question
from localdp.studies.places import Span
from localdp.types import Progress


class Part(Frozen, ABC):
    """One part: its `key` within its study, the `plan` under which devices report, and the `span` that is asked.

    Two parts with the same document are equal.
    """

    plan: Plan
    span: Span

    @property
    @abstractmethod
    def key(self) -> str:
        """What tells it apart from the other parts of its study."""

    @property
    @abstractmethod
    def question(self) -> Question:
        """What a person is asked: it reads a value into the cells of the plan."""

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """What devices need, as a JSON value."""

    def to_json(self) -> str:
        """The document that devices need, as canonical JSON."""
        return self._text

    @cached_property
    def _text(self) -> str:
        return canonical_json.dumps(self.document())

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the part's document, in hex."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def privatize(self, values: Any, *, seed: int | None = None, progress: Progress | None = None) -> Reports:
        """One report for each of these people, who are all asked.

        With a seed the reports are reproducible but not private: use it for simulations only.
        """
        return self.plan.privatize_held(self.question.read(values), seed=seed, progress=progress)

    def aggregate(self, reports: Reports, *, progress: Progress | None = None) -> Aggregate:
        """Count, for each cell, the reports that support it."""
        return self.plan.aggregate(reports, progress=progress)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)
