"""What people read of a plan or a study: its question, and labels in the place of items.

Whoever runs the collection may correct both, and each correction is a new version. They are no part of the plan and of
its fingerprint. A device says with its report which version its person was shown, and never looks at the answer for it.
A collector that gave every device a version of its own could follow it, so there are few that a device tells.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from localdp.errors import InvalidInputError
from localdp.formats import canonical_json

_LAST = 999  # a longer number, sent in the clear, could tell one device from all others


@dataclass(frozen=True)
class Wording:
    """The question and the labels in force at a collector, and their version, to be given to `send_once`.

    >>> shown = Wording(2, "Which theme do you use?", {"system": "As my phone has it"})
    >>> shown.label("system"), shown.label("dark")
    ('As my phone has it', 'dark')
    """

    version: int
    question: str
    labels: Mapping[str, str]

    def label(self, item: str | float | bool) -> str:
        """What people read for an item of the plan, or for the name of a question."""
        name = item if isinstance(item, str) else json.dumps(item)
        return self.labels.get(name, name)


def wording_in(text: str) -> Wording | None:
    """The wording in the answer of a collector; None if there is none."""
    try:
        found: Any = canonical_json.loads(text)
        version, question, labels = checked_version(found["version"]), found["question"], found["labels"]
        texts = [question, *labels.keys(), *labels.values()]
    except (ValueError, TypeError, KeyError, AttributeError, InvalidInputError):
        return None
    return Wording(version, question, labels) if all(isinstance(one, str) for one in texts) else None


def checked_version(version: Any) -> int:
    """The number of a version. It is sent in the clear, so it must not carry anything else."""
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= _LAST:
        raise InvalidInputError(
            f"wording is the version that a person was shown, a whole number from 1 to {_LAST}, not {version!r:.60}"
        )
    return version
