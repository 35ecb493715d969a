"""Make frequencies consistent. True frequencies are never negative and add up to n; noisy estimates may violate both.

    name        what it does                                           sums to n   not negative
    base-pos    negative estimates become 0                                             x
    base-cut    estimates below the significance threshold become 0                     x
    norm        the same number is added to all estimates                  x
    norm-mul    negative estimates become 0, the others are scaled         x            x
    norm-cut    the smallest become 0 until the rest sums to n or less                  x
    norm-sub    the nearest that are not negative and sum to n             x            x

All are from T. Wang, M. Lopuhaä-Zwakenberg, Z. Li, B. Skoric and N. Li, Locally Differentially Private Frequency
Estimation with Consistency, NDSS 2020, section IV. There, norm-sub is a loop: subtract the same number from all so
that they sum to n, set the negative ones to 0 for good, and repeat with the others. The loop ends at the Euclidean
projection on the simplex, which one sort finds too: with u the estimates in descending order, subtract

    delta = (u_1 + .. + u_r - n) / r,      r the largest rank with u_r > delta.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from localdp.errors import FrequencyError, InvalidInputError
from localdp.types import Vector


def project(values: ArrayLike, method: str, total: float, threshold: float | Vector) -> Vector:
    """The values made consistent with a total by one of `PROJECTIONS`; only "base-cut" uses the threshold.

    There may be one threshold for each value.

    >>> project([5.0, 3.0, -2.0], "norm-sub", total=4, threshold=0).tolist()
    [3.0, 1.0, 0.0]
    """
    vector = np.asarray(values, np.float64)
    if vector.ndim != 1 or not vector.size:
        raise FrequencyError(
            f"`project` needs a flat list of at least one frequency; an array of shape {vector.shape} was given"
        )
    if not np.isfinite(vector).all():
        raise FrequencyError("`project` needs finite frequencies; some of those given are infinite or nan")
    if not (np.isfinite(total) and total >= 0):
        raise InvalidInputError(
            f"frequencies add up to the number of users, which must be finite and at least 0, not {total!r}"
        )
    if not isinstance(method, str) or method not in PROJECTIONS:
        raise InvalidInputError(f"there is no projection {method!r:.40}: choose from {', '.join(PROJECTIONS)}")
    return PROJECTIONS[method](vector, total, threshold)


def base_cut(values: Vector, threshold: float | Vector) -> Vector:
    """Values below the threshold become 0."""
    return np.where(values < threshold, 0.0, values)


def norm(values: Vector, total: float) -> Vector:
    """Add the same number to all values to make them sum to the total; some may stay negative."""
    scale = max(float(np.abs(values).max()), 1.0)
    mean = float((values / scale).mean()) * scale  # without the scale, the sum of huge values would overflow
    return values - mean + total / values.size


def norm_mul(values: Vector, total: float) -> Vector:
    """Negative values become 0 and the others are scaled to the total; if none is positive, all become total/d."""
    largest = float(values.max())
    if largest <= 0:
        return np.full(values.size, total / values.size)
    shares = np.maximum(values, 0.0) / largest
    scaled: Vector = shares * (total / shares.sum())
    return scaled


def norm_cut(values: Vector, total: float) -> Vector:
    """Keep the largest values that together do not exceed the total; the others become 0.

    Equal values are kept or dropped together.
    """
    positive = np.sort(values[values > 0])[::-1]
    sums = np.cumsum(np.minimum(positive, 2 * total + 1))  # capped, since larger values are dropped anyway
    kept = int(np.searchsorted(sums, total, side="right"))
    if kept == positive.size:
        return np.maximum(values, 0.0)
    return np.where(values > positive[kept], values, 0.0)


def norm_sub(values: Vector, total: float) -> Vector:
    """The nearest values, by squared distance, that are not negative and sum to the total."""
    below = np.maximum(values - values.max(), -total)  # capped, since lower values become 0 anyway
    descending = np.sort(below)[::-1]
    ranks = np.arange(1, values.size + 1)
    shifts = (np.cumsum(descending) - total) / ranks
    last = int(np.flatnonzero(descending >= shifts)[-1])
    nearest: Vector = np.maximum(below - shifts[last], 0.0)
    return nearest


PROJECTIONS: dict[str, Callable[[Vector, float, float | Vector], Vector]] = {
    "base-pos": lambda values, _total, _threshold: base_cut(values, 0.0),
    "base-cut": lambda values, _total, threshold: base_cut(values, threshold),
    "norm": lambda values, total, _threshold: norm(values, total),
    "norm-mul": lambda values, total, _threshold: norm_mul(values, total),
    "norm-cut": lambda values, total, _threshold: norm_cut(values, total),
    "norm-sub": lambda values, total, _threshold: norm_sub(values, total),
}
"""The projections by name, as functions of the values, the total and the significance threshold."""
