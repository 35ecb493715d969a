"""How well `advise` predicts errors: prints its predictions beside seeded simulations on Retail, as Markdown tables.

`python benchmarks/advice.py [runs]`, 20 runs unless given.
"""

from __future__ import annotations

import sys

import numpy as np

import localdp as ldp

MECHANISMS, EPSILONS, SHAPES = ("oue", "olh", "llh"), (1.0, 2.0, 4.0), ("retail", "zipf", "power-law")


def simulated(mechanism: str, epsilon: float, data: ldp.datasets.Dataset, runs: int) -> np.ndarray:
    """The mean squared errors of every run: one row for each run, with the raw and the calibrated error."""
    plan, errors = ldp.Plan(data.d, mechanism, epsilon), []
    for seed in range(runs):
        estimate = plan.simulate(data.frequencies, seed=seed).estimate()
        methods = (estimate, estimate.calibrate())
        errors.append([ldp.metrics.estimation_error(m.frequencies, data.frequencies) for m in methods])
    return np.array(errors)


def main(runs: int) -> None:
    """Print the table on Retail."""
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


def few_items(runs: int) -> None:
    """Print the same for few items, from which a distribution is hard to learn; frequencies fall as 1/rank."""
    print("\n| items | users | epsilon | mechanism | calibrated | runs |\n|---|---|---|---|---|---|")
    for items, users, epsilon in ((20, 20_000, 1.0), (60, 20_000, 1.0), (60, 20_000, 3.0), (500, 100_000, 1.0)):
        shares = 1 / np.arange(1, items + 1)
        frequencies = np.floor(users * shares / shares.sum()).astype(np.int64)
        frequencies[0] += users - frequencies.sum()
        option = ldp.advise(items, users, epsilon=epsilon, like=frequencies).chosen
        data = ldp.datasets.Dataset("few", frequencies, "")
        calibrated = simulated(option.mechanism, epsilon, data, runs)[:, 1]
        cells = f"{option.calibrated_error:,.0f} ({option.calibrated_error / calibrated.mean():.2f})"
        spread = calibrated.std(ddof=1) / np.sqrt(runs)
        mean = f"{calibrated.mean():,.0f} ± {spread:,.0f}"
        print(f"| {items} | {users:,} | {epsilon:g} | {option.mechanism} | {cells} | {mean} |", flush=True)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    main(count)
    few_items(2 * count)
