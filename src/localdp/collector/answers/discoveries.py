"""What analysts are told of a discovery: the values that were found, as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from localdp.collector.answers.rendering import Answer, one, plain, shares, users
from localdp.discovery import Found
from localdp.table import Table


@dataclass(frozen=True)
class FoundAnswer(Answer):
    """The values of a discovery that is done, with intervals of this level."""

    found: Found
    level: float

    def content(self) -> dict[str, Any]:
        return {
            "n": self.found.n,
            "epsilon": self.found.epsilon,
            "level": self.level,
            "notes": list(self.found.notes),
            "items": plain(self.table()),
        }

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(self.found.notes)

    def table(self) -> Table:
        low, high = self.found.interval(self.level)
        columns: dict[str, Any] = {
            # Keys as text: programs that read numbers of JSON as floats would change large ones.
            "item": [str(item) for item in self.found.items],
            "frequency": users(self.found.frequencies),
            "share": shares(self.found.frequencies, max(self.found.n, 1)),
            "low": users(low),
            "high": users(high),
            "probability": [one(float(chance), 6) for chance in self.found.probabilities],
        }
        return Table(columns, "Values that were found")
