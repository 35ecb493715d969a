"""Every measurement of a run: its value in each trial, with the mean and its standard error; also as CSV and JSON.

The values of the single trials are kept, because all methods of a trial see the same noise: two methods are compared
trial by trial (see `pairs`).
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from localdp.experiments.tasks import ZERO, Measurements, Task
from localdp.types import Vector

ENOUGH_TRIALS = 24
"""The trials of the full run. With fewer, a comparison that could go either way is not judged."""
_KEYS = ("data", "mechanism", "epsilon", "threshold", "method", "metric")


@dataclass(frozen=True)
class Mean:
    """One measurement: its value in every trial, their mean, and the standard error of the mean.

    `threshold` is a multiple of the significance threshold, or None where no threshold is involved. A value is NaN in
    a trial that could not measure it, for example the coverage of heavy items where there are none.
    """

    data: str
    mechanism: str
    epsilon: float
    threshold: float | None
    method: str
    metric: str
    values: tuple[float, ...]

    @cached_property
    def mean(self) -> float:
        """The mean over the trials that could measure it; NaN if none could."""
        return float(self._known.mean()) if self._known.size else math.nan

    @cached_property
    def std_error(self) -> float:
        """The standard error of the mean; 0 with fewer than two values."""
        return float(self._known.std(ddof=1) / math.sqrt(self._known.size)) if self._known.size > 1 else 0.0

    @property
    def trials(self) -> int:
        """The number of trials that were run."""
        return len(self.values)

    @cached_property
    def _known(self) -> Vector:
        values = np.array(self.values, np.float64)
        return values[~np.isnan(values)]


class Results:
    """All measurements of a run."""

    def __init__(self, means: list[Mean]) -> None:
        self.means = means
        self._by_key = {tuple(getattr(mean, key) for key in _KEYS): mean for mean in means}

    def find(
        self,
        data: str,
        epsilon: float,
        method: str,
        metric: str = "error",
        threshold: float | None = None,
        mechanism: str = "oue",
    ) -> Mean:
        """One measurement; `data` is the label of the data set."""
        return self._by_key[data, mechanism, epsilon, threshold, method, metric]

    def has(self, data: str, epsilon: float, method: str, metric: str = "error", mechanism: str = "oue") -> bool:
        """Whether this was measured, without any threshold."""
        return (data, mechanism, epsilon, None, method, metric) in self._by_key

    @cached_property
    def enough(self) -> bool:
        """Whether ties mean something: the paper's evaluation ran as often as in the full run."""
        return max((mean.trials for mean in self.means), default=0) >= ENOUGH_TRIALS

    def error(self, data: str, epsilon: float, method: str) -> float:
        """The mean estimation error of a method with OUE, at least 1e-9 so that it can be divided by."""
        return max(self.find(data, epsilon, method).mean, 1e-9)

    def epsilons(self, data: str) -> list[float]:
        """The epsilons at which the methods were compared with OUE."""
        return sorted({mean.epsilon for mean in self.means if mean.data == data and self.has(data, mean.epsilon, ZERO)})

    def select(self, wanted: Callable[[Mean], bool]) -> list[Mean]:
        """The measurements for which `wanted` is true, in their original order."""
        return [mean for mean in self.means if wanted(mean)]

    def to_json(self) -> list[dict[str, Any]]:
        """Every measurement as a JSON object. JSON has no NaN: null stands for what a trial could not measure."""
        return [
            {key: getattr(mean, key) for key in _KEYS}
            | {"values": [None if math.isnan(value) else value for value in mean.values]}
            for mean in self.means
        ]

    @classmethod
    def from_json(cls, objects: Iterable[dict[str, Any]]) -> Results:
        return cls(
            [
                Mean(**each | {"values": tuple(math.nan if value is None else value for value in each["values"])})
                for each in objects
            ]
        )


def gather(tasks: Mapping[Task, int], found: Iterator[Measurements]) -> Results:
    """Collect the trials of tasks, each with its number of trials.

    `found` yields all trials of the first task, then all of the second, and so on.
    """
    means = []
    for task, trials in tasks.items():
        measured = [next(found) for _ in range(trials)]
        for threshold, method, metric in measured[0]:
            # Rounded to seven digits, so that the file of results stays small and gives exactly these numbers.
            values = tuple(float(f"{trial[threshold, method, metric]:.7g}") for trial in measured)
            means.append(Mean(task.data.label, task.mechanism, task.epsilon, threshold, method, metric, values))
    return Results(means)


def to_csv(means: list[Mean]) -> str:
    """The means as CSV with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head = (*_KEYS, "mean", "std_error", "trials")
    writer.writerow(head)
    for mean in means:
        cells = (getattr(mean, name) for name in head)
        writer.writerow("" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else cell for cell in cells)
    return text.getvalue()
