"""One round of a survey: what its users are asked, and the plan under which they answer.

Devices get the document of the round in canonical JSON. Its fingerprint is the SHA-256 of that text, and says under
which document a report was made.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

from localdp.formats import canonical_json
from localdp.frozen import Frozen
from localdp.plan import Plan


class Question(Frozen, ABC):
    """A round: its `number`, from 0, and its `plan`. Two rounds with the same document are equal."""

    number: int
    plan: Plan

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
        """The SHA-256 of the round's document, in hex."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)
