"""Theorem 1 measured: with the true prior, no estimator has a smaller mean squared error than the posterior mean.

Every estimator here sees the same noisy estimates. The posterior is computed from the true spectrum, as the theorem
assumes. The rivals get more help than anyone has in practice: the best threshold and the best shrinking factor are
chosen afterwards, knowing the true frequencies of all items.
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
METRIC = "error under the true prior"


def run(task: Task) -> Measurements:
    """The estimation error of the posterior mean under the true prior, and of its rivals."""
    truth = task.data.frequencies
    estimate = Plan(task.data.d, task.mechanism, task.epsilon).simulate(truth, seed=task.seed).estimate()
    posterior = estimate.calibrate(Fixed(truth))
    raw = estimate.frequencies
    estimators = {
        MEAN: posterior.frequencies,
        MEDIAN: posterior.quantile(0.5),
        BEST_CUT: _best_cut(raw, truth.astype(np.float64)),
        BEST_FACTOR: raw * (raw @ truth) / max(float(raw @ raw), 1e-300),
        ZERO: estimate.zeroed().frequencies,
        NORM_SUB: estimate.project("norm-sub").frequencies,
        RAW: raw,
    }
    return {(None, name, METRIC): metrics.estimation_error(found, truth) for name, found in estimators.items()}


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
