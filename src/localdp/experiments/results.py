"""The mean of every measurement over the trials of a run, with its standard error; also as CSV and JSON."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from localdp.experiments.trials import Measurements, Task


@dataclass(frozen=True)
class Mean:
    """The mean of one measurement over the trials, with its standard error.

    `threshold` is a multiple of the significance threshold, or None where no threshold is involved. The mean is NaN if
    no trial could measure it, for example the coverage of heavy items where there are none.
    """

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

    def __init__(self, means: list[Mean]) -> None:
        self.means = means
        self._by_key = {(m.data, m.mechanism, m.epsilon, m.threshold, m.method, m.metric): m for m in means}

    def find(
        self,
        data: str,
        epsilon: float,
        method: str,
        metric: str = "error",
        threshold: float | None = None,
        mechanism: str = "oue",
    ) -> Mean:
        """One mean; `data` is the label of the data set."""
        return self._by_key[data, mechanism, epsilon, threshold, method, metric]

    def error(self, data: str, epsilon: float, method: str) -> float:
        """The mean estimation error of a method with OUE, at least 1e-9 so that it can be divided by."""
        return max(self.find(data, epsilon, method).mean, 1e-9)

    def select(self, wanted: Callable[[Mean], bool]) -> list[Mean]:
        """The means for which `wanted` is true, in their original order."""
        return [mean for mean in self.means if wanted(mean)]

    def to_json(self) -> list[dict[str, Any]]:
        """Every mean as a JSON object. JSON has no NaN: null stands for what no trial could measure."""
        objects = [asdict(mean) for mean in self.means]
        for each in objects:
            if math.isnan(each["mean"]):
                each["mean"] = each["std_error"] = None
        return objects

    @classmethod
    def from_json(cls, objects: Iterable[dict[str, Any]]) -> Results:
        """The results that `to_json` wrote."""
        missing = {"mean": math.nan, "std_error": 0.0}
        return cls([Mean(**(each | missing if each["mean"] is None else each)) for each in objects])


def gather(tasks: list[Task], trials: int, found: Iterator[Measurements]) -> Results:
    """Average the trials. `found` yields all trials of the first task, then all of the second, and so on."""
    means = []
    for task in tasks:
        measured = [next(found) for _ in range(trials)]
        for threshold, method, metric in measured[0]:
            values = np.array([trial[threshold, method, metric] for trial in measured])
            values = values[~np.isnan(values)]
            mean = float(values.mean()) if values.size else math.nan
            error = float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else 0.0
            means.append(
                Mean(task.data.label, task.mechanism, task.epsilon, threshold, method, metric, mean, error, trials)
            )
    return Results(means)


def to_csv(means: list[Mean]) -> str:
    """The means as CSV with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(Mean))
    for mean in means:
        cells = asdict(mean).values()
        writer.writerow("" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else cell for cell in cells)
    return text.getvalue()
