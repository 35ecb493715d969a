"""The statistical audit: what an attacker can prove about epsilon from the bytes that leave the device.

For every mechanism here the reports that best tell a holder of x from a holder of y are those that support x and
not y: each of them is e^epsilon times as likely under x. The audit sends many reports of either through
the wire, counts that event on the bytes read back, and bounds both probabilities by Clopper-Pearson: with p_x at
least `low` and p_y at most `high`, epsilon is at least ln(low/high), wrongly with probability at most `error`.

A bound above epsilon is a leak. One far below is over-noising: privacy nobody asked for, paid in accuracy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from localdp.mechanisms import Mechanism
from localdp.plan import Plan

FLOOR = 0.85  # an honest mechanism stays above it but once in 1e9 audits of a million trials


@dataclass(frozen=True)
class Audit:
    """What the audit of one mechanism found."""

    mechanism: Mechanism
    trials: int
    bound: float

    @property
    def floor(self) -> float:
        """The bound that a mechanism which spends its whole budget reaches: well above this share of epsilon."""
        return FLOOR * self.mechanism.requested_epsilon

    @property
    def leaks(self) -> bool:
        """More can be told from a report than epsilon allows."""
        return self.bound > self.mechanism.requested_epsilon

    @property
    def wastes(self) -> bool:
        """Less can be told from a report than epsilon would have allowed."""
        return self.bound < self.floor


def audit(mechanism: Mechanism, trials: int = 1_000_000, error: float = 1e-6) -> Audit:
    """Bound epsilon from below with `trials` reports of either of two values, by secure randomness."""
    from scipy.stats import beta

    likely, unlikely = (_hits(mechanism, value, trials) for value in (0, mechanism.size - 1))
    low = beta.ppf(error / 2, likely, trials - likely + 1) if likely else 0.0
    high = beta.isf(error / 2, unlikely + 1, trials - unlikely)
    return Audit(mechanism, trials, math.log(low / high) if low > 0 else -math.inf)


def _hits(mechanism: Mechanism, value: int, trials: int) -> int:
    """How many reports of holders of the value support the first item and not the last."""
    plan = Plan(mechanism.size, mechanism)
    rows = plan.read(plan.privatize(np.full(trials, value)).to_bytes()).rows
    return int((mechanism.supports(rows, 0) & ~mechanism.supports(rows, mechanism.size - 1)).sum())
