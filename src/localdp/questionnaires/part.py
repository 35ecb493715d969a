"""A part of a questionnaire: one question, or two that are crossed, asked of a share of the people."""

from __future__ import annotations

from typing import Any

from localdp.plan import Plan
from localdp.plan.part_key import PartKey
from localdp.questionnaires.asked import Asked
from localdp.questions import Question
from localdp.studies.part import Part
from localdp.studies.places import Span

BETWEEN = ","
"""What stands between the names of two crossed questions in the key of their part."""


class QuestionPart(Part):
    """One part. Its document is that of its plan, which names the questionnaire and the part."""

    def __init__(
        self, study: str, form: dict[str, Question], names: tuple[str, ...], mechanism: str, epsilon: float, span: Span
    ) -> None:
        self.names, self.span = names, span
        self._question = Asked(form, names)
        cells: Any = self._question.asked[0] if len(names) == 1 else self._question.cells
        self.plan = Plan(cells, mechanism, epsilon, part=PartKey(study, self.key))
        self._freeze()

    @property
    def key(self) -> str:
        return BETWEEN.join(self.names)

    @property
    def question(self) -> Asked:
        return self._question

    def document(self) -> dict[str, Any]:
        return self.plan._document()

    def __repr__(self) -> str:
        return f"<Part {self.key}: {self.span.share:.1%} of the people, {self.plan.mechanism!r}>"
