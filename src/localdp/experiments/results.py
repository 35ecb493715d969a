"""Means over trials, by what they are of; as a table, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace

import numpy as np

from localdp.experiments.trials import Figures, Task


@dataclass(frozen=True)
class Row:
    """The mean of one figure over the trials, with its standard error."""

    data: str
    mechanism: str
    epsilon: float
    threshold: float | None
    method: str
    metric: str
    mean: float
    std_error: float
    trials: int


class Results:
    """All means of a run."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self._found = {(r.data, r.mechanism, r.epsilon, r.threshold, r.method, r.metric): r for r in rows}

    def find(
        self,
        data: str,
        epsilon: float,
        method: str,
        metric: str = "error",
        threshold: float | None = None,
        mechanism: str = "oue",
    ) -> Row:
        """One of the means."""
        return self._found[data, mechanism, epsilon, threshold, method, metric]

    def select(self, wanted: Callable[[Row], bool]) -> list[Row]:
        """The means for which this is true, in the order they were made."""
        return [row for row in self.rows if wanted(row)]

    def to_json(self) -> list[dict[str, object]]:
        """Every mean as a JSON object; one that was never measured is null."""
        known = (replace(row, mean=None, std_error=None) if math.isnan(row.mean) else row for row in self.rows)  # type: ignore[arg-type]
        return [asdict(row) for row in known]


def gather(tasks: list[Task], trials: int, found: Iterator[Figures]) -> Results:
    """The means of what the trials of each task found, all trials of one task after those of another."""
    rows = []
    for task in tasks:
        several = [next(found) for _ in range(trials)]
        for threshold, method, metric in several[0]:
            values = np.array([figures[threshold, method, metric] for figures in several])
            values = values[~np.isnan(values)]
            mean = float(values.mean()) if values.size else math.nan
            error = float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else 0.0
            rows.append(
                Row(task.data.label, task.mechanism, task.epsilon, threshold, method, metric, mean, error, trials)
            )
    return Results(rows)


def to_csv(rows: list[Row]) -> str:
    """The rows as CSV with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(Row))
    for row in rows:
        cells = asdict(row).values()
        writer.writerow("" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else cell for cell in cells)
    return text.getvalue()
