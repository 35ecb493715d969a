"""What every study can be asked: its form, the parts that are open now, what comes after them, and the result.

A saved study of any kind is its document, under what it is called, beside its state, sealed:

    {"discovery": {"format": "localdp-discovery/1", ...}, "round": 2, ...}
"""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

from localdp.errors import (
    ArchiveError,
    InvalidInputError,
    LocalDPError,
    PlanError,
    PlanLimitError,
    PlanMismatchError,
)
from localdp.formats import canonical_json, sealed_json
from localdp.frozen import Frozen
from localdp.plan.limits import Limits
from localdp.studies.part import Part
from localdp.studies.places import Places
from localdp.studies.tally import Tally
from localdp.table import Tabular

NO_LIMITS = Limits(None, None, None, False)
"""What somebody asks for who reads a study without being asked by it."""


class Study(Frozen, ABC):
    """A form, and parts that are answered by disjoint people. A study is a value: `advance` gives the one after it.

    An author of a kind of study sets `kind`, `what` and `title` and writes `document` and `from_document`, `parts`,
    `read_part`, `advance`, `done` and `result`; and, if it has a state beside its document, `state` and `with_state`.
    Kinds that are not of this library are made known by `localdp.studies.register`.
    """

    kind: ClassVar[str]
    """The name of this kind, in the format of its documents: localdp-<kind>/1."""
    what: ClassVar[str]
    """What errors and saved files call it, such as "survey"."""
    title: ClassVar[str]
    """The same in full, such as "survey of sets"."""
    folder: ClassVar[str] = "studies"
    """The folder in the store of a device that holds its answers."""
    asks_again: ClassVar[bool] = False
    """Whether devices can be asked again and again, and pay for every other value, instead of answering once."""
    called: ClassVar[str] = "part"
    """What its parts are called in errors, such as "round"."""
    goes_on: ClassVar[bool] = False
    """Whether other parts follow the first ones, so that those under way must be ended."""
    least_reports: ClassVar[int] = 1
    """The fewest reports of a part under way with which it can be ended."""
    estimated_together: ClassVar[bool] = False
    """Whether the result is made of all parts under way together, and not part by part."""
    epsilon: float
    """What a device spends."""

    # What an author writes.

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """What devices need to know beforehand, as a JSON value. Its "format" is `format()`."""

    @classmethod
    @abstractmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """The study at its start. Documents come from elsewhere: any error that is raised says that it is not one."""

    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """The parts that are open now."""

    @abstractmethod
    def read_part(self, text: str | bytes, limits: Limits) -> Part:
        """The part of this study that a document describes; see `part_in`."""

    @abstractmethod
    def advance(self, tally: Tally) -> Self:
        """The study after the parts under way, given what was counted; itself if there is nothing after them."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether nothing more is asked."""

    @abstractmethod
    def result(self, tally: Tally | None = None) -> Tabular:
        """What was found, given what was counted in the parts that are open at the end."""

    # What an author may replace.

    @property
    def places(self) -> Places:
        """The places that devices draw."""
        return Places()

    def check_limits(self, limits: Limits) -> None:
        """Raise a `PlanLimitError` if the study asks for more than a device gives."""
        if self.epsilon > limits.most_epsilon:
            raise PlanLimitError(
                f"this {self.what} asks for epsilon {self.epsilon:g}, and this device gives at most "
                f"{limits.most_epsilon:g}"
            )

    def needed(self, part: Part) -> int:  # noqa: ARG002 (most kinds wait for none)
        """How many reports of an open part should be waited for before it is ended; 0 if it need not be ended."""
        return 0

    def typed(self, text: str) -> Any:
        """The value that somebody typed."""
        return text

    def read_by_people(self) -> tuple[Any, ...]:
        """The items and the names of questions that people read, in order; none where nothing is listed."""
        return ()

    def state(self) -> dict[str, Any]:
        """What the parts that are over have shown, as a JSON value; nothing at the start."""
        return {}

    def with_state(self, state: dict[str, Any]) -> Self:  # noqa: ARG002 (most kinds have none)
        """This study, which is at its start, as far as it had come with this state; any error says that it is none."""
        return self

    # What is derived.

    @classmethod
    def format(cls) -> str:
        """What the documents of this kind say that they are."""
        return f"localdp-{cls.kind}/1"

    def to_json(self) -> str:
        """What devices need to know beforehand, as canonical JSON."""
        return canonical_json.dumps(self.document())

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of `to_json()`, in hex. The documents of all parts carry it."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @classmethod
    def from_json(cls, text: str | bytes, limits: Limits = NO_LIMITS) -> Self:
        """Read a study that `to_json` wrote, at its start. Anything else is a `PlanError`."""
        try:
            made = cls.started(canonical_json.loads(text))
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
            raise PlanError(f"this is not a {cls.title}: it is not text in JSON") from None
        except (LocalDPError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError):
            raise PlanError(f'this is not a {cls.title}: it is not a document "{cls.format()}"') from None
        made.check_limits(limits)
        return made

    @classmethod
    def started(cls, document: dict[str, Any]) -> Self:
        """The study with exactly this document, at its start; any error says that there is none."""
        if document["format"] != cls.format():
            raise ValueError(f"its format is not {cls.format()}")
        made = cls.from_document(document)
        if made.to_json() != canonical_json.dumps(document):
            raise ValueError("its document was altered")
        return made

    def part_in(self, text: str | bytes | None = None, limits: Limits = NO_LIMITS) -> Part:
        """The part of this study that a document describes. Without a document, the only one that there is.

        Another study's is a `PlanMismatchError`, and one that goes past the limits of a device a `PlanLimitError`.
        """
        if text is not None:
            part = self.read_part(text, limits)
            if part.plan.mechanism.epsilon > self.epsilon:  # a device pays what the study says, and no more
                raise PlanLimitError(
                    f"a part of this {self.what} asks for epsilon {part.plan.mechanism.epsilon:g}, and the "
                    f"{self.what} for {self.epsilon:g}"
                )
            return part
        if not self.asks_again:
            raise InvalidInputError(f"a {self.what} has several parts: give the document of the one under way")
        return self.parts()[0]

    def part_at(self, place: int) -> Part | None:
        """The open part that asks a device with this place; None if none does."""
        return next((part for part in self.parts() if place in part.span), None)

    def named(self, name: str) -> Self:
        """The same study at its start under another name, which makes it another one for devices.

        Nothing of a device belongs to both: not its permanent response, not its payment, not the mark that it has
        answered. Kinds whose documents have no name cannot be copied: an `InvalidInputError`.
        """
        document = self.document()
        if "name" not in document:
            raise InvalidInputError(f"a {self.what} has no name, so a copy of it would be the same {self.what}")
        return type(self).from_document({**document, "name": name})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it, as far as it has come, to a file. A file that is there already is replaced."""
        sealed_json.save(_written(self), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a saved one. A file that is not one, or was altered, is an `ArchiveError`."""
        return from_state(cls, sealed_json.read(path, f"saved {cls.title}"), str(path))

    def resume(self, path: str | os.PathLike[str]) -> Self:
        """The same as far as it had come when it was saved. The state of another one is a `PlanMismatchError`."""
        saved = type(self).load(path)
        if saved.fingerprint != self.fingerprint:
            raise PlanMismatchError(f"{path} holds the state of another {self.what}, with other parameters or name")
        return saved


Kind = TypeVar("Kind", bound=Study)


def state_of(study: Study) -> str:
    """The state of a study as text, as `save` writes it."""
    return sealed_json.sealed(_written(study))


def from_state(kind: type[Kind], text: str, name: str = "this text") -> Kind:
    """The study of this kind with this state. Text that is not one, or was altered, is an `ArchiveError`."""
    saved = sealed_json.unsealed(text, f"saved {kind.title}", name)
    try:
        return kind.started(saved.pop(kind.what)).with_state(saved)
    except (LocalDPError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise ArchiveError(f"{name} is not a usable {kind.what}: {type(error).__name__} {error}") from None


def _written(study: Study) -> dict[str, Any]:
    return {study.what: study.document(), **study.state()}
