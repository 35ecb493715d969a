"""Frequencies of people are not negative and add up to n; noisy estimates are neither. What others do about it.

    name        what it does                                           sums to n   not negative
    base-pos    negative estimates become 0                                             x
    base-cut    estimates below the significance threshold become 0                     x
    norm        the same number is added to all                            x
    norm-mul    negative ones become 0, the rest is scaled                 x            x
    norm-cut    the smallest become 0 until the rest sums to n or less                  x
    norm-sub    the nearest point that is both                             x            x

All are from T. Wang, M. Lopuhaä-Zwakenberg, Z. Li, B. Skoric and N. Li, Locally Differentially Private Frequency
Estimation with Consistency, NDSS 2020, section IV. Norm-sub there is a loop (zero what is negative, share the rest out,
repeat), whose end is the Euclidean projection on the simplex, found here by one sort: with u the estimates in
descending order, delta = (u_1 + .. + u_r - n)/r for the largest r with u_r > delta.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from localdp.errors import FrequencyError, InvalidInputError
from localdp.types import Vector

PROJECTIONS = ("base-pos", "base-cut", "norm", "norm-mul", "norm-cut", "norm-sub")


def project(values: ArrayLike, method: str, total: float, threshold: float) -> Vector:
    """The values made consistent with a total by one of `PROJECTIONS`; `threshold` is the one of base-cut.

    >>> project([5.0, 3.0, -2.0], "norm-sub", total=4, threshold=0).tolist()
    [3.0, 1.0, 0.0]
    """
    vector = np.asarray(values, np.float64)
    if vector.ndim != 1 or not vector.size:
        raise FrequencyError("only a flat list of frequencies, not an empty one, can be made consistent")
    if not np.isfinite(vector).all():
        raise FrequencyError("only finite frequencies can be made consistent, and some are not numbers or infinite")
    if not (np.isfinite(total) and total >= 0):
        raise InvalidInputError(f"frequencies add up to the number of users, which cannot be {total!r}")
    if method == "base-pos":
        return base_cut(vector, 0.0)
    if method == "base-cut":
        return base_cut(vector, threshold)
    if method == "norm":
        return norm(vector, total)
    if method == "norm-mul":
        return norm_mul(vector, total)
    if method == "norm-cut":
        return norm_cut(vector, total)
    if method == "norm-sub":
        return norm_sub(vector, total)
    raise InvalidInputError(f"there is no projection {method!r:.40}: choose from {', '.join(PROJECTIONS)}")


def base_cut(values: Vector, threshold: float) -> Vector:
    """Values below the threshold become 0."""
    return np.where(values < threshold, 0.0, values)


def norm(values: Vector, total: float) -> Vector:
    """The same number added to all, so that they sum to the total; some may stay negative."""
    scale = max(float(np.abs(values).max()), 1.0)
    mean = float((values / scale).mean()) * scale  # the plain sum of huge values would overflow
    return values - mean + total / values.size


def norm_mul(values: Vector, total: float) -> Vector:
    """Negative values become 0 and the rest is scaled to the total; where nothing is positive, all share equally."""
    largest = float(values.max())
    if largest <= 0:
        return np.full(values.size, total / values.size)
    shares = np.maximum(values, 0.0) / largest
    scaled: Vector = shares * (total / shares.sum())
    return scaled


def norm_cut(values: Vector, total: float) -> Vector:
    """The largest values that together do not exceed the total; the others become 0.

    Values equal to the smallest kept are kept or dropped together.
    """
    positive = np.sort(values[values > 0])[::-1]
    sums = np.cumsum(np.minimum(positive, 2 * total + 1))  # what is larger is dropped in any case
    kept = int(np.searchsorted(sums, total, side="right"))
    if kept == positive.size:
        return np.maximum(values, 0.0)
    return np.where(values > positive[kept], values, 0.0)


def norm_sub(values: Vector, total: float) -> Vector:
    """The nearest values, by squared distance, that are not negative and sum to the total."""
    below = np.maximum(values - values.max(), -total)  # those further below the largest end at 0 in any case
    descending = np.sort(below)[::-1]
    ranks = np.arange(1, values.size + 1)
    shifts = (np.cumsum(descending) - total) / ranks
    last = int(np.flatnonzero(descending >= shifts)[-1])
    nearest: Vector = np.maximum(below - shifts[last], 0.0)
    return nearest
