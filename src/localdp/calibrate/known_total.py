r"""The known total: what the sum of all frequencies says about each of them.

If it is known, every item's posterior uses it. The other items together have some distribution, and it is nearly
Gaussian, with the mean M - m_i and the variance V - v_i: the sums of all posterior means and variances, less the item's
own. They must hold what the item does not, so

    Pr(f_i = k | all estimates, total)   proportional to   Pr(f_i = k | fhat_i) N(total - k; M - m_i, V - v_i).

The posterior means then add up to the total, as far as they are Gaussian: an item of variance v_i takes the share v_i/V
of what was missing. Posteriors with long tails follow the pull less than that, so it is made stronger or weaker until
the means do add up. The factor depends on an item through its estimate alone, so the grid serves here too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from localdp.types import Vector

FARTHEST = 2.5
"""The total pulls no harder than if it were this many deviations away from the sum of the means."""

MOST_ADDED_UP = 100_000
"""The means of more items than this are not made to add up: it takes several passes, and little is missing."""

_ROUNDS, _CLOSE = 5, 1e-7  # of making the means add up, and the share of the total that may still be missing
LEAST_VARIANCE = 1 / 12
"""The least variance of a sum of frequencies: that of a number which is known up to rounding to a whole one."""


@dataclass(frozen=True)
class Pull:
    """What the known total says: `missing` is the total less M, and `variance` is V."""

    missing: float
    variance: float


def pull_towards(total: float, mean: float, variance: float) -> Pull:
    """What this total says, if the posterior means add up to `mean` and their variances to `variance`."""
    limit = FARTHEST * np.sqrt(variance)
    return Pull(float(np.clip(total - mean, -limit, limit)), variance)


def adding_up(pull: Pull, total: float, summed: Callable[[Pull], float]) -> Pull:
    """The pull with which the posterior means add up to the total, where `summed` says what they add up to.

    A pull at its limit stays there: such a total contradicts the estimates.
    """
    limit = FARTHEST * np.sqrt(pull.variance)
    here, slope, step, before = pull.missing, 1.0, 0.0, 0.0
    for _ in range(_ROUNDS):
        if abs(here) >= limit:
            break
        away = total - summed(Pull(here, pull.variance))
        if abs(away) <= _CLOSE * abs(total):
            break
        if step:
            slope = float(np.clip((before - away) / step, 0.2, 5.0))
        before, step = away, away / slope
        here = float(np.clip(here + step, -limit, limit))
    return Pull(here, pull.variance)


def normalized(logs: Vector) -> Vector:
    """The posteriors with these logarithms, a row for each; the argument is overwritten."""
    logs -= logs.max(axis=1, keepdims=True)
    np.exp(logs, out=logs)
    logs /= logs.sum(axis=1, keepdims=True)
    return logs


def pulled(weights: Vector, k: Vector, pull: Pull) -> Vector:
    """The posteriors in the rows of `weights`, once the total is known."""
    centre = float(k[k.size // 2])  # measured from there, because the squares of large frequencies would cancel
    away = k - centre
    means = weights @ away
    variances = np.maximum(weights @ away**2 - means**2, 0.0)
    others = np.maximum(pull.variance - variances, LEAST_VARIANCE)
    logs = np.subtract(away, (means + pull.missing)[:, None])
    np.square(logs, out=logs)
    logs *= (-0.5 / others)[:, None]
    with np.errstate(divide="ignore"):
        logs += np.log(weights)
    return normalized(logs)
