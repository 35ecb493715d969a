"""How well `advise` predicts: its errors against the mean of seeded simulations on Retail, as a table in Markdown.

python benchmarks/advice.py [runs]
"""

from __future__ import annotations

import sys

import numpy as np

import localdp as ldp

MECHANISMS, EPSILONS, SHAPES = ("oue", "olh", "llh"), (1.0, 2.0, 4.0), ("retail", "zipf", "power-law")


def simulated(mechanism: str, epsilon: float, data: ldp.datasets.Dataset, runs: int) -> np.ndarray:
    """The mean squared errors, raw and calibrated, of every run."""
    plan, errors = ldp.Plan(data.d, mechanism, epsilon), []
    for seed in range(runs):
        estimate = plan.simulate(data.frequencies, seed=seed).estimate()
        methods = (estimate, estimate.calibrate())
        errors.append([ldp.metrics.estimation_error(m.frequencies, data.frequencies) for m in methods])
    return np.array(errors)


def main(runs: int) -> None:
    """Print the table."""
    data = ldp.datasets.load("retail")
    names = ("mechanism", "epsilon", "standard error", f"{runs} runs", "like retail", "like zipf", "like power-law")
    print(f"| {' | '.join(names)} | {runs} runs |")
    print("|---|---|---|---|---|---|---|---|")
    for epsilon in EPSILONS:
        advice = {like: ldp.advise(data.d, data.n, epsilon=epsilon, like=like) for like in SHAPES}
        for mechanism in MECHANISMS:
            options = {like: next(o for o in a.options if o.mechanism == mechanism) for like, a in advice.items()}
            raw, calibrated = simulated(mechanism, epsilon, data, runs).T
            spread = calibrated.std(ddof=1) / np.sqrt(runs)
            ratios = [options[like].calibrated_error / calibrated.mean() for like in SHAPES]
            shown = [f"{options[like].calibrated_error:,.0f} ({r:.2f})" for like, r in zip(SHAPES, ratios, strict=True)]
            error, measured = options["retail"].standard_error, np.sqrt(raw.mean())
            cells = (f"{error:,.0f} ({error / measured:.3f})", f"{measured:,.0f}", *shown)
            print(
                f"| {mechanism} | {epsilon:g} | {' | '.join(cells)} | {calibrated.mean():,.0f} ± {spread:,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
