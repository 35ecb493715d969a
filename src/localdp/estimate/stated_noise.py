"""Compare the estimates with the noise that they are said to have.

An item has at least 0 holders, so its estimate is no lower than noise alone would make it. Of d estimates, no more than
d Phi(-z) are expected to lie z deviations below zero. Many more mean that the noise is larger than stated.

If it is, its variance can be estimated: most items are rare in most data, so the lower half of the estimates is mostly
noise. The mean square of their distances to the median is the variance of that noise. It is too large if the
frequencies of the rare items differ by more than the noise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from localdp.errors import InvalidInputError
from localdp.types import Vector
from localdp.validation import checked_variance, checked_variances

_LEVELS = (2.0, 2.5, 3.0, 4.0, 5.0, 6.0)  # deviations below zero where estimates are counted
_FALSE_ALARM = 1e-4  # the probability that stated noise that is right is doubted, at each level
FEWEST = 30
"""A variance can be estimated from this many items or more."""


def estimated_variance(estimates: Vector) -> float:
    """The variance of the noise, from the lower half of the estimates.

    >>> round(estimated_variance(np.random.default_rng(1).normal(0, 5, 100_000)))
    25
    """
    if estimates.size < FEWEST:
        raise InvalidInputError(
            f"a variance can be estimated from {FEWEST} items or more, and there are {estimates.size}: give the "
            "variance that the mechanism's description states"
        )
    return float(np.mean(lower_half(estimates) ** 2))


def lower_half(estimates: Vector) -> Vector:
    """How far the lower half of the estimates lies from their median."""
    middle = float(np.median(estimates))
    return estimates[estimates <= middle] - middle


def stated_variance(variance: Any, estimates: Vector) -> float | Vector:
    """The variance that was stated: one for all items, or an array with one for each of these estimates.

    >>> stated_variance(25, np.zeros(2)), stated_variance([16, 25], np.zeros(2)).tolist()
    (25.0, [16.0, 25.0])
    """
    if isinstance(variance, str) and variance == "estimate":
        return estimated_variance(estimates)
    if isinstance(variance, list | tuple) or getattr(variance, "ndim", 0) != 0:
        return checked_variances(variance, estimates.size)
    return checked_variance(variance)


def noise_note(estimates: Vector, deviations: Vector | float, spacing: float = 0.0) -> str | None:
    """What to say if too many estimates lie far below zero; None if the stated noise explains them.

    `deviations` is the stated standard deviation, one for all items or one for each. `spacing` is the distance between
    possible estimates: an estimate is counted only if it is lower than the limit by that much.
    """
    from scipy.special import bdtrc

    worst: tuple[float, int, float] | None = None
    for level in _LEVELS:
        found = int(np.count_nonzero(estimates < -level * deviations - spacing))
        share = 0.5 * math.erfc(level / math.sqrt(2))
        if found > 1 and bdtrc(found - 1, estimates.size, share) < _FALSE_ALARM:
            worst = level, found, share * estimates.size
    if worst is None:
        return None
    level, found, expected = worst
    more = _suggestion(estimates, deviations) if estimates.size >= FEWEST else ""
    return (
        f"{found:,} estimates lie more than {level:g} deviations below zero, where noise as stated puts at most about "
        f"{expected:,.2g}: the noise is larger than stated{more}. If the "
        "same people reported several times, give reports_per_person; otherwise give the right variance, or "
        "variance='estimate'"
    )


def _suggestion(estimates: Vector, deviations: Vector | float) -> str:
    """How large the noise seems to be, in parentheses; nothing if it does not seem larger than stated."""
    if np.ndim(deviations):
        times = math.sqrt(estimated_variance(estimates / deviations))
        return f" (the estimates suggest deviations {times:.3g} times as large)" if times > 1 else ""
    guess, stated = math.sqrt(estimated_variance(estimates)), float(deviations)
    return f" (the estimates suggest a deviation of {guess:,.4g} instead of {stated:,.4g})" if guess > stated else ""
