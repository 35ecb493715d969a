"""One trial of an experiment: simulate all users with a seed, estimate with every method, and measure the result.

The simulated aggregate has the distribution that running every user would give (for olh: with an ideal hash). Methods
are named as in the paper, without the mechanism: "raw", "Zero", "Calibrate". The paper fits its power law in two ways:
"(mv)" is the mean-variance method and "(mle)" is maximum likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localdp import metrics
from localdp.datasets import Dataset
from localdp.estimate import Estimate, Frequencies
from localdp.plan import Plan
from localdp.priors import Fixed

RAW, ZERO, MOMENTS, LIKELIHOOD = "raw", "Zero", "Calibrate (mv)", "Calibrate (mle)"
AUTO, NORM_SUB, ORACLE, CUT = "auto", "Norm-Sub", "oracle", "Calibrate (mle), Zero"
AUTO_F1, ORACLE_F1 = "auto, rule f1", "oracle, rule f1"

Measurements = dict[tuple[float | None, str, str], float]
"""Measured numbers by threshold (a multiple of the significance threshold, or None), method and metric."""


@dataclass(frozen=True)
class Task:
    """A data set, a mechanism and an epsilon. `multiples` are the thresholds at which heavy hitters are scored."""

    data: Dataset
    mechanism: str
    epsilon: float
    multiples: tuple[float, ...] = ()
    seed: int = 0


def run(task: Task) -> Measurements:
    """Run one trial and return everything that was measured."""
    truth = task.data.frequencies
    estimate = Plan(task.data.d, task.mechanism, task.epsilon).simulate(truth, seed=task.seed).estimate()
    methods = _methods(estimate, task.data)
    measured: Measurements = {}
    for method, frequencies in methods.items():
        measured[None, method, "error"] = metrics.estimation_error(frequencies.frequencies, truth)
    for multiple in task.multiples:
        measured |= _hitter_scores(methods, task.data, multiple * estimate.significance_threshold(), multiple)
    low, high = methods[AUTO].interval(0.9)
    covered = (low <= truth) & (truth <= high)
    heavy = estimate.frequencies > estimate.significance_threshold()
    measured[None, AUTO, "covered"] = float(covered.mean())
    measured[None, AUTO, "heavy covered"] = float(covered[heavy].mean()) if heavy.any() else float("nan")
    noise = estimate.frequencies - truth
    measured[None, RAW, "noise mean"] = float(noise.mean())
    measured[None, RAW, "noise deviation"] = float(noise.std())
    return measured


def _methods(estimate: Estimate, data: Dataset) -> dict[str, Frequencies]:
    likelihood = estimate.calibrate("power-law", "mle")
    return {
        RAW: estimate,
        ZERO: estimate.zeroed(),
        NORM_SUB: estimate.project("norm-sub"),
        MOMENTS: estimate.calibrate("power-law", "mean-variance"),
        LIKELIHOOD: likelihood,
        CUT: likelihood.zeroed(),
        AUTO: estimate.calibrate(),
        ORACLE: estimate.calibrate(Fixed(data.frequencies)),
    }


def _hitter_scores(methods: dict[str, Frequencies], data: Dataset, threshold: float, multiple: float) -> Measurements:
    """Precision, recall and F-score of each method at one threshold, given in users and as a multiple."""
    truth = np.flatnonzero(data.frequencies > threshold).tolist()
    chosen = {method: (methods[method], "mean") for method in (RAW, ZERO, MOMENTS, LIKELIHOOD)}
    chosen |= {AUTO_F1: (methods[AUTO], "f1"), ORACLE_F1: (methods[ORACLE], "f1")}
    measured: Measurements = {}
    for method, (frequencies, rule) in chosen.items():
        scores = metrics.heavy_hitter_scores(frequencies.heavy_hitters(threshold, rule), truth)
        measured[multiple, method, "precision"] = scores.precision
        measured[multiple, method, "recall"] = scores.recall
        measured[multiple, method, "F-score"] = scores.f_score
    return measured
