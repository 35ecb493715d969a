"""An aggregate with its prior fitted: the part of an answer that takes time, and that is worth keeping.

Answers about the same reports and the same prior share it, so a collector keeps it with the version of the aggregate.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock

from localdp.errors import TooFewReportsError
from localdp.estimate import Estimate
from localdp.estimate.calibrated import Calibrated
from localdp.plan import Aggregate, Plan


@dataclass(frozen=True, eq=False)
class Fitted:
    """The raw and the calibrated frequencies of one aggregate, and the prior that was asked for."""

    plan: Plan
    prior: str
    estimate: Estimate
    calibrated: Calibrated

    @property
    def n(self) -> int:
        """The number of reports."""
        return self.estimate.n


Fit = Callable[[Aggregate, str], Fitted]
"""A function that fits the prior of this name to an aggregate: `fit`, or one that remembers what it has fitted."""


def fit(aggregate: Aggregate, prior: str = "auto") -> Fitted:
    """Fit the prior of this name to an aggregate. Doubts about the reports are notes, never Python warnings."""
    estimate = aggregate.estimate()
    return Fitted(aggregate.plan, prior, estimate, estimate.calibrate(prior, warn=False))


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

    def __init__(self, most: int = 64, most_items: int = 4_000_000) -> None:
        self._most, self._most_items = most, most_items
        self._results: OrderedDict[tuple[str, int, bytes, str], Fitted] = OrderedDict()
        self._lock = Lock()

    def __call__(self, aggregate: Aggregate, prior: str = "auto") -> Fitted:
        """What `fit` gives."""
        counted = hashlib.sha256(aggregate.counts.tobytes()).digest()
        key = (aggregate.plan.fingerprint, aggregate.n, counted, prior)
        with self._lock:
            found = self._results.get(key)
            if found is not None:
                self._results.move_to_end(key)
                return found
        made = fit(aggregate, prior)
        with self._lock:
            self._results[key] = made
            while len(self._results) > self._most or (self._items > self._most_items and len(self._results) > 1):
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


def check_enough(n: int, minimum: int) -> None:
    """Raise a `TooFewReportsError` if n reports are fewer than the minimum, or none at all."""
    least = max(minimum, 1)
    if n < least:
        have = "there are no reports" if n == 0 else "there is 1 report" if n == 1 else f"there are {n:,} reports"
        raise TooFewReportsError(
            f"{have} in this range of days, and estimates of this plan are released from {least:,} on: wait for more "
            "reports, or ask for more days"
        )
