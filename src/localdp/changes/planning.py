r"""How many people it takes to see a change, before anything is collected.

Among n people on each side, the estimated change of a share has the variance 2 v / n, where v is the variance of a
report's noise and of the draw of one person. A change delta is seen with probability `seen` by a two-sided test of
level alpha if delta >= (z_(1-alpha/2) + z_seen) sqrt(2 v / n).

In a history, many periods before the change say where the share was, so that only those after it count: half as many
people, over as many periods as it takes them to report.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from localdp.mechanisms import Mechanism

ALPHA, SEEN = 0.05, 0.9
"""The level of the test, and how often a change is to be seen."""

SHARE, CHANGE = 0.1, 0.02
"""The share before the change that people are told about, and how much it grows."""


def people_for_change(mechanism: Mechanism) -> int:
    """The people on each side that show an item's share going from `SHARE` to `SHARE` + `CHANGE`.

    >>> from localdp import Plan
    >>> people_for_change(Plan(100, "oue", 1.0).mechanism), people_for_change(Plan(100, "oue", 2.0).mechanism)
    (204401, 48963)
    """
    return math.ceil((_reach() / CHANGE) ** 2 * 2 * _variance(mechanism, SHARE + CHANGE / 2))


def smallest_change(mechanism: Mechanism, people: int) -> float:
    """The change of an item's share, from `SHARE` on, that so many people on each side show.

    >>> from localdp import Plan
    >>> round(smallest_change(Plan(100, "oue", 1.0).mechanism, 200_000), 4)
    0.0202
    """
    return _reach() * math.sqrt(2 * _variance(mechanism, SHARE) / people)


def periods_for_change(mechanism: Mechanism, people: int) -> int:
    """The periods after such a step that show it, in a long history with so many people in each period.

    >>> from localdp import Plan
    >>> periods_for_change(Plan(100, "oue", 1.0).mechanism, 40_000)
    3
    """
    return math.ceil(people_for_change(mechanism) / 2 / people)


def _variance(mechanism: Mechanism, share: float) -> float:
    """The variance of one person's contribution to an estimated share."""
    return mechanism.variance(1) + mechanism.excess_variance * share + share * (1 - share)


def _reach() -> float:
    return NormalDist().inv_cdf(1 - ALPHA / 2) + NormalDist().inv_cdf(SEEN)
