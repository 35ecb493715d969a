"""One trial: simulate all users with a seed, estimate with every method, and measure the result.

The simulated aggregate has the distribution that running every user would give (for olh: with an ideal hash).
"""

from __future__ import annotations

import numpy as np

from localdp import metrics
from localdp.datasets import Dataset
from localdp.estimate import Estimate, Frequencies
from localdp.experiments.measures.normality import gaussian_test
from localdp.experiments.tasks import (
    AUTO,
    AUTO_F1,
    CUT_LIKELIHOOD,
    CUT_MOMENTS,
    LIKELIHOOD,
    MOMENTS,
    NORM_SUB,
    ORACLE,
    ORACLE_F1,
    RAW,
    ZERO,
    Measurements,
    Task,
)
from localdp.priors import Fixed


def run(task: Task) -> Measurements:
    """Run one trial and return everything that was measured."""
    truth = task.data.frequencies
    estimate = task.estimate()
    methods = _methods(estimate, task.data)
    measured: Measurements = {}
    for method, frequencies in methods.items():
        measured[None, method, "error"] = metrics.estimation_error(frequencies.frequencies, truth)
    for multiple in task.multiples:
        measured |= _hitter_scores(methods, task.data, multiple * estimate.significance_threshold(), multiple)
    noise = estimate.frequencies - truth
    measured[None, RAW, "noise mean"] = float(noise.mean())
    measured[None, RAW, "noise deviation"] = float(noise.std())
    distance, p_value = gaussian_test(noise, estimate.std_error)
    measured |= {(None, RAW, "noise distance"): distance, (None, RAW, "noise p-value"): p_value}
    if task.multiples:
        measured |= _coverage(methods[AUTO], estimate, task.data)
    return measured


def _methods(estimate: Estimate, data: Dataset) -> dict[str, Frequencies]:
    moments = estimate.calibrate("power-law", "mean-variance")
    likelihood = estimate.calibrate("power-law", "mle")
    return {
        RAW: estimate,
        ZERO: estimate.zeroed(),
        NORM_SUB: estimate.project("norm-sub"),
        MOMENTS: moments,
        LIKELIHOOD: likelihood,
        CUT_MOMENTS: moments.zeroed(),
        CUT_LIKELIHOOD: likelihood.zeroed(),
        AUTO: estimate.calibrate(),
        ORACLE: estimate.calibrate(Fixed(data.frequencies)),
    }


def _hitter_scores(methods: dict[str, Frequencies], data: Dataset, threshold: float, multiple: float) -> Measurements:
    """Precision, recall and F-score of each method at one threshold, given in users and as a multiple.

    The paper's rule names the items whose frequency is above the threshold. It is applied here to the frequencies:
    `heavy_hitters` names the same items, and would also compute their intervals, which takes long.
    """
    truth = metrics.true_hitters(data.frequencies, threshold)
    found = {
        method: np.flatnonzero(methods[method].frequencies > threshold) for method in (RAW, ZERO, MOMENTS, LIKELIHOOD)
    }
    for name, method in ((AUTO_F1, AUTO), (ORACLE_F1, ORACLE)):
        found[name] = methods[method].heavy_hitters(threshold, "f1").indices
    measured: Measurements = {
        (multiple, RAW, "threshold in users"): threshold,
        (multiple, RAW, "true hitters"): float(truth.size),
    }
    for method, indices in found.items():
        scores = metrics.heavy_hitter_scores(indices.tolist(), truth.tolist())
        measured[multiple, method, "precision"] = scores.precision
        measured[multiple, method, "recall"] = scores.recall
        measured[multiple, method, "F-score"] = scores.f_score
    return measured


def _coverage(auto: Frequencies, estimate: Estimate, data: Dataset) -> Measurements:
    """How many true frequencies lie within the 90% intervals of `auto`."""
    low, high = auto.interval(0.9)
    covered = (low <= data.frequencies) & (data.frequencies <= high)
    heavy = estimate.frequencies > estimate.significance_threshold()
    return {
        (None, AUTO, "covered"): float(covered.mean()),
        (None, AUTO, "heavy covered"): float(covered[heavy].mean()) if np.any(heavy) else float("nan"),
    }
