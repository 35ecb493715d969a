"""Every frequency oracle, every post-processing and every task on the same data: docs/results/tables.md.

    python benchmarks/survey.py --write

The data are the most frequent items of Retail, one item for each user. Every run draws new reports; all columns of a
row see the same ones. IBU (iterative Bayesian update) needs the probability of every outcome, which counts alone tell
for `grr` only.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from literature_page import table
from numpy.typing import NDArray

import localdp as ldp
from localdp.errors import ImpureMechanismError
from localdp.estimate.projections import PROJECTIONS
from localdp.mechanisms import MECHANISMS

PAGE = Path(__file__).parents[1] / "docs" / "results" / "tables.md"
POSTPROCESSING = ("raw", *PROJECTIONS, "IBU", "power law", "Calibrate")
TASKS = {
    "error": "Root of the mean squared error over all items, in users.",
    "hitters": "F-score of the heavy hitters: items that more than 0.5% of the users hold.",
    "sets": "Root of the mean squared error of the sum over random halves of the items, in users.",
}
HEAVY, HALVES, STEPS = 0.005, 20, 2_000
Vector = NDArray[np.float64]
Found = dict[tuple[str, str], float]


def bayesian(counts: NDArray[np.int64], p: float, q: float) -> Vector:
    """IBU for randomized response: the maximum of the likelihood, by expectation maximization."""
    shares = np.full(counts.size, 1 / counts.size)
    for _ in range(STEPS):
        weights = counts / (q + (p - q) * shares)
        shares = shares * (q * weights.sum() + (p - q) * weights) / counts.sum()
    return shares * counts.sum()


def run(name: str, epsilon: float, truth: NDArray[np.int64], seed: int) -> Found:
    """All tasks after all post-processing, for one draw of the reports and one order of the items."""
    truth = np.random.default_rng(seed).permutation(truth)
    aggregate = ldp.Plan(truth.size, name, epsilon).simulate(truth, seed=seed)
    estimate = aggregate.estimate()
    found: dict[str, Vector] = {
        "raw": estimate.frequencies,
        **{method: estimate.project(method).frequencies for method in PROJECTIONS},
        "power law": estimate.calibrate("power-law", warn=False).frequencies,
        "Calibrate": estimate.calibrate(warn=False).frequencies,
    }
    if name == "grr":
        found["IBU"] = bayesian(aggregate.counts, aggregate.plan.mechanism.p_star, aggregate.plan.mechanism.q_star)
    rng = np.random.default_rng(seed)
    halves = [rng.permutation(truth.size)[: truth.size // 2] for _ in range(HALVES)]
    heavy = np.flatnonzero(truth > HEAVY * truth.sum()).tolist()
    measured: Found = {}
    for method, values in found.items():
        named = np.flatnonzero(values > HEAVY * truth.sum()).tolist()
        measured["error", method] = float(np.sqrt(np.mean((values - truth) ** 2)))
        measured["hitters", method] = ldp.metrics.heavy_hitter_scores(named, heavy).f_score
        measured["sets", method] = float(np.sqrt(np.mean([(values - truth)[half].sum() ** 2 for half in halves])))
    return measured


def rows(epsilon: float, truth: NDArray[np.int64], runs: int) -> tuple[dict[str, Found], float]:
    """For each oracle that is offered at this epsilon, the mean of every measurement; how well raw errors are known."""
    found: dict[str, Found] = {}
    doubts = []
    for name in sorted(MECHANISMS):
        try:
            each = [run(name, epsilon, truth, seed) for seed in range(runs)]
        except ImpureMechanismError:
            continue
        found[name] = {key: float(np.mean([one[key] for one in each])) for key in each[0]}
        for method in ("raw", "Calibrate"):
            errors = [one["error", method] for one in each]
            doubts.append(np.std(errors, ddof=1) / np.sqrt(runs) / np.mean(errors))
        print(epsilon, name, flush=True)
    return found, float(np.sqrt(np.mean(np.square(doubts))))


def page(epsilons: list[float], items: int, runs: int) -> str:
    """The whole page."""
    truth = np.sort(ldp.datasets.load("retail").frequencies)[::-1][:items].copy()
    intro = (
        f"`python benchmarks/survey.py --write --items {items} --runs {runs}`: means over {runs} runs (seeds 0 to "
        f"{runs - 1}) on the {items:,} most frequent items of Retail, {truth.sum():,} users. *Calibrate* is `auto`; "
        "*power law* is the paper's prior. The best of each row is bold."
    )
    lines = ["# Every oracle, every post-processing, every task", "", intro]
    for epsilon in epsilons:
        found, doubt = rows(epsilon, truth, runs)
        lines += ["", f"## Epsilon {epsilon:g}", "", f"The typical standard error of an error is {doubt:.1%}."]
        for task, what in TASKS.items():
            body = []
            for name, measured in found.items():
                values = [measured.get((task, method)) for method in POSTPROCESSING]
                known = [value for value in values if value is not None]
                best = min(known) if task in ("error", "sets") else max(known)
                digits = "{:,.0f}" if task in ("error", "sets") else "{:.2f}"
                shown = ["" if value is None else digits.format(value) for value in values]
                marked = [f"**{text}**" if text == digits.format(best) else text for text in shown]
                body.append((f"`{name}`", *marked))
            lines += ["", what, "", table(("", *POSTPROCESSING), body)]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.5, 1.0, 4.0])
    parser.add_argument("--items", type=int, default=1_000)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--write", action="store_true", help="write docs/results/tables.md")
    given = parser.parse_args()
    text = page(given.epsilons, given.items, given.runs)
    if given.write:
        PAGE.write_text(text, "utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
