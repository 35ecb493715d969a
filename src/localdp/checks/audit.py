"""The statistical audit: a lower bound on epsilon, from nothing but the bytes that leave the device.

For every mechanism here, the reports that best tell a holder of x from a holder of y are those that support x but not
y: each is e^epsilon times as likely under x. The audit makes many reports of both values, writes and reads them as
batches, and counts this event. Clopper-Pearson intervals then give a lower limit `low` for its probability under x and
an upper limit `high` under y, and epsilon is at least ln(low/high). This bound is wrong with probability `error` at
most.

A bound above epsilon is a leak. A bound far below it means too much noise: accuracy was lost for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from localdp.mechanisms import Mechanism
from localdp.plan import Plan

Batches = Callable[[Plan, int, int], bytes]
"""Makes a batch under a plan: from the index of the value that everybody holds, and the number of reports."""

FLOOR = 0.85
"""The least share of epsilon for the bound. Correct mechanisms fail it about once in 1e9 audits of a million trials."""


@dataclass(frozen=True)
class Audit:
    """The result of auditing one mechanism: `bound` is the lower bound on its epsilon."""

    mechanism: Mechanism
    trials: int
    bound: float

    @property
    def floor(self) -> float:
        """A mechanism that uses its whole budget gets a bound above this."""
        return FLOOR * self.mechanism.requested_once

    @property
    def leaks(self) -> bool:
        """Whether a report reveals more than epsilon allows."""
        return self.bound > self.mechanism.requested_once

    @property
    def wastes(self) -> bool:
        """Whether a report reveals much less than epsilon allows, so that accuracy is lost."""
        return self.bound < self.floor


def audit(mechanism: Mechanism, trials: int = 1_000_000, error: float = 1e-6, batches: Batches | None = None) -> Audit:
    """A lower bound on epsilon from `trials` reports of each of two values, made with secure randomness.

    To audit another program, give a function `batches` that calls it.

    >>> from localdp.mechanisms import create
    >>> result = audit(create("grr", 2, 1.0).mechanism, trials=100_000)
    >>> result.leaks, result.wastes
    (False, False)
    """
    likely, unlikely = (_hits(mechanism, value, trials, batches or _ours) for value in (0, mechanism.size - 1))
    return Audit(mechanism, trials, lower_bound(likely, unlikely, trials, error))


def lower_bound(likely: int, unlikely: int, trials: int, error: float) -> float:
    """Epsilon is at least this, if an event was seen so often in `trials` reports of one value and of another.

    The bound is wrong with probability `error` at most.

    >>> lower_bound(5_000, 500, 10_000, error=1e-6) < math.log(10)
    True
    """
    from scipy.stats import beta

    low = beta.ppf(error / 2, likely, trials - likely + 1) if likely else 0.0
    high = beta.isf(error / 2, unlikely + 1, trials - unlikely)
    return math.log(low / high) if low > 0 else -math.inf


def _ours(plan: Plan, value: int, trials: int) -> bytes:
    """A batch that this library makes."""
    return plan.privatize_indices(np.full(trials, value)).to_bytes()


def _hits(mechanism: Mechanism, value: int, trials: int, batches: Batches) -> int:
    """How many reports of this value support the first item and not the last."""
    plan = Plan(mechanism.size, mechanism)
    rows = plan.read(batches(plan, value, trials)).rows
    return int((mechanism.supports(rows, 0) & ~mechanism.supports(rows, mechanism.size - 1)).sum())
