"""Users who opt in to share their item: what their counts say about the family, and what they add to the estimates.

One user in a hundred opts in; the others answer privately. Two questions:

- Which family? `OptIn.rank` fits every family to the counts of those who opted in, and scores it.
- What do they add? `Estimate.combine` combines their counts with the private estimates of the others.
"""

from __future__ import annotations

import numpy as np

from localdp import metrics
from localdp.experiments.tasks import Measurements, Task
from localdp.plan import Plan
from localdp.priors import OptIn

SHARE = 0.01
NOBODY, PRIOR_ONLY, COUNTS_ONLY = "nobody opts in", "prior from opt-in counts", "opt-in counts alone"
COMBINED, CALIBRATED = "combined", "combined and calibrated"
SCORE, PRIVATE_SCORE, ERROR = "opt-in score", "private score", "error with opt-in"
PAPER_FAMILIES = ("power-law", "gaussian", "laplace", "poisson")


def run(task: Task) -> Measurements:
    """Scores of the families, and errors of the estimates without and with the users who opted in."""
    truth = task.data.frequencies
    random = np.random.default_rng([task.seed, 2017])
    counts = random.multivariate_hypergeometric(truth, max(1, round(SHARE * task.data.n)), method="marginals")
    plan = Plan(task.data.d, task.mechanism, task.epsilon)
    private = plan.simulate(truth - counts, seed=task.seed).estimate()
    both = private.combine(counts)
    measured: Measurements = {}
    for rank in OptIn(counts).rank(task.data.n):
        measured[None, rank.name, SCORE] = rank.score / task.data.d
    for rank in private.rank_priors():
        measured[None, rank.name, PRIVATE_SCORE] = rank.score / task.data.d
    found = {
        NOBODY: plan.simulate(truth, seed=task.seed).estimate().calibrate().frequencies,
        PRIOR_ONLY: private.calibrate(OptIn(counts)).frequencies + counts,
        COUNTS_ONLY: counts * (task.data.n / counts.sum()),
        COMBINED: both.frequencies,
        CALIBRATED: both.calibrate().frequencies,
    }
    for method, frequencies in found.items():
        measured[None, method, ERROR] = metrics.estimation_error(frequencies, truth)
    return measured
