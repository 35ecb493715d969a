"""Use the known sum of all frequencies: if every user holds one item, the frequencies add up to n.

Whether the sum is known is said by the question (`Question.total`), or by whoever makes an `Estimate`.

Estimates do not add up to n by themselves. Let them have independent noise with variances Var_i. The sum of the
estimates then says nothing about how the n users are divided, so nothing is lost if the estimates are moved to add up:

    x_i  ->  x_i - Var_i / sum_j Var_j  *  (sum_j x_j - total)

Items with more noise are moved further. If the sum is farther away than noise can carry it, something else was added
to the estimates, such as reports that support every item, and all items are moved by the same amount.
"""

from __future__ import annotations

import math

import numpy as np

from localdp.types import Vector

DOUBTFUL = 4.0
"""A sum this many deviations away from the total is hardly due to noise: that happens once in 16,000 times."""

_SHOWN = 1e6  # a sum farther away than this is not described more closely


def sum_score(estimates: Vector, total: float, variances: Vector, shared: float = 1.0) -> float:
    """How many deviations the sum of the estimates is above the total.

    `variances` are those of the noise: one for each item, or one for all. Where items share noise, the variance of the
    sum is `shared` times their sum.

    >>> sum_score(np.array([10.0, 20.0]), 26.0, np.array([2.0, 2.0]))
    2.0
    """
    return _score(estimates, float(estimates.sum()) - total, total, shared * _sum_of(variances, estimates.size))


def _score(estimates: Vector, away: float, total: float, variance: float) -> float:
    """How many deviations the sum is above the total, if it is `away` from it and has this variance."""
    if abs(away) <= 1e-9 * max(abs(total), float(estimates.max(initial=0.0)), -float(estimates.min(initial=0.0))):
        return 0.0
    return away / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, away)


def _sum_of(variances: Vector, items: int) -> float:
    return float(np.sum(variances)) * (items if np.ndim(variances) == 0 else 1)


def moved_to_total(estimates: Vector, total: float, variances: Vector, out: Vector | None = None) -> Vector:
    """The estimates, moved so that they add up to the total; `out` may be `variances`, to save memory.

    >>> moved_to_total(np.array([10.0, 20.0]), 27.0, np.array([1.0, 2.0])).tolist()
    [9.0, 18.0]
    """
    away, everything = float(estimates.sum()) - total, _sum_of(variances, estimates.size)
    if not 0 < everything < math.inf or abs(_score(estimates, away, total, everything)) > DOUBTFUL:
        return estimates - away / estimates.size
    moved = np.multiply(variances, away / everything, out=out)
    return np.subtract(estimates, moved, out=moved if np.ndim(moved) else None)


def adds_up_by_itself(estimates: Vector, total: float) -> bool:
    """Whether the sum of the estimates is the total up to rounding, as that of `grr` and `ss` always is."""
    return bool(abs(float(estimates.sum()) - total) <= 1e-6 * max(total, 1.0))


def sum_note(score: float) -> str | None:
    """What to say about the sum of the estimates; None if it is as noise allows."""
    if abs(score) <= DOUBTFUL:
        return None
    where = "above" if score > 0 else "below"
    far = f"{abs(score):,.1f}" if abs(score) < _SHOWN else "more than a million"
    return (
        f"the sum of the estimates is {far} deviations {where} the total (z = {score:.4g}), which noise "
        "hardly explains: reports may be forged, or the total, the variance or the plan may be wrong"
    )
