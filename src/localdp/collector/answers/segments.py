"""The estimates of every segment side by side, and of the rest: reports without a segment, or of days with too few."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from localdp.collector.answers.estimates import EstimatesAnswer
from localdp.collector.answers.rendering import Answer
from localdp.table import Table

REST = "(rest)"
"""What the rest is called. No segment can be called that."""


@dataclass(frozen=True, eq=False)
class SegmentsAnswer(Answer):
    """Answers by segment; the rest has an empty label. `waiting` are segments of which too little is released."""

    answers: tuple[tuple[str, EstimatesAnswer], ...]
    waiting: tuple[str, ...]

    def content(self) -> dict[str, Any]:
        found = {label or REST: answer.content() for label, answer in self.answers}
        return {"segments": found, "waiting": list(self.waiting), "notes": list(self._notes)}

    def table(self) -> Table:
        """The rows of all segments, one after the other."""
        tables = [answer.table() for _, answer in self.answers]
        labels = [label or REST for label, _ in self.answers]
        columns: dict[str, Any] = {"segment": np.repeat(labels, [len(table) for table in tables]).tolist()}
        for name in tables[0].columns:
            parts = [table.columns[name] for table in tables]
            whole = all(isinstance(part, np.ndarray) for part in parts)
            columns[name] = np.concatenate(parts) if whole else [value for part in parts for value in part]
        return Table(columns, f"{len(tables)} segments", tables[0].formats)

    @property
    def remarks(self) -> tuple[str, ...]:
        every = (f"{label or REST}: {one}" for label, answer in self.answers for one in answer.warnings)
        return (*every, *self._notes)

    @property
    def _notes(self) -> tuple[str, ...]:
        """What a reader of segments must know."""
        minimum = self.answers[0][1].released.minimum
        rest = (
            "the rest holds reports without a segment, and those of days on which a segment had fewer than "
            f"{minimum:,} reports, so that no sum gives them away"
        )
        few = f"too few reports are released of {', '.join(self.waiting)}"
        return (rest, few) if self.waiting else (rest,)
