"""Which families explain the estimates? The goodness-of-fit test of every family, on private estimates alone."""

from __future__ import annotations

from localdp.experiments.tasks import Measurements, Task
from localdp.plan import Plan

P_VALUE, STATISTIC = "fit p-value", "fit statistic"
POWER_LAWS = {"power-law (mean-variance)": "mean-variance", "power-law (mle)": "mle"}
OTHERS = ("gaussian", "laplace", "poisson")
SMOOTH = "smooth"
REPLICATES = 39
"""The smallest possible p-value is 1/40."""
REJECTED = 0.05


def run(task: Task) -> Measurements:
    """Test the paper's families and `smooth`."""
    truth = task.data.frequencies
    estimate = Plan(task.data.d, task.mechanism, task.epsilon).simulate(truth, seed=task.seed).estimate()
    tests: dict[str, tuple[str, str | None]] = {name: ("power-law", fit) for name, fit in POWER_LAWS.items()}
    tests |= {name: (name, "mle") for name in OTHERS} | {SMOOTH: (SMOOTH, None)}
    measured: Measurements = {}
    for name, (family, method) in tests.items():
        found = estimate.goodness_of_fit(family, method, replicates=REPLICATES, seed=task.seed)
        measured[None, name, P_VALUE] = found.p_value
        measured[None, name, STATISTIC] = found.statistic
    return measured
