r"""Weighted sums of frequencies, such as groups of items, with intervals that hold whatever the group has to do with
popularity.

There are two ways to estimate a sum T of weight times frequency. The *raw* sum R, over the estimates, is unbiased with
known noise of variance V_R, whatever the group. The *calibrated* sum C, over posterior means under the two-level prior
(`localdp.calibrate.two_levels`), has the smaller variance V_C if that prior is right. Then R - C, which is noise that
calibrating took away, has mean 0 and variance V_R - V_C. If the prior is wrong about the group, C has a bias B:

    R - C  ~  N(B, V_R - V_C),        B ~ N(0, r (V_R - V_C))

With r = 0 the prior is right; a large r means that only the raw sum is to be trusted. Given r,

    T  ~  N(C + w (R - C),  V_C + w (V_R - V_C)),        w = r / (1 + r),

which runs from the calibrated sum to the raw one. r is averaged over a grid, weighted by how likely it makes the
difference R - C that is seen.

If the total is not known, the level of the prior was learnt from the estimates, whose mean has an error of
sigma/sqrt(d). A posterior mean moves with that level by 1 - b, where b = Var(f | fhat)/sigma^2. The square of what this
does to the sum is part of V_C.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp, ndtr

from localdp.calibrate.base import Quantity
from localdp.calibrate.known_total import FARTHEST
from localdp.calibrate.two_levels import Block, Sums, TwoLevels
from localdp.types import Places, Vector

MOST_CLASSES = 8
"""Items whose weights have more different values than this are put into so many classes of similar weights."""

RATIOS = np.array([0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1e3, 1e4])
RATIO_WEIGHTS = np.append(0.4, np.full(RATIOS.size - 1, 0.6 / (RATIOS.size - 1)))
"""The values of r, and their weights before anything is seen."""

_STEPS = 60  # of the bisection for a quantile


def classes_of(weights: Vector) -> tuple[Places, int]:
    """The class of every item, in the order of the weights, and the number of classes.

    >>> classes_of(np.array([0.0, 1.0, 0.0]))[0].tolist()
    [0, 1, 0]
    """
    values, places = np.unique(weights, return_inverse=True)
    if values.size > MOST_CLASSES:
        bounds = np.unique(np.quantile(weights, np.arange(1, MOST_CLASSES) / MOST_CLASSES))
        values, places = np.unique(np.searchsorted(bounds, weights), return_inverse=True)
    return places.astype(np.intp), values.size


def weighted_sum(blocks: Sequence[Block], classes: int, total: float | None, level: float) -> Quantity:
    """The weighted sum over all items of the blocks, with its interval."""
    raw = _raw(blocks)
    scales, sums = TwoLevels(blocks, classes).sums()
    if total is None:
        centre, most = float(raw.mean[0]), float(raw.covariance[0, 0])
        pairs = [(float(one.mean[0]), float(one.covariance[0, 0]) + _level_doubt(blocks, one)) for one in sums]
    else:
        centre, most = raw.given(total, np.inf)
        pairs = [one.given(total, FARTHEST) for one in sums]
    means, variances = np.array(pairs).T
    calibrated = float(scales @ means)
    variance = float(scales @ (np.clip(variances, 0.0, most) + (means - calibrated) ** 2))
    return combined(calibrated, variance, centre, most, level)


def combined(calibrated: float, variance: float, raw: float, raw_variance: float, level: float) -> Quantity:
    """The calibrated sum and the raw sum combined: see the top of this file.

    >>> combined(100.0, 25.0, 101.0, 100.0, 0.9).value < 100.5  # they agree: the calibrated sum is more exact
    True
    >>> combined(100.0, 25.0, 300.0, 100.0, 0.9).value > 299.0  # they contradict: the raw sum is unbiased
    True
    """
    if raw_variance <= 0:
        return Quantity(raw, raw, raw, level)
    variance = min(max(variance, 1e-9 * raw_variance), raw_variance)
    between = max(raw_variance - variance, 1e-9 * raw_variance)
    spread = (1 + RATIOS) * between
    logs = np.log(RATIO_WEIGHTS) - 0.5 * np.log(spread) - 0.5 * (raw - calibrated) ** 2 / spread
    chances = np.exp(logs - logsumexp(logs))
    shares = RATIOS / (1 + RATIOS)
    centres, deviations = calibrated + shares * (raw - calibrated), np.sqrt(variance + shares * between)
    low, high = (_quantile(chances, centres, deviations, side) for side in ((1 - level) / 2, (1 + level) / 2))
    return Quantity(float(chances @ centres), low, high, level)


def _raw(blocks: Sequence[Block]) -> Sums:
    """The weighted sum of the estimates and the sum of them all."""
    mean, covariance = np.zeros(2), np.zeros((2, 2))
    for block in blocks:
        w, v = block.weights, block.variances
        mean += [w @ block.estimates, block.estimates.sum()]
        covariance += [[w**2 @ v, w @ v], [w @ v, v.sum()]]
    return Sums(mean, covariance)


def _level_doubt(blocks: Sequence[Block], sums: Sums) -> float:
    """The variance that the unknown level of the prior adds to the weighted sum."""
    items = sum(block.estimates.size for block in blocks)
    variance = sum(float(block.noise.variance) * block.estimates.size for block in blocks) / items
    moved = sum(float(block.weights.sum()) for block in blocks) - float(sums.covariance[0, 1]) / variance
    return moved**2 * variance / items


def _quantile(chances: Vector, centres: Vector, deviations: Vector, level: float) -> float:
    """The quantile of a mixture of normal distributions, by bisection."""
    low, high = float((centres - 10 * deviations).min()), float((centres + 10 * deviations).max())
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if chances @ ndtr((middle - centres) / deviations) < level:
            low = middle
        else:
            high = middle
    return high
