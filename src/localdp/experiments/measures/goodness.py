"""Which families explain the estimates? The goodness-of-fit test of every family, on private estimates alone."""

from __future__ import annotations

from localdp.experiments.tasks import Measurements, Task

P_VALUE, STATISTIC, SURVEYS = "fit p-value", "fit statistic", "simulated surveys"
POWER_LAWS = {"power-law (mean-variance)": "mean-variance", "power-law (mle)": "mle"}
OTHERS = ("gaussian", "laplace", "poisson")
SMOOTH = "smooth"
REPLICATES = 99
"""The smallest possible p-value of one trial is 1/100; the p-values of all trials are combined."""
REJECTED = 0.01
"""A family is rejected if the combined p-value is at most this."""


def run(task: Task) -> Measurements:
    """Test the paper's families and `smooth`."""
    estimate = task.estimate()
    tests: dict[str, tuple[str, str | None]] = {name: ("power-law", fit) for name, fit in POWER_LAWS.items()}
    tests |= {name: (name, "mle") for name in OTHERS} | {SMOOTH: (SMOOTH, None)}
    measured: Measurements = {(None, SMOOTH, SURVEYS): REPLICATES}
    for name, (family, method) in tests.items():
        found = estimate.goodness_of_fit(family, method, replicates=REPLICATES, seed=task.seed)
        measured[None, name, P_VALUE] = found.p_value
        measured[None, name, STATISTIC] = found.statistic
    return measured
