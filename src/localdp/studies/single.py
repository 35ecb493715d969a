"""One plan as a study: everybody is asked the same, perhaps again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from localdp.errors import InvalidInputError, PlanMismatchError
from localdp.plan import Plan
from localdp.plan.limits import Limits
from localdp.plan.part_key import PartKey
from localdp.questions import Question
from localdp.studies.part import Part
from localdp.studies.places import Places
from localdp.studies.study import NO_LIMITS, Study
from localdp.studies.tally import Tally

if TYPE_CHECKING:
    from localdp.estimate.calibrated import Calibrated


class Whole(Part):
    """The only part of such a study. Its document and its fingerprint are those of the plan."""

    key = ""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.span = plan, Places().everybody
        self._freeze()

    @property
    def question(self) -> Question:
        return self.plan.question

    def document(self) -> dict[str, Any]:
        return self.plan._document()

    def __repr__(self) -> str:
        return f"<All of {self.plan!r}>"


class Single(Study):
    """A study that counts one plan. Its document and its fingerprint are those of the plan.

    >>> study = Single(Plan(["tea", "coffee"], epsilon=4.0))
    >>> (part,) = study.parts()
    >>> reports = part.privatize(["tea"] * 900 + ["coffee"] * 100, seed=1)
    >>> study.result(Tally().counting(part, part.aggregate(reports))).frequencies.round(-1).tolist()
    [900.0, 100.0]
    """

    kind = what = title = "plan"
    asks_again = True
    done = False

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.epsilon = plan.mechanism.epsilon
        self._part = Whole(plan)
        self._freeze()

    def document(self) -> dict[str, Any]:
        return self.plan._document()

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        return cls(Plan._from_document(document))

    @classmethod
    def from_json(cls, text: str | bytes, limits: Limits = NO_LIMITS) -> Self:
        return cls(
            Plan.from_json(
                text,
                most_epsilon=limits.most_epsilon,
                most_report_bytes=limits.most_report_bytes,
                most_items=limits.most_items,
                needs_other=limits.needs_other,
            )
        )

    def to_json(self) -> str:
        return self.plan.to_json()

    def parts(self) -> tuple[Part, ...]:
        return (self._part,)

    def read_part(self, text: str | bytes, limits: Limits) -> Part:
        if type(self).from_json(text, limits).plan != self.plan:
            raise PlanMismatchError("this is another plan")
        return self._part

    def advance(self, tally: Tally) -> Self:  # noqa: ARG002 (there is nothing after the plan)
        return self

    def result(self, tally: Tally | None = None) -> Calibrated:
        """The calibrated frequencies of the plan's items."""
        if tally is None:
            raise InvalidInputError("a plan has a result when its reports are counted: give result(tally)")
        return tally.of(self._part).estimate().calibrate()

    def named(self, name: str) -> Self:
        """The same plan as a part with this name of the plan as it is: with another key, so it is another plan."""
        key = PartKey(self.fingerprint, name)
        return type(self).from_document({**self.document(), "part": key.document()})

    def read_by_people(self) -> tuple[Any, ...]:
        return tuple(self.plan.domain.items)

    def typed(self, text: str) -> Any:
        return self.plan.question.typed(text)

    def check_limits(self, limits: Limits) -> None:
        limits.check_question(self.plan.question)
        limits.check(self.plan.mechanism)

    def __repr__(self) -> str:
        return f"<Single {self.plan!r}>"


def part_of(asked: Any) -> Part:
    """A part as it is, and a plan as the only part of its study."""
    if isinstance(asked, Part):
        return asked
    if not isinstance(asked, Plan):
        raise InvalidInputError(f"expected a plan, or a part of a study, not {type(asked).__name__}")
    return Whole(asked)
