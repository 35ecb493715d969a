"""What multi-freq-ldpy's longitudinal protocols do; runs in an environment that has it and imports nothing of localdp.

`asking_again.py` starts it. It reads true frequencies (a NumPy file) and a task (JSON), and writes

- for every chain and every pair of budgets, the four probabilities p1, q1, p2, q2 that the library's own aggregator
  uses, for a small and for a large number of items;
- for every protocol, pair of budgets and run: how many reports of the library's own client, called once for each user,
  support each item (for dBitFlipPM also: how many answered for it), and the library's own estimates.
"""

from __future__ import annotations

import importlib
import json
import sys
from types import ModuleType
from typing import Any

import numpy as np

MODULES = {"grr+grr": "L_GRR", "sue+sue": "L_SUE", "oue+oue": "L_OUE", "oue+sue": "L_OSUE", "sue+oue": "L_SOUE"}


def module(name: str) -> ModuleType:
    """A module of the library's longitudinal protocols."""
    return importlib.import_module(f"multi_freq_ldpy.long_freq_est.{name}")


def aggregated(chain: str, reports: list[Any], size: int, budgets: tuple[float, float]) -> Any:
    """What the library's aggregator makes of the reports."""
    aggregate = getattr(module(MODULES[chain]), f"{MODULES[chain]}_Aggregator_MI")
    return aggregate(reports, *([size] if chain == "grr+grr" else []), *budgets)


def probabilities(chain: str, size: int, budgets: tuple[float, float]) -> list[float]:
    """p1, q1, p2 and q2 as the library's aggregator hands them to its estimator."""
    seen: list[list[float]] = []
    estimator = module(MODULES[chain])
    before = estimator.MI_long  # type: ignore[attr-defined]
    estimator.MI_long = lambda counts, _, *given: seen.append([float(p) for p in given]) or counts  # type: ignore[attr-defined]
    try:
        aggregated(chain, [0 if chain == "grr+grr" else np.zeros(size)], size, budgets)
    finally:
        estimator.MI_long = before  # type: ignore[attr-defined]
    return seen[0]


def run_chain(chain: str, truth: Any, budgets: tuple[float, float]) -> tuple[Any, Any]:
    """The support counts of one report for each user, and the library's own estimates."""
    client = getattr(module(MODULES[chain]), f"{MODULES[chain]}_Client")
    values = np.repeat(np.arange(truth.size), truth).tolist()
    reports = [client(value, truth.size, *budgets) for value in values]
    counts = np.bincount(reports, minlength=truth.size) if chain == "grr+grr" else np.sum(reports, axis=0)
    return counts, aggregated(chain, reports, truth.size, budgets)


def run_dbit(truth: Any, answers: int, epsilon: float) -> tuple[Any, Any, Any]:
    """The support counts and the numbers of users who answered for each item, and the library's own estimates."""
    library = module("dBitFlipPM")
    values = np.repeat(np.arange(truth.size), truth).tolist()
    reports = [library.dBitFlipPM_Client(value, truth.size, truth.size, answers, epsilon) for value in values]
    sent = np.array(reports)
    own = library.dBitFlipPM_Aggregator_MI(reports, truth.size, answers, epsilon)
    return (sent == 1).sum(axis=0), (sent >= 0).sum(axis=0), own


def main(truth_file: str, result_file: str, task: dict[str, Any]) -> None:
    """Write everything into one NumPy file, the probabilities as JSON."""
    truth, found = np.load(truth_file), {}
    exact: dict[str, list[float]] = {}
    for budgets in map(tuple, task["budgets"]):
        for chain in MODULES:
            key = f"{chain} {budgets[0]:g} {budgets[1]:g}"
            for size in (truth.size, task["size"]):
                exact[f"{key} {size}"] = probabilities(chain, size, budgets)
            for seed in range(task["runs"]):
                np.random.seed(seed)  # noqa: NPY002 (the library draws from NumPy's and Numba's global generators)
                counts, own = run_chain(chain, truth, budgets)
                found |= {f"{key} {seed} counts": counts, f"{key} {seed} own": own}
    for epsilon in sorted({budgets[0] for budgets in task["budgets"]}):
        for answers in task["answers"]:
            for seed in range(task["runs"]):
                counts, asked, own = run_dbit(truth, answers, epsilon)
                key = f"dbit {epsilon:g} {answers} {seed}"
                found |= {f"{key} counts": counts, f"{key} asked": asked, f"{key} own": own}
    np.savez(result_file, probabilities=json.dumps(exact), **found)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
