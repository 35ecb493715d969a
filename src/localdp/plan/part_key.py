"""What makes the plan of a study's part another plan than the same one elsewhere: the study, and the part's name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from localdp.errors import PlanError

_LONGEST_NAME = 200


@dataclass(frozen=True)
class PartKey:
    """The fingerprint of the study, and what the study calls the part.

    Two parts may ask the same: two yes/no questions have the same answers. With this key their plans have different
    fingerprints, so their batches, payments and files are never taken for each other's. It is for studies whose parts
    are open at the same time. Rounds of discoveries and of surveys of sets, which come one after the other, have plans
    without it: the document of a round, which holds both keys, has a fingerprint of its own.

    >>> PartKey(study="ab" * 32, name="smokes").document()["name"]
    'smokes'
    """

    study: str
    name: str

    def __post_init__(self) -> None:
        study: Any = self.study
        if not isinstance(study, str) or len(study) != 64 or not set(study) <= set("0123456789abcdef"):
            raise PlanError("the study of a part is given by its fingerprint, 64 hex digits")
        if not isinstance(self.name, str) or not 0 < len(self.name) <= _LONGEST_NAME:
            raise PlanError(f"the name of a part is text of 1 to {_LONGEST_NAME} characters")

    def document(self) -> dict[str, str]:
        """The key as a JSON value."""
        return {"study": self.study, "name": self.name}

    @classmethod
    def read(cls, document: Any) -> PartKey:
        """The key in a plan's document; a `TypeError` if it has another shape."""
        if not isinstance(document, dict) or set(document) != {"study", "name"}:
            raise TypeError("a part has a study and a name")
        return cls(document["study"], document["name"])
