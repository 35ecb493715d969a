"""An aggregate with its prior fitted: the part of an answer that takes time, and that is worth keeping.

Answers about the same reports and the same prior share it, so a collector keeps it with the version of the aggregate.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock

import numpy as np

from localdp.collector.answers.rendering import shares, users
from localdp.collector.fields import FLAT_COLUMNS
from localdp.errors import InvalidInputError
from localdp.estimate import Estimate
from localdp.estimate.calibrated import Calibrated
from localdp.plan import Aggregate, Plan
from localdp.structures import Like
from localdp.types import Places, Vector

RAW = ("raw", "raw_std_error")
NUMBERS = (*RAW, *FLAT_COLUMNS)
"""The columns of `Fitted.numbers`; some mechanisms have no raw ones."""

_MOST_ITEMS = 4_000_000  # of all results that are remembered

ONCE = (1.0, 1.0)
"""The fewest and the most reports of a person, if everybody reported once."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """The raw and the calibrated frequencies of one aggregate, and the prior that was asked for."""

    plan: Plan
    prior: str
    estimate: Estimate
    calibrated: Calibrated

    @property
    def n(self) -> int:
        return self.estimate.n

    @property
    def has_raw(self) -> bool:
        """Whether there are raw estimates of single cells."""
        return self.plan.mechanism.shows_raw

    def numbers(self, level: float, places: Places | None = None) -> dict[str, Vector]:
        """What is said of these items, or of all: raw numbers where there are some, calibrated ones with intervals."""
        calibrated, chosen = self.calibrated, slice(None) if places is None else places
        low, high = (side[chosen] for side in calibrated.interval(level))
        frequency = calibrated.frequencies[chosen]
        columns = (users(frequency), low, high, *(shares(some, self.n) for some in (frequency, low, high)))
        return {**(self._raw(chosen) if self.has_raw else {}), **dict(zip(FLAT_COLUMNS, columns, strict=True))}

    def named(self, level: float, places: Places | None = None) -> dict[str, Vector]:
        """Shares and intervals that hold for items that somebody had in mind before looking."""
        chosen = np.arange(self.plan.domain.size) if places is None else places
        found = self.calibrated.named_beforehand(chosen, level)
        return {name: shares(some, self.n) for name, some in zip(("share", "low", "high"), found, strict=True)}

    def _raw(self, chosen: slice | Places) -> dict[str, Vector]:
        frequencies = self.estimate.frequencies
        columns = (frequencies[chosen], self.estimate.std_error_at(frequencies)[chosen])
        return dict(zip(RAW, map(users, columns), strict=True))


Fit = Callable[[Aggregate, str], Fitted]
"""A function that fits the prior of this name to an aggregate: `fit`, or one that remembers what it has fitted."""


def fit(
    aggregate: Aggregate, prior: str = "auto", others: Aggregate | None = None, reports: tuple[float, float] = ONCE
) -> Fitted:
    """Fit the prior of this name to an aggregate. Doubts about the reports are notes, never Python warnings.

    `others` are the reports of other people, who may be alike: how far they are is learnt. They are of no use where the
    question knows already how its cells belong together. `reports` are the fewest and the most of one person.
    """
    estimate = aggregate.estimate(reports_per_person=reports)
    alike = None if prior != "auto" or aggregate.plan.question.structure else others
    structure = None if alike is None else Like(alike.estimate(reports_per_person=reports))
    if structure is not None:
        try:
            structure.check_release(estimate)
        except InvalidInputError:  # people who are among the others too, with the same noise, say nothing new
            structure = None
    return Fitted(aggregate.plan, prior, estimate, estimate.calibrate(prior, warn=False, structure=structure))


class Remembering:
    """A `fit` that remembers its last results, by the plan, the counts and the prior. Threads may share it.

    Days that are over never change again, so a history fits only what is new. Two threads that ask for the same at the
    same time both compute it; neither waits for the other.

    >>> from localdp import Plan
    >>> aggregate = Plan(["tea", "milk"], epsilon=2.0).simulate([700, 300], seed=1)
    >>> kept = Remembering(most=8)
    >>> kept(aggregate, "auto") is kept(aggregate, "auto")
    True
    """

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self._results: OrderedDict[tuple[str, int, bytes, str, tuple[float, float]], Fitted] = OrderedDict()
        self._lock = Lock()

    def __call__(
        self,
        aggregate: Aggregate,
        prior: str = "auto",
        others: Aggregate | None = None,
        reports: tuple[float, float] = ONCE,
    ) -> Fitted:
        """What `fit` gives."""
        # The counts, and not the versions of the rows that they come from: a range of days merges many rows, and to
        # hash 41,270 counts takes less than a millisecond.
        counted = hashlib.sha256(aggregate.counts.tobytes())
        if others is not None:
            counted.update(others.counts.tobytes())
        key = (aggregate.plan.fingerprint, aggregate.n, counted.digest(), prior, reports)
        with self._lock:
            found = self._results.get(key)
            if found is not None:
                self._results.move_to_end(key)
                return found
        made = fit(aggregate, prior, others, reports)
        with self._lock:
            self._results[key] = made
            while len(self._results) > self._most or (self._items > _MOST_ITEMS and len(self._results) > 1):
                self._results.popitem(last=False)
        return made

    @property
    def _items(self) -> int:
        """The items of all results: what they take in memory grows with it."""
        return sum(fitted.plan.domain.size for fitted in self._results.values())


def merged(plan: Plan, aggregates: Iterable[Aggregate]) -> Aggregate:
    """A new aggregate with the reports of all of these; they stay as they are."""
    whole = Aggregate(plan)
    for aggregate in aggregates:
        whole.merge(aggregate, repeated=True)
    return whole
