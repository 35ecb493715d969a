"""A questionnaire: a study whose parts are its questions and their crossings, all asked at the same time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from localdp.errors import InvalidInputError, PlanMismatchError
from localdp.plan import Aggregate, Plan
from localdp.plan.limits import Limits
from localdp.questionnaires import design
from localdp.questionnaires.aggregate import QuestionnaireAggregate
from localdp.questionnaires.asked import Asked, read_all
from localdp.questionnaires.columns import checked_columns
from localdp.questionnaires.given import Names, check_asked, checked_crossings, checked_questions, checked_text
from localdp.questionnaires.part import BETWEEN, QuestionPart
from localdp.questionnaires.reports import QuestionnaireReports, read_batches
from localdp.questions import Question, question_in
from localdp.randomness import keystream
from localdp.studies.part import Part
from localdp.studies.places import spans
from localdp.studies.study import Study
from localdp.studies.tally import Tally
from localdp.types import Progress
from localdp.validation import checked_epsilon, checked_users, shown

if TYPE_CHECKING:
    from localdp.questionnaires.result import QuestionnaireResult


class Questionnaire(Study):
    """Several questions, of which every person answers one, or two that are crossed, and spends epsilon once.

    `questions` has a question for each name: `Choice(items)` or another kind. `cross` lists the pairs of questions
    whose tables you want to read, such as `[("diet", "age")]`; with "all", every pair. `users` is about how many people
    will take part: with it, the share of the people that answers each part is chosen so that the expected error of all
    tables is smallest, and `why` says how. `name` distinguishes questionnaires that are otherwise alike.

    Which part a device answers is drawn without looking at its answers. Somebody who skips a question, or gives an
    answer that is not listed, is counted as "no answer", or as the question's `other` if it has one.

    >>> from localdp import Choice
    >>> diets, ages = Choice(["vegan", "vegetarian", "any"]), Choice(["young", "old"])
    >>> survey = Questionnaire({"diet": diets, "age": ages}, epsilon=2.0, cross=[("diet", "age")])
    >>> [part.key for part in survey.parts()]
    ['diet', 'age', 'diet,age']
    >>> answers = {"diet": ["vegan"] * 300 + ["any"] * 700, "age": ["young"] * 600 + ["old"] * 400}
    >>> survey.aggregate(survey.privatize(answers)).n
    1000
    """

    kind = what = title = "questionnaire"
    done = False
    estimated_together = True

    def __init__(
        self,
        questions: Mapping[str, Question],
        epsilon: float,
        cross: str | Iterable[Iterable[str]] | None = None,
        *,
        users: int = design.USERS,
        name: str = "",
    ) -> None:
        self.questions = checked_questions(questions)
        self.epsilon = checked_epsilon(epsilon)
        self.name = checked_text(name, "the name of a questionnaire", least=0)
        crossed = checked_crossings(cross, self.questions)
        expected = checked_users(users)
        plans = {
            names: Plan(_asked(self.form, names), epsilon=self.epsilon)
            for names in (*((one,) for one in self.questions), *crossed)
        }
        sizes = {one: question.cells.size for one, question in self.form.items()}
        variances = {names: _variance(plan) for names, plan in plans.items()}
        shares = design.whole_shares(design.shares(sizes, variances, expected))
        self._asked = tuple((names, places, plans[names].mechanism.name) for names, places in shares.items())
        self._freeze()

    @classmethod
    def designed(
        cls,
        questions: Mapping[str, Question],
        epsilon: float,
        asked: tuple[tuple[Names, int, str], ...],
        name: str = "",
    ) -> Self:
        """A questionnaire whose parts are given: what each of them asks, its number of places, and its mechanism."""
        made = object.__new__(cls)
        made.questions, made.epsilon = checked_questions(questions), checked_epsilon(epsilon)
        made.name = checked_text(name, "the name of a questionnaire", least=0)
        check_asked(asked, made.questions)
        made._asked = asked
        made._freeze()
        return made

    @cached_property
    def form(self) -> dict[str, Question]:
        """The questions, each with a cell for people who do not answer."""
        return {name: question.taking_everything() for name, question in self.questions.items()}

    @cached_property
    def _parts(self) -> dict[str, QuestionPart]:
        asking = spans([places for _, places, _ in self._asked])
        made = [
            QuestionPart(self.fingerprint, self.form, names, mechanism, self.epsilon, span)
            for (names, _, mechanism), span in zip(self._asked, asking, strict=True)
        ]
        return {part.key: part for part in made}

    def parts(self) -> tuple[QuestionPart, ...]:
        return tuple(self._parts.values())

    def part(self, key: str | Iterable[str]) -> QuestionPart:
        """The part that asks one question, or the one that asks two: "diet", "diet,age" or ("diet", "age")."""
        wanted = key if isinstance(key, str) else BETWEEN.join(key)
        if wanted not in self._parts:
            raise InvalidInputError(
                f"this questionnaire has no part {wanted!r:.130}: it has {', '.join(map(repr, self._parts))!s:.300}"
            )
        return self._parts[wanted]

    @property
    def crossings(self) -> tuple[tuple[str, str], ...]:
        """The pairs of questions that are asked together."""
        return tuple((names[0], names[1]) for names, _, _ in self._asked if len(names) > 1)

    @property
    def why(self) -> str:
        """Which parts there are, and why they ask as many people as they do."""
        lines = [
            f"Every person answers 1 of {len(self._asked)} parts, drawn without looking at the answers.",
            f"That spends epsilon {self.epsilon:g} once. These shares make the expected error of all tables small:",
        ]
        for part in self.parts():
            how = "crossed" if len(part.names) > 1 else "alone"
            share, mechanism = part.span.share, part.plan.mechanism
            asked = f"{' and '.join(part.names)}, {how}"
            lines.append(f"- {asked}: {share:.1%} of the people, {mechanism.size:,} cells, {mechanism.name}")
        left = [name for name in self.questions if name not in self._parts]
        if left:
            lines.append(f"Not asked alone, because crossings tell enough: {', '.join(left)}.")
        return "\n".join(lines)

    def document(self) -> dict[str, Any]:
        return {
            "format": self.format(),
            "name": self.name,
            "epsilon": self.epsilon,
            "questions": [{"name": name, **question.document()} for name, question in self.questions.items()],
            "parts": [
                {"asks": list(names), "places": places, "mechanism": mechanism}
                for names, places, mechanism in self._asked
            ],
        }

    def read_by_people(self) -> tuple[Any, ...]:
        items = (item for question in self.questions.values() for item in question.cells.items)
        return (*self.questions, *items)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        questions = {}
        for one in document["questions"]:
            details = dict(one)
            questions[details.pop("name")] = question_in(details)
            checked_questions(questions)  # before the next one is made: together they may be too large
        asked = tuple((tuple(one["asks"]), one["places"], one["mechanism"]) for one in document["parts"])
        made = cls.designed(questions, document["epsilon"], asked, document["name"])
        made.parts()  # a mechanism that is not known here is refused now, not later
        return made

    def read_part(self, text: str | bytes, limits: Limits) -> Part:
        given = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        plan = Plan.from_json(given)
        found = next((part for part in self.parts() if part.plan == plan), None)
        if found is None:
            raise PlanMismatchError("this is not the document of a part of this questionnaire")
        limits.check(found.plan.mechanism)
        return found

    def check_limits(self, limits: Limits) -> None:
        super().check_limits(limits)
        for part in self.parts():
            limits.check(part.plan.mechanism)

    def typed(self, text: str) -> Any:
        """The answers of a person that somebody typed in JSON, such as {"diet": "vegan"}."""
        try:
            return json.loads(text)
        except (json.JSONDecodeError, RecursionError):
            raise InvalidInputError(
                f'the answers of a person are a JSON object, such as {{"diet": "vegan"}}, not {shown(text)}'
            ) from None

    def privatize(
        self, answers: Any, *, seed: int | None = None, progress: Progress | None = None
    ) -> QuestionnaireReports:
        """One private report for each person, on the part that was drawn for this person.

        `answers` is a table with a column for each question: a dictionary of lists, or a table of pandas, polars or
        Arrow. None stands for no answer. With a seed the reports are reproducible but not private: use it for
        simulations only. `progress(done, total)` is called after each part.
        """
        columns = checked_columns(answers, self.questions)
        source = keystream.secure() if seed is None else keystream.seeded(seed)
        by_part, done, people = {}, 0, len(next(iter(columns.values())))
        for part, held in self._drawn(columns, people, source):
            by_part[part.key] = part.plan.privatize_from(held, source.branch())
            done += held.users
            if progress is not None:
                progress(done, people)
        return QuestionnaireReports(self, by_part)

    def simulate(self, answers: Any, *, seed: int | None = None) -> QuestionnaireAggregate:
        """A random aggregate with the distribution of `aggregate(privatize(answers))`, in less time."""
        columns = checked_columns(answers, self.questions)
        source = keystream.secure() if seed is None else keystream.seeded(seed)
        people = len(next(iter(columns.values())))
        by_part = {}
        for part, held in self._drawn(columns, people, source):
            own = int(source.branch().below(1 << 62, 1)[0])
            if part.plan.question.total(1) is None:  # sets are not told by how often each item is held
                reports = part.plan.privatize_from(held, source.branch())
                by_part[part.key] = part.plan.aggregate(reports)
            else:
                frequencies = np.bincount(held.items, minlength=part.plan.domain.size)
                by_part[part.key] = Aggregate(part.plan, part.plan.mechanism.simulate(frequencies, own), held.users)
        return QuestionnaireAggregate(self, by_part)

    def _drawn(self, columns: dict[str, Any], people: int, source: keystream.Keystream) -> Any:
        """Each part that somebody answers, with what its people hold."""
        drawn = self.places.draw(people, source)
        cells: dict[str, Any] = {name: read_all(question, columns[name]) for name, question in self.form.items()}
        for part in self.parts():
            asked = np.flatnonzero(part.span.holds(drawn))
            if asked.size:
                yield part, part.question.held([cells[name].take(asked) for name in part.names])

    def read(self, data: bytes | bytearray | memoryview) -> QuestionnaireReports:
        """Read reports, as `QuestionnaireReports.to_bytes` and clients wrote them, one batch after the other."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise InvalidInputError(f"reports of a questionnaire are bytes, not {type(data).__name__}")
        return read_batches(self, bytes(data))

    def aggregate(self, reports: QuestionnaireReports, *, progress: Progress | None = None) -> QuestionnaireAggregate:
        """Count the reports of each part. `progress(done, total)` is called after each part."""
        return QuestionnaireAggregate(self).add(reports, progress=progress)

    def advance(self, tally: Tally) -> Self:  # noqa: ARG002 (all parts are open from the start)
        return self

    def result(self, tally: Tally | None = None) -> QuestionnaireResult:
        """The tables of all questions and crossings, estimated together."""
        if tally is None:
            raise InvalidInputError("a questionnaire has a result when its reports are counted: give result(tally)")
        counted = {part.key: tally.of(part) for part in self.parts()}
        return QuestionnaireAggregate(self, counted).calibrate()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Questionnaire) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return (
            f"<Questionnaire {self.fingerprint[:12]}: {len(self.questions)} questions, {len(self._asked)} parts, "
            f"epsilon {self.epsilon:g}>"
        )


def _asked(form: dict[str, Question], names: Names) -> Any:
    """What the plan of a part is made of: the question itself, or the numbered cells of a crossing."""
    return form[names[0]] if len(names) == 1 else Asked(form, names).cells


def _variance(plan: Plan) -> float:
    """The variance of one person's estimate of a share in a table whose cells are equally frequent."""
    mechanism = plan.mechanism
    return mechanism.variance(1) + max(mechanism.excess_variance + 1, 0.0) / mechanism.size
