"""What analysts are told of a discovery: the values that were found, as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from localdp.collector.answers.rendering import Answer, one, plain, shares, users
from localdp.discovery import Found
from localdp.table import Table


@dataclass(frozen=True)
class FoundAnswer(Answer):
    """The values of a discovery that is done, with intervals of this level."""

    found: Found
    level: float

    def content(self) -> dict[str, Any]:
        other = self.found.other(self.level)
        return {
            "n": self.found.n,
            "epsilon": self.found.epsilon,
            "level": self.level,
            "notes": list(self.found.notes),
            "other": {name: one(getattr(other, name)) for name in ("value", "low", "high")},
            "items": plain(self.table()),
        }

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(self.found.notes)

    def table(self) -> Table:
        found = self.found.table(self.level)
        columns: dict[str, Any] = {
            # Keys as text: programs that read numbers of JSON as floats would change large ones.
            "item": [str(item) for item in found["item"]],
            "frequency": users(found["frequency"]),
            "share": shares(found["frequency"], max(self.found.n, 1)),
            "low": users(found["low"]),
            "high": users(found["high"]),
            "probability": np.round(found["probability"], 6),
            "kind": found["kind"],
        }
        return Table(columns, "Values that were found")
