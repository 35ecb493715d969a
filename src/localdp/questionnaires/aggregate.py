"""What was counted in a questionnaire: an aggregate for each part. They are added up in any order."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from localdp.errors import ArchiveError, EmptyError, InvalidInputError, LocalDPError, PlanMismatchError
from localdp.formats import aggregate_file
from localdp.plan import Aggregate
from localdp.questionnaires.reports import QuestionnaireReports
from localdp.studies.tally import Tally
from localdp.types import Progress

if TYPE_CHECKING:
    from localdp.questionnaires.questionnaire import Questionnaire
    from localdp.questionnaires.result import QuestionnaireResult

_KEYS = {"n", "questionnaire"}


class QuestionnaireAggregate:
    """The counts of all parts: `by_part` has an `Aggregate` for each part, by its key, and `n` is how many people.

    `add` and `merge` change it, as they change an `Aggregate`.

    >>> from localdp import Choice, Questionnaire
    >>> survey = Questionnaire({"tea": Choice(["yes", "no"]), "milk": Choice(["yes", "no"])}, epsilon=1.0)
    >>> aggregate = survey.aggregate(survey.privatize({"tea": ["yes"] * 100, "milk": ["no"] * 100}))
    >>> aggregate.n, aggregate.merge(survey.simulate({"tea": ["yes"] * 50, "milk": ["no"] * 50})).n
    (100, 150)
    """

    def __init__(self, survey: Questionnaire, by_part: dict[str, Aggregate] | None = None) -> None:
        self.survey = survey
        self.by_part = {part.key: Aggregate(part.plan) for part in survey.parts()}
        for key, aggregate in (by_part or {}).items():
            self._part(key).merge(aggregate)

    @property
    def n(self) -> int:
        """How many people have answered, in all parts together."""
        return sum(aggregate.n for aggregate in self.by_part.values())

    def add(self, reports: QuestionnaireReports, *, progress: Progress | None = None) -> Self:
        """Count more reports of the same questionnaire, and return this aggregate."""
        self._check(reports, QuestionnaireReports)
        done = 0
        for part, some in reports:
            self.by_part[part.key].add(some)
            done += len(some)
            if progress is not None:
                progress(done, len(reports))
        return self

    def merge(self, other: QuestionnaireAggregate) -> Self:
        """Add the counts of another aggregate of the same questionnaire, and return this aggregate."""
        self._check(other, QuestionnaireAggregate)
        for key, aggregate in other.by_part.items():
            self.by_part[key].merge(aggregate)
        return self

    def tally(self) -> Tally:
        """The counts as a tally of the study."""
        made = Tally()
        for part in self.survey.parts():
            made = made.counting(part, self.by_part[part.key])
        return made

    def calibrate(self) -> QuestionnaireResult:
        """The tables of all questions and crossings, estimated together; see `QuestionnaireResult`."""
        from localdp.questionnaires.result import QuestionnaireResult  # devices need no statistics

        if not self.n:
            raise EmptyError("this aggregate holds no reports yet (n = 0), so there is nothing to estimate")
        return QuestionnaireResult(self.survey, dict(self.by_part))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the aggregate and its questionnaire to one file. A file that is there already is replaced."""
        aggregate_file.save(path, self._header(), self._counts())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a saved aggregate. A file that is not one, or was altered, is an `ArchiveError`."""
        return cls.from_bytes(aggregate_file.read(path), name=os.fspath(path))

    def to_bytes(self) -> bytes:
        """The content of the file that `save` writes."""
        return aggregate_file.pack(self._header(), self._counts())

    @classmethod
    def from_bytes(cls, data: bytes, *, name: str = "this") -> Self:
        """Read the content of a saved aggregate; `name` is what an error calls it."""
        from localdp.questionnaires.questionnaire import Questionnaire

        header, counts = aggregate_file.unpack(data, name)
        if not isinstance(header, dict) or set(header) != _KEYS:
            raise ArchiveError(f"{name} is not a usable aggregate of a questionnaire: its header has other keys")
        try:
            survey = Questionnaire.started(header["questionnaire"])
            plans = [part.plan for part in survey.parts()]
            pieces = np.split(counts, np.cumsum([plan.mechanism.outcomes for plan in plans])[:-1])
            made = {
                part.key: Aggregate(part.plan, some, n)
                for part, some, n in zip(survey.parts(), pieces, header["n"], strict=True)
            }
        except (LocalDPError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise ArchiveError(f"{name} is not a usable aggregate of a questionnaire: {error}") from None
        return cls(survey, made)

    def _header(self) -> dict[str, Any]:
        return {"n": [one.n for one in self.by_part.values()], "questionnaire": self.survey.document()}

    def _counts(self) -> Any:
        return np.concatenate([one.counts for one in self.by_part.values()])

    def _part(self, key: str) -> Aggregate:
        self.survey.part(key)
        return self.by_part[key]

    def _check(self, other: Any, kind: type[Any]) -> None:
        if not isinstance(other, kind):
            hint = "; read bytes with survey.read first" if isinstance(other, bytes | str) else ""
            raise InvalidInputError(f"expected {kind.__name__}, not {type(other).__name__}{hint}")
        if other.survey.fingerprint != self.survey.fingerprint:
            raise PlanMismatchError(f"{other!r} is of another questionnaire than {self.survey!r}")

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, QuestionnaireAggregate)
            and self.survey.fingerprint == other.survey.fingerprint
            and self.by_part == other.by_part
        )

    __hash__ = None  # type: ignore[assignment]  # an aggregate changes as reports come in

    def __repr__(self) -> str:
        return f"<Aggregate of {self.n:,} people under {self.survey!r}>"
