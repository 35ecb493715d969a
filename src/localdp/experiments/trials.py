"""One trial of an experiment: a seeded aggregate with exactly the law of running every user, and all that is measured.

Methods are named as in the paper, after the mechanism: "OUE", "OUE-Zero", "OUE-Calibrate". The paper fits its power law
in two ways; "(mv)" is the mean-variance method, "(mle)" maximum likelihood.
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

Figures = dict[tuple[float | None, str, str], float]
"""What was measured, by threshold (as a multiple of the significance threshold), method and metric."""


@dataclass(frozen=True)
class Task:
    """A mechanism with an epsilon on a data set, and the thresholds at which heavy hitters are asked for."""

    data: Dataset
    mechanism: str
    epsilon: float
    multiples: tuple[float, ...] = ()
    seed: int = 0


def run(task: Task) -> Figures:
    """Run one trial."""
    truth = task.data.frequencies
    estimate = Plan(task.data.d, task.mechanism, task.epsilon).simulate(truth, seed=task.seed).estimate()
    methods = _methods(estimate, task.data)
    figures: Figures = {}
    for method, frequencies in methods.items():
        figures[None, method, "error"] = metrics.estimation_error(frequencies.frequencies, truth)
    for multiple in task.multiples:
        figures |= _hitters(methods, task.data, multiple * estimate.significance_threshold(), multiple)
    low, high = methods[AUTO].interval(0.9)
    covered = (low <= truth) & (truth <= high)
    heavy = estimate.frequencies > estimate.significance_threshold()
    figures[None, AUTO, "covered"] = float(covered.mean())
    figures[None, AUTO, "heavy covered"] = float(covered[heavy].mean()) if heavy.any() else float("nan")
    noise = estimate.frequencies - truth
    figures[None, RAW, "noise mean"] = float(noise.mean())
    figures[None, RAW, "noise deviation"] = float(noise.std())
    return figures


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


def _hitters(methods: dict[str, Frequencies], data: Dataset, threshold: float, multiple: float) -> Figures:
    truth = np.flatnonzero(data.frequencies > threshold).tolist()
    rules = {method: (methods[method], "mean") for method in (RAW, ZERO, MOMENTS, LIKELIHOOD)}
    rules |= {AUTO_F1: (methods[AUTO], "f1"), ORACLE_F1: (methods[ORACLE], "f1")}
    figures: Figures = {}
    for method, (frequencies, rule) in rules.items():
        scores = metrics.heavy_hitter_scores(frequencies.heavy_hitters(threshold, rule), truth)
        figures[multiple, method, "precision"] = scores.precision
        figures[multiple, method, "recall"] = scores.recall
        figures[multiple, method, "F-score"] = scores.f_score
    return figures
