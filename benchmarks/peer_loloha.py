"""One round of LOLOHA as its authors' package has it (L-OLH of multi-freq-ldpy 0.2.5); imports nothing of localdp.

`changing_values.py --peer` starts it in an environment that has the package. It reads a task (JSON) from its first
argument: budgets, numbers of users, items and runs. It prints, for every pair of budgets, the four probabilities that
the package's aggregator uses and the mean squared error of the shares in every run, from its own count of supports.
"""

from __future__ import annotations

import json
import sys

import numpy as np
from multi_freq_ldpy.long_freq_est import L_LH


def measured(budgets: list[float], users: int, items: int, runs: int) -> dict[str, list[float]]:
    """The probabilities p1, q1, p2 and q2, and the errors."""
    seen = []
    L_LH.MI_long = lambda counts, _, *given: seen.append((counts, [float(p) for p in given])) or counts
    errors = []
    for seed in range(runs):
        np.random.seed(seed)  # noqa: NPY002 (the package draws from NumPy's global generator)
        held = np.random.default_rng(seed).integers(0, items, users)
        reports = [L_LH.L_LH_Client(value, items, *budgets) for value in held.tolist()]
        L_LH.L_LH_Aggregator_MI(reports, items, *budgets)
        counts, (p1, q1, p2, q2) = seen[-1]
        low, high = q1 * p2 + (1 - q1) * q2, p1 * p2 + (1 - p1) * q2
        estimates = (counts / users - low) / (high - low)
        errors.append(float(np.mean((estimates - np.bincount(held, minlength=items) / users) ** 2)))
    return {"law": seen[-1][1], "errors": errors}


if __name__ == "__main__":
    task = json.loads(sys.argv[1])
    sizes = (task["users"], task["items"], task["runs"])
    print(json.dumps([measured(budgets, *sizes) for budgets in task["budgets"]]))
