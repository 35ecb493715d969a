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


def sum_score(estimates: Vector, total: float, variances: Vector) -> float:
    """How many deviations the sum of the estimates is above the total.

    `variances` are those of the noise: one for each item, or one for all.

    >>> sum_score(np.array([10.0, 20.0]), 26.0, np.array([2.0, 2.0]))
    2.0
    """
    away = float(estimates.sum()) - total
    deviation = math.sqrt(float(np.broadcast_to(variances, estimates.shape).sum()))
    if abs(away) <= 1e-9 * max(abs(total), float(np.abs(estimates).max(initial=0.0))):
        return 0.0
    return away / deviation if deviation > 0 else math.copysign(math.inf, away)


def moved_to_total(estimates: Vector, total: float, variances: Vector) -> Vector:
    """The estimates, moved so that they add up to the total.

    >>> moved_to_total(np.array([10.0, 20.0]), 27.0, np.array([1.0, 2.0])).tolist()
    [9.0, 18.0]
    """
    away = float(estimates.sum()) - total
    shares = np.broadcast_to(variances, estimates.shape)
    if abs(sum_score(estimates, total, variances)) > DOUBTFUL or not shares.any() or not np.isfinite(shares).all():
        return estimates - away / estimates.size
    return estimates - shares * (away / float(shares.sum()))


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
