"""The same people on several days: do intervals hold, and how many named items are false?

Merged days of one population, whose devices answer from their permanent responses. For every cell: the 90% intervals of
calibrated frequencies that hold the truth, and the share of false items among those named at `fdr=0.1`, with
`reports_per_person` given, bounded (1 to the number of days), and not given, which counts days as new people. What we
ask for: coverage of 0.87 to 0.94 and at most 0.12 false, with the number given.

`python benchmarks/same_people.py --print` takes a few minutes.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
from runs import Measurements
from worst import coverage, deliver, label, measure, parser, table

import localdp as ldp
from localdp.plan.reports import Reports
from localdp.randomness.keystream import seeded

PEOPLE = 20_000
SEED = 20261118


class Cell(NamedTuple):
    """One survey; `once` is 0 if there is none."""

    mechanism: str
    epsilon: float
    once: float
    d: int
    days: int


CELLS = [
    Cell("oue", 1.0, 0.0, 100, 7),
    Cell("oue", 1.0, 0.0, 100, 30),
    Cell("oue+sue", 2.0, 1.0, 100, 30),
    Cell("oue+sue", 4.0, 1.0, 100, 30),
    Cell("grr+grr", 2.0, 1.0, 8, 30),
]


def run(task: tuple) -> Measurements:
    """One seeded run: coverage and false discoveries, with the number of reports given, bounded, and not given."""
    *fields, seed = task
    cell = Cell(*fields)
    rng = np.random.default_rng((SEED, seed, cell.d, cell.days))
    weights = 1 / np.arange(1, cell.d + 1) ** rng.uniform(0.6, 1.4)
    truth = rng.multinomial(PEOPLE, weights / weights.sum())
    plan = ldp.Plan(cell.d, cell.mechanism, cell.epsilon, **({"once": cell.once} if cell.once else {}))
    source = seeded(int(rng.integers(1 << 60)))
    kept = plan.mechanism.permanent(np.repeat(np.arange(cell.d), truth), source)
    merged = ldp.Aggregate(plan)
    for _ in range(cell.days):
        merged.add(Reports(plan, plan.mechanism.again(kept, source)))
    measured = {}
    for name, reports in (("given", cell.days), ("bounded", (1, cell.days)), ("not given", 1)):
        estimate = merged.estimate(reports_per_person=reports)
        calibrated = estimate.calibrate(warn=False)
        low, high = calibrated.interval(0.9)
        shares = truth / PEOPLE
        threshold = estimate.significance_threshold()
        named = calibrated.heavy_hitters(threshold, fdr=0.1).indices
        measured[f"{name} covered"] = coverage(low / estimate.n, high / estimate.n, shares)
        measured[f"{name} named"] = float(named.size)
        measured[f"{name} false"] = float((shares[named] <= threshold / estimate.n).sum())
        measured[f"{name} people"] = float(estimate.n)
    return measured


def summary(results: dict[Cell, Measurements]) -> list[str]:
    """A row for every cell and way."""
    rows = [
        (
            label(cell),
            name,
            measured[f"{name} people"],
            measured[f"{name} covered"],
            measured[f"{name} named"],
            measured[f"{name} false"] / max(measured[f"{name} named"], 1e-9),
        )
        for cell, measured in results.items()
        for name in ("given", "bounded", "not given")
    ]
    return table(("cell", "reports per person", "people", "covered", "named", "false"), rows)


def main(given: argparse.Namespace) -> dict[Cell, Measurements]:
    """Measure, and print or write what came out."""
    cells = CELLS[:1] if given.quick else CELLS
    results = measure(cells, given, run)
    deliver("same_people", [f"Mean of {given.runs} seeded runs, {PEOPLE:,} people.", "", *summary(results)], given)
    return results


if __name__ == "__main__":
    main(parser(__doc__, runs=40).parse_args())
