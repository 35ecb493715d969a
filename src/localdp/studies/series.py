"""Studies whose parts come one after the other: what one round has shown leads to the next."""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from typing import Any, ClassVar, Self

from localdp.errors import InvalidInputError, LocalDPError, PlanError, PlanMismatchError, TooFewReportsError
from localdp.formats import canonical_json
from localdp.plan import Aggregate, Plan
from localdp.studies.part import Part
from localdp.studies.study import Study
from localdp.studies.tally import Tally
from localdp.table import Table

LEAST_REPORTS = 100
"""The fewest reports of a round: below, estimates are not nearly Gaussian, and nothing could be found anyway."""


class Round(Part):
    """A part of a series: its `number`, from 0, is its key."""

    format: ClassVar[str]
    """What its documents say that they are."""
    of: ClassVar[str]
    """What it is a round of, in errors."""
    number: int

    @property
    def key(self) -> str:
        return str(self.number)

    @classmethod
    @abstractmethod
    def _from_document(cls, document: dict[str, Any], plan: Plan, **known: Any) -> Self:
        """The round that a document describes. Any error says that it is none; what is altered is found elsewhere."""

    @classmethod
    def _study_in(cls, document: dict[str, Any], name: str) -> str:
        """The fingerprint of the study that a document names, if format, number and fingerprint are what they must."""
        found = document[name]
        if document["format"] != cls.format or type(document["round"]) is not int:
            raise ValueError("its format or its number is wrong")
        if not isinstance(found, str) or len(bytes.fromhex(found)) != 32:
            raise ValueError("it names no study")
        return found

    @classmethod
    def _read(cls, text: str | bytes, most_epsilon: float | None, most_report_bytes: int | None, **known: Any) -> Self:
        """The round in a document that comes from elsewhere. Anything else is a `PlanError`."""
        try:
            document = canonical_json.loads(text)
            asked = canonical_json.dumps(document["plan"])
            plan = Plan.from_json(asked, most_epsilon=most_epsilon, most_report_bytes=most_report_bytes)
            made = cls._from_document(document, plan, **known)
            same = made.to_json() == canonical_json.dumps(document)
        except LocalDPError:
            raise
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
            raise PlanError(f"this is not a round of a {cls.of}: it is not text in JSON") from None
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
            raise PlanError(f'this is not a round of a {cls.of}: it is not a document "{cls.format}"') from None
        if not same:
            raise PlanError("this round was altered")
        return made


class Series(Study):
    """What a `Discovery` and a `Survey` have in common."""

    called = "round"
    goes_on = True
    least_reports = LEAST_REPORTS
    users: int
    """About how many people take part."""

    @property
    @abstractmethod
    def number(self) -> int:
        """The number of the round under way, from 0."""

    @property
    @abstractmethod
    def expected_rounds(self) -> int:
        """How many rounds there will be in all, as far as can be foreseen."""

    @property
    @abstractmethod
    def round(self) -> Round:
        """The round that is under way; an `InvalidInputError` if all are over."""

    @abstractmethod
    def so_far(self) -> Table:
        """What the rounds that are over have shown, the most frequent first: it may still change."""

    def promise(self) -> str | None:
        """What can be found, in a sentence, if that is known beforehand."""
        return None

    @abstractmethod
    def _after(self, aggregate: Aggregate) -> Self:
        """The series after the round under way, whose reports were checked."""

    def parts(self) -> tuple[Round, ...]:
        return () if self.done else (self.round,)

    def needed(self, part: Part) -> int:
        """As many reports as users are asked, less what chance may leave out."""
        expected = part.span.share * self.users
        return max(self.least_reports, math.floor(expected - 3 * math.sqrt(expected)))

    def advance(self, counted: Tally | Aggregate, of: Part | str | None = None) -> Self:
        """The series after the round under way, given the aggregate of its reports, or a tally that holds it.

        With an aggregate, `of` is the round, or its fingerprint, under whose document the reports were made. Another
        round's are a `PlanMismatchError`, and fewer than 100 reports a `TooFewReportsError`; then the round goes on.
        """
        current = self.round
        if not isinstance(counted, Tally):
            counted = self._tally(counted, of, current)
        aggregate = counted.of(current)
        if aggregate.plan != current.plan:
            raise PlanMismatchError(f"{aggregate!r} is not of the plan of round {current.number} of this {self.what}")
        if aggregate.n < LEAST_REPORTS:
            raise TooFewReportsError(
                f"round {current.number} has {aggregate.n} reports, and needs at least {LEAST_REPORTS}: wait for more, "
                f"or plan a {self.what} with fewer users"
            )
        return self._after(aggregate)

    def _tally(self, aggregate: Aggregate, of: Part | str | None, current: Round) -> Tally:
        """An aggregate of the round under way as a tally."""
        if (of.fingerprint if isinstance(of, Part) else of) != current.fingerprint:
            raise PlanMismatchError(
                f"these reports were made under another round than round {current.number} of this {self.what}"
            )
        if not isinstance(aggregate, Aggregate):
            raise InvalidInputError(f"a {self.what} advances by an Aggregate, not by {type(aggregate).__name__}")
        return Tally().counting(current.fingerprint, aggregate)
