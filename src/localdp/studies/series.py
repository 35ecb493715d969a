"""Studies whose parts come one after the other: what one round has shown leads to the next."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Self

from localdp.errors import InvalidInputError, PlanMismatchError, TooFewReportsError
from localdp.plan import Aggregate
from localdp.studies.part import Part
from localdp.studies.study import Study
from localdp.studies.tally import Tally

LEAST_REPORTS = 100
"""The fewest reports of a round: below, estimates are not nearly Gaussian, and nothing could be found anyway."""


class Round(Part):
    """A part of a series: its `number`, from 0, is its key."""

    number: int

    @property
    def key(self) -> str:
        return str(self.number)


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
