r"""One p-value for a whole table: could surveys with these errors show such differences if nothing had changed?

**The statistic** weighs the differences as the prior on changes would (`localdp.changes.movement`). It is the mean,
over several models of change, of how much more probable the differences are under that model than under no change:

    T = log mean_h prod_i [ 1 - w_h + w_h N(z_i; 0, 1 + r_hi^2) / N(z_i; 0, 1) ],

so that it sees many small changes (w = 1), a few large ones (w small), and changes of popular items rather than of rare
ones (r grows with the level). A mean of likelihood ratios has the largest power on average over its models.

**Its distribution** if nothing has changed is simulated: both surveys are drawn anew from one population, people and
noise, as often as it takes (`localdp.kernels.simulated_null`). The population is the calibrated one of both surveys
together. The weights r_hi depend on the levels only, which say nothing about the differences.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import logsumexp

from localdp.changes.movement import units
from localdp.changes.sides import Side, weight_of_first
from localdp.kernels.simulated_null import simulated_p_value
from localdp.types import Vector

DEVIATIONS = (1.0, 2.0, 4.0, 8.0)
"""Those of changes that are averaged, in errors of the item that shows them best."""

_FRACTIONS = (1.0, 0.1, 0.01)  # of the items that change
_BLOCK = 1 << 21  # numbers in memory at a time


def equality_p_value(before: Side, after: Side, levels: Vector) -> float:
    """The probability of differences like these or larger, if both populations have the same shares."""
    weights = _weights(before, after, levels)
    compare = _comparison(before, after, weights)
    null = np.maximum(levels, 0.0)
    if before.adds_up:
        null = null / null.sum()

    def draw(times: int, rng: np.random.Generator) -> Vector:
        return compare(before.redraw(null, times, rng), after.redraw(null, times, rng))

    observed = float(compare(before.shares[None], after.shares[None])[0])
    return simulated_p_value(observed, draw, size=levels.size)


def _weights(before: Side, after: Side, levels: Vector) -> Vector:
    """The deviations of changes under each model, in errors: axes models and items."""
    error = np.sqrt(np.maximum(before.variances(levels) + after.variances(levels), 1e-300))
    return np.concatenate([size * units(levels, error) / error for size in DEVIATIONS])


def _comparison(before: Side, after: Side, ratios: Vector) -> Callable[[Vector, Vector], Vector]:
    """The statistic as a function of the shares of both sides, one row for each pair of surveys."""
    weight = weight_of_first(before, after)

    def compare(first: Vector, second: Vector) -> Vector:
        found = np.empty(first.shape[0])
        rows = max(1, _BLOCK // before.size)
        for start in range(0, first.shape[0], rows):
            a, b = first[start : start + rows], second[start : start + rows]
            pooled = weight * a + (1 - weight) * b
            error = np.sqrt(np.maximum(before.variances(pooled) + after.variances(pooled), 1e-300))
            found[start : start + rows] = statistic((b - a) / error, ratios)
        return found

    return compare


def statistic(z: Vector, ratios: Vector) -> Vector:
    """T for each row of z."""
    squares = 0.5 * np.square(z)
    logs = []
    fractions = [w for w in _FRACTIONS if w == 1 or w * z.shape[1] >= 1] or [1.0]
    for ratio in ratios:
        grown = 1 + np.square(ratio)
        each = squares * (1 - 1 / grown) - 0.5 * np.log(grown)
        for w in fractions:
            if w == 1:
                logs.append(each.sum(axis=1))
            else:
                logs.append(np.log1p(w * np.expm1(np.minimum(each, 600.0))).sum(axis=1))
    return np.asarray(logsumexp(logs, axis=0) - np.log(len(logs)))
