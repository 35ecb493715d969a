"""How well the mean and the median of a scale will be known, before anything is collected.

The posterior deviation of a mean follows from the covariance that reports leave (`localdp.mechanisms.ordered_choice`):
its weights are the places of the cells. A percentile moves by the error of the distribution function divided by the
density. Both are computed for people who are spread evenly over the scale. Where they crowd together, percentiles are
known better, and where they are sparse, less well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from localdp.errors import InvalidInputError
from localdp.mechanisms import Mechanism, create, offered
from localdp.mechanisms.ordered_choice import left_over
from localdp.plan import Plan
from localdp.questions import Scale
from localdp.table import Table
from localdp.validation import checked_users

_CLEARLY = 0.97  # both errors of another mechanism are smaller by more than this


@dataclass(frozen=True, eq=False)
class ScaleAdvice:
    """What each mechanism would give on a scale, and which one to take; errors are standard errors on the scale.

    >>> advice = advise_scale(Scale(0, 120, step=5), 10_000, 1.0)
    >>> advice.recommended, round(advice.mean_error, 1), round(advice.median_error, 1)
    ('wave', 1.1, 2.2)
    """

    scale: Scale
    users: int
    epsilon: float
    recommended: str
    why: tuple[str, ...]
    options: tuple[Mechanism, ...]

    @property
    def mean_error(self) -> float:
        """The standard error of the mean to expect."""
        return self._errors(self._chosen)[0]

    @property
    def median_error(self) -> float:
        """The standard error of the median to expect."""
        return self._errors(self._chosen)[1]

    def table(self) -> Table:
        """A row for each mechanism, from the one that is best with many people."""
        errors = np.array([self._errors(made) for made in self.options])
        columns = {
            "mechanism": [made.name for made in self.options],
            "bytes": np.array([made.report_bytes for made in self.options]),
            "error of the mean": errors[:, 0],
            "error of the median": errors[:, 1],
        }
        title = f"{self.scale.describe()}; {self.users:,} people, epsilon {self.epsilon:g}"
        return Table(columns, title, {"error of the mean": ",.3g", "error of the median": ",.3g"})

    def plan(self) -> Plan:
        """The recommended plan."""
        return Plan(self.scale, self.recommended, self.epsilon)

    def __str__(self) -> str:
        return "\n".join([*self.why, "", self.table().text(len(self.options))])

    @property
    def _chosen(self) -> Mechanism:
        return next(made for made in self.options if made.name == self.recommended)

    def _errors(self, made: Mechanism) -> tuple[float, float]:
        left = left_over(made, self.scale.ordered, self.users)
        middles = (self.scale.starts + self.scale.ends) / 2
        # Whole numbers are as far apart as bins are wide, so from 1 to 5 there are five steps and not four.
        cells, width = len(left), float(np.ptp(middles)) * middles.size / (middles.size - 1)
        places = (np.arange(cells) + 0.5) / cells * width
        half = (np.arange(cells) < cells // 2).astype(np.float64)
        mean, up_to = (math.sqrt(max(float(weights @ left @ weights), 0.0)) for weights in (places, half))
        return mean, up_to * width


def advise_scale(scale: Scale, users: int, epsilon: float) -> ScaleAdvice:
    """The advice for a scale, a number of people and an epsilon."""
    people, choice = checked_users(users), create("auto", scale.cells.size, epsilon, **scale.options())
    names = set(offered(scale.options()))
    options = tuple(made for made in choice.candidates if made.name in names)
    chosen = choice.mechanism
    advice = ScaleAdvice(scale, people, chosen.requested_epsilon, chosen.name, (), options)
    known = (
        f"With {people:,} people the mean will be known to about {advice.mean_error:.2g} and the median to about "
        f"{advice.median_error:.2g} (standard errors), if people are spread evenly from {scale.low} to {scale.high}; "
        "a percentile is never known better than to its cell."
    )
    why = (f"Take {choice.why}.", known, *_better(advice))
    return ScaleAdvice(scale, people, chosen.requested_epsilon, chosen.name, why, options)


def _better(advice: ScaleAdvice) -> tuple[str, ...]:
    """What to say if another mechanism has the smaller errors with so many people: the choice is made for many."""
    known = {made.name: advice._errors(made) for made in advice.options}
    own, best = known[advice.recommended], min(known, key=lambda name: sum(known[name]))
    if not all(error < _CLEARLY * one for error, one in zip(known[best], own, strict=True)):
        return ()
    return (
        (
            f"The choice is made for many people. With {advice.users:,}, {best} is expected to err less, as the table "
            "shows: choose it by its name."
        ),
    )


def required(users: int | None, epsilon: float | None, others: tuple[object, ...]) -> tuple[int, float]:
    """The number of people and the epsilon that advice for a scale needs, and nothing else."""
    if users is None or epsilon is None or any(other is not None for other in others):
        raise InvalidInputError("advice for a Scale needs the number of users and an epsilon, and takes nothing else")
    return users, epsilon
