"""How well `advise` predicts: prints its predictions beside seeded simulations, as Markdown tables.

`python benchmarks/advice.py [--runs N] [shares] [shapes] [retail] [few]` prints the tables named, or all of them. N is
20 unless given. A standard deviation takes many runs to measure, so that `shares` makes 50 times as many (20 times with
100,000 items).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

import localdp as ldp
from localdp.advice import Option
from localdp.advice.shapes import SEVERAL, shaped

CONFIGURATIONS = (
    ("grr", 2, 1_000, 0.5),
    ("grr", 50, 10_000_000, 4.0),
    ("oue", 10_000, 1_000, 6.0),
    ("oue", 100_000, 10_000_000, 2.0),
    ("llh", 1_000, 20_000, 3.0),
    ("ss", 20, 5_000, 1.0),
)
"""Mechanism, items, users and epsilon of the table `shares`."""

SHARES = (0.0, 0.01, 0.1, 0.5)
MECHANISMS, EPSILONS = ("oue", "olh", "llh"), (1.0, 2.0, 4.0)
SHAPES = (5_000, 200_000)


def option_of(mechanism: str, items: int, users: int, epsilon: float, **like: object) -> Option:
    """What `advise` says about one mechanism."""
    return next(o for o in ldp.advise(items, users, epsilon=epsilon, **like).options if o.mechanism == mechanism)


def estimates(plan: ldp.Plan, frequencies: np.ndarray, runs: int) -> Iterator[np.ndarray]:
    """The estimates of every run."""
    for seed in range(runs):
        yield plan.simulate(frequencies, seed=seed).estimate().frequencies


def layout(items: int, users: int, holders: int) -> tuple[np.ndarray, int]:
    """Frequencies where as many items as possible have so many holders, the last one the rest; and how many have."""
    many = min(users // holders, items - 1) if holders else items - 1
    frequencies = np.zeros(items, np.int64)
    frequencies[:many] = holders
    frequencies[-1] += users - many * holders
    return frequencies, many


def shares(runs: int) -> None:
    """Standard errors by share, how often a threshold is exceeded, and how often the share seen is seen."""
    heads = [f"at {share:.0%}" for share in SHARES]
    print(f"| mechanism | items | users | epsilon | {' | '.join(heads)} | exceeded | seen |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    worst = 1.0
    for mechanism, items, users, epsilon in CONFIGURATIONS:
        option, plan = option_of(mechanism, items, users, epsilon), ldp.Plan(items, mechanism, epsilon)
        count = runs * (50 if items < 100_000 else 20)
        cells, exceeded = [], 0
        for share in SHARES:
            frequencies, many = layout(items, users, round(share * users))
            squares = 0.0
            for found in estimates(plan, frequencies, count):
                away = found[:many] - frequencies[0]
                squares += float(away @ away)
                exceeded += share == 0 and bool((away > option.threshold).any())
            predicted, measured = option.standard_error_at(share), np.sqrt(squares / count / many)
            worst = max(worst, predicted / measured, measured / predicted)
            cells.append(f"{predicted:,.4g} ({predicted / measured:.3f})")
        held = round(option.smallest_share * users)
        seen = "-"
        if held <= users:
            frequencies = np.zeros(items, np.int64)
            frequencies[0], frequencies[-1] = held, users - held
            passed = [found[0] > option.threshold for found in estimates(plan, frequencies, count)]
            seen = f"{held:,}: {np.mean(passed):.1%}"
        row = (mechanism, f"{items:,}", f"{users:,}", f"{epsilon:g}", *cells, f"{exceeded / count:.1%}", seen)
        print(f"| {' | '.join(row)} |", flush=True)
    print(f"\nThe worst ratio of predicted and measured standard errors, either way round, is {worst:.3f}.\n")


def simulated(mechanism: str, epsilon: float, frequencies: np.ndarray, runs: int) -> np.ndarray:
    """The mean squared errors of every run: one row for each run, with the raw and the calibrated error."""
    plan, errors = ldp.Plan(frequencies.size, mechanism, epsilon), []
    for seed in range(runs):
        estimate = plan.simulate(frequencies, seed=seed).estimate()
        methods = (estimate, estimate.calibrate())
        errors.append([ldp.metrics.estimation_error(m.frequencies, frequencies) for m in methods])
    return np.array(errors)


def shapes(runs: int) -> None:
    """Calibrated errors of every shape that `advise` tries, as roots of mean squared errors."""
    items, users = SHAPES
    print("| shape | epsilon 1 | runs | epsilon 4 | runs |\n|---|---|---|---|---|")
    for name in SEVERAL:
        shape = shaped(name, items, users)
        places = np.searchsorted(np.cumsum(shape.masses), (np.arange(items) + 0.5) / items)
        frequencies, cells = shape.frequencies[places].astype(np.int64), []
        for epsilon in (1.0, 4.0):
            predicted = option_of("oue", items, users, epsilon, like=name).calibrated_rms
            measured = np.sqrt(simulated("oue", epsilon, frequencies, runs)[:, 1].mean())
            cells += [f"{predicted:,.3g} ({predicted / measured:.2f})", f"{measured:,.3g}"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print()


def retail(runs: int) -> None:
    """Errors on Retail: predicted from its own shape, and as a range over all shapes."""
    data = ldp.datasets.load("retail")
    names = ("mechanism", "epsilon", "raw error", f"{runs} runs", "like retail", "all shapes", f"{runs} runs")
    print(f"| {' | '.join(names)} |\n|---|---|---|---|---|---|---|")
    for epsilon in EPSILONS:
        for mechanism in MECHANISMS:
            known = option_of(mechanism, data.d, data.n, epsilon, like="retail")
            several = option_of(mechanism, data.d, data.n, epsilon)
            raw, calibrated = simulated(mechanism, epsilon, data.frequencies, runs).mean(axis=0) ** 0.5
            cells = (
                f"{known.raw_rms:,.0f} ({known.raw_rms / raw:.3f})",
                f"{raw:,.0f}",
                f"{known.calibrated_rms:,.0f} ({known.calibrated_rms / calibrated:.3f})",
                f"{several.lowest[1]:,.0f} to {several.highest[1]:,.0f}",
                f"{calibrated:,.0f}",
            )
            print(f"| {mechanism} | {epsilon:g} | {' | '.join(cells)} |", flush=True)
    print()


def few(runs: int) -> None:
    """Errors on few items, from which a distribution is hard to learn; frequencies fall as 1/rank."""
    print("| items | users | epsilon | mechanism | calibrated | runs |\n|---|---|---|---|---|---|")
    for items, users, epsilon in ((20, 20_000, 1.0), (60, 20_000, 1.0), (60, 20_000, 3.0), (500, 100_000, 1.0)):
        parts = 1 / np.arange(1, items + 1)
        frequencies = np.floor(users * parts / parts.sum()).astype(np.int64)
        frequencies[0] += users - frequencies.sum()
        option = ldp.advise(items, users, epsilon=epsilon, like=frequencies).chosen
        measured = np.sqrt(simulated(option.mechanism, epsilon, frequencies, 2 * runs)[:, 1].mean())
        predicted = f"{option.calibrated_rms:,.0f} ({option.calibrated_rms / measured:.2f})"
        cells = (f"{items}", f"{users:,}", f"{epsilon:g}", option.mechanism, predicted, f"{measured:,.0f}")
        print(f"| {' | '.join(cells)} |", flush=True)


TABLES = {"shares": shares, "shapes": shapes, "retail": retail, "few": few}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", help=", ".join(TABLES))
    parser.add_argument("--runs", type=int, default=20)
    arguments = parser.parse_args()
    for table in arguments.tables or TABLES:
        TABLES[table](arguments.runs)
