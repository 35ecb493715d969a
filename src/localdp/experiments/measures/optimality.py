"""Theorem 1 measured: with the true prior, no estimator has a smaller mean squared error than the posterior mean.

Every estimator here sees the same noisy estimates. The posterior is computed from the true spectrum, as the theorem
assumes. The rivals get more help than anyone has in practice: the best threshold and the best shrinking factor are
chosen afterwards, knowing the true frequencies of all items.

Those are far away, and a posterior that is slightly wrong would beat them, too. The neighbours are where the theorem
could fail: the posterior mean a little larger, a little smaller, with a little of the raw estimate mixed in, and, the
sharpest of them, corrected by what a second survey of the same people shows. The posterior mean is optimal exactly if
its error is 0 on average among all items with estimates of the same size. The second survey measures that average
error, with the truth at hand, in groups of items; where it is not 0, subtracting it makes the mean better.
"""

from __future__ import annotations

import numpy as np

from localdp import metrics
from localdp.experiments.tasks import NORM_SUB, RAW, ZERO, Measurements, Task
from localdp.plan import Plan
from localdp.priors import Fixed
from localdp.types import Vector

MEAN, MEDIAN = "posterior mean", "posterior median"
BEST_CUT, BEST_FACTOR = "best threshold in hindsight", "best factor in hindsight"
RIVALS = (MEDIAN, BEST_CUT, BEST_FACTOR, ZERO, NORM_SUB, RAW)
LARGER, SMALLER, MIXED = "1% larger", "1% smaller", "1% of raw mixed in"
CORRECTED = "corrected by a second survey"
NEIGHBOURS = (LARGER, SMALLER, MIXED, CORRECTED)
METRIC = "error under the true prior"
_SECOND = 1_000_003  # added to the seed of the second survey


def run(task: Task) -> Measurements:
    """The estimation error of the posterior mean under the true prior, and of its rivals."""
    truth = task.data.frequencies.astype(np.float64)
    plan = Plan(task.data.d, task.mechanism, task.epsilon)
    estimate, second = (plan.simulate(task.data.frequencies, seed=task.seed + more).estimate() for more in (0, _SECOND))
    prior = Fixed(task.data.frequencies)
    posterior = estimate.calibrate(prior)
    mean, raw = posterior.frequencies, estimate.frequencies
    estimators = {
        MEAN: mean,
        MEDIAN: posterior.quantile(0.5),
        BEST_CUT: _best_cut(raw, truth),
        BEST_FACTOR: raw * (raw @ truth) / max(float(raw @ raw), 1e-300),
        ZERO: estimate.zeroed().frequencies,
        NORM_SUB: estimate.project("norm-sub").frequencies,
        RAW: raw,
        LARGER: 1.01 * mean,
        SMALLER: 0.99 * mean,
        MIXED: 0.99 * mean + 0.01 * raw,
        CORRECTED: mean - _average_errors(second.calibrate(prior).frequencies, truth, mean),
    }
    return {(None, name, METRIC): metrics.estimation_error(found, truth) for name, found in estimators.items()}


def _average_errors(learnt: Vector, truth: Vector, asked: Vector) -> Vector:
    """The average error of the posterior means `learnt`, in groups of items that have means of similar size.

    Each group has twice as many items as the one above it, because large frequencies are few. The result has the
    error of the group that each of the means `asked` falls into.
    """
    order = np.argsort(-learnt, kind="stable")
    ends = np.minimum(8 * (2 ** np.arange(1, 60) - 1), learnt.size)
    ends = ends[: int(np.argmax(ends == learnt.size)) + 1]
    errors = np.array([part.mean() for part in np.split((learnt - truth)[order], ends[:-1])])
    limits = learnt[order][ends[:-1] - 1]  # the smallest mean of each group but the last
    return errors[np.searchsorted(-limits, -asked, side="left")]


def _best_cut(raw: Vector, truth: Vector) -> Vector:
    """The estimates, with all below a threshold set to zero, for the threshold with the smallest true error.

    Items are sorted by their estimate. Keeping the first j of them costs their errors plus the squares of the others.
    """
    order = np.argsort(-raw, kind="stable")
    kept, dropped = (raw - truth)[order] ** 2, truth[order] ** 2
    cost = np.concatenate([[0.0], np.cumsum(kept)]) + np.concatenate([np.cumsum(dropped[::-1])[::-1], [0.0]])
    cut = np.zeros(raw.size)
    first = order[: int(np.argmin(cost))]
    cut[first] = raw[first]
    return cut
