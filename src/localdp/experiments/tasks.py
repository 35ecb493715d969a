"""What one trial of an experiment is asked to do, and the names of the methods that it compares.

Methods are named as in the paper, without the mechanism: "raw", "Zero", "Calibrate". The paper fits its power law in
two ways: "(mv)" is the mean-variance method and "(mle)" is maximum likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass

from localdp.datasets import Dataset
from localdp.estimate import Estimate
from localdp.plan import Plan

RAW, ZERO, MOMENTS, LIKELIHOOD = "raw", "Zero", "Calibrate (mv)", "Calibrate (mle)"
AUTO, NORM_SUB, ORACLE = "auto", "Norm-Sub", "oracle"
CUT_MOMENTS, CUT_LIKELIHOOD = "Calibrate (mv), Zero", "Calibrate (mle), Zero"
AUTO_F1, ORACLE_F1 = "auto, rule f1", "oracle, rule f1"

FITS = {"mean-variance": MOMENTS, "mle": LIKELIHOOD}
"""The paper's two ways to fit the power law, and what Calibrate is called with each."""
CUTS = {"mean-variance": CUT_MOMENTS, "mle": CUT_LIKELIHOOD}
"""The same when small calibrated frequencies are then set to zero."""

THRESHOLD_EPSILON = 4.0
"""The epsilon at which the paper tries many thresholds; our own experiments use it too."""

Measurements = dict[tuple[float | None, str, str], float]
"""Measured numbers by threshold (a multiple of the significance threshold, or None), method and metric."""


@dataclass(frozen=True)
class Task:
    """A data set, a mechanism and an epsilon. `multiples` are the thresholds at which heavy hitters are scored.

    `experiment` names what is run: "methods" compares the methods; `runs` lists the others.
    """

    data: Dataset
    mechanism: str
    epsilon: float
    multiples: tuple[float, ...] = ()
    seed: int = 0
    experiment: str = "methods"

    def estimate(self) -> Estimate:
        """The noisy estimates of this trial: all users simulated with the seed."""
        plan = Plan(self.data.d, self.mechanism, self.epsilon)
        return plan.simulate(self.data.frequencies, seed=self.seed).estimate()
