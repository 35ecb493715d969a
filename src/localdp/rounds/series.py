"""A survey in several rounds, as a value: the aggregate of the round under way gives the survey after it."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Self

from localdp.errors import InvalidInputError, PlanMismatchError, TooFewReportsError
from localdp.formats import canonical_json
from localdp.frozen import Frozen
from localdp.plan import Aggregate
from localdp.rounds.question import Question

LEAST_REPORTS = 100
"""The fewest reports of a round: below, estimates are not nearly Gaussian, and nothing could be found anyway."""


class Series(Frozen, ABC):
    """What a `Discovery` and a `Survey` have in common."""

    what: ClassVar[str]
    """What errors call it, such as "discovery"."""

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """What devices need to know beforehand, as a JSON value."""

    def to_json(self) -> str:
        """What devices need to know beforehand, as canonical JSON."""
        return canonical_json.dumps(self.document())

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of `to_json()`, in hex. The documents of all rounds carry it."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @abstractmethod
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it, as far as it has come, to a file. A file that is there already is replaced."""

    @classmethod
    @abstractmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a saved one. A file that is not one, or was altered, is an `ArchiveError`."""

    def resume(self, path: str | os.PathLike[str]) -> Self:
        """The same as far as it had come when it was saved. The state of another one is a `PlanMismatchError`."""
        saved = type(self).load(path)
        if saved.fingerprint != self.fingerprint:
            raise PlanMismatchError(f"{path} holds the state of another {self.what}, with other parameters or name")
        return saved

    def _check_reports(self, aggregate: Aggregate, of: Question | str, current: Question) -> None:
        """Refuse reports that do not belong to the round under way, or are too few."""
        if (of.fingerprint if isinstance(of, Question) else of) != current.fingerprint:
            raise PlanMismatchError(
                f"these reports were made under another round than round {current.number} of this {self.what}"
            )
        if not isinstance(aggregate, Aggregate):
            raise InvalidInputError(f"a {self.what} advances by an Aggregate, not by {type(aggregate).__name__}")
        if aggregate.plan != current.plan:
            raise PlanMismatchError(f"{aggregate!r} is not of the plan of round {current.number} of this {self.what}")
        if aggregate.n < LEAST_REPORTS:
            raise TooFewReportsError(
                f"round {current.number} has {aggregate.n} reports, and needs at least {LEAST_REPORTS}: wait for more, "
                f"or plan a {self.what} with fewer users"
            )
