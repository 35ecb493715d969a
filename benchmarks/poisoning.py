"""What 1% of forged reports can do that push one item, what they cannot, and which of them are noticed.

Of n users, 1% are forgers. They push one item that almost nobody holds. Their reports are compared with the same number
of honest ones:

- imitating: honest reports, of random users, except that all of them support the item;
- dark: reports that support the item and no other;
- all ones: reports that support every item.

Measured are the users that each forged report adds to its item, the error and the coverage of all other items, the same
error with the prior of the survey without forgers (so that the difference is what the forgers do to the prior), the
coverage where the known total is not used, and whether the sum of the estimates or `plan.plausibility` gives the
forgers away: alone in their own batches, and ten of them in a batch of 1,000.

`python benchmarks/poisoning.py` takes some minutes on two cores and writes a section of
docs/results/forged-reports.md; `--quick` runs a few cells and prints.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from hard_cases import zipf
from runs import Measurements
from worst import coverage, deliver, label, measure, parser, ratio, table

import localdp as ldp
from localdp.advice import fake_users

PAGE = Path(__file__).parent.parent / "docs" / "results" / "forged-reports.md"
SHARE = 0.01
"""The share of the reports that are forged."""
BATCH = 1_000
"""Reports in the batch in which some forged ones hide."""


class Attack(NamedTuple):
    """A survey of Zipf's law 1.1 with 1% of forgers."""

    mechanism: str
    attack: str
    d: int
    n: int
    epsilon: float


def cells(quick: bool) -> list[Attack]:
    """The surveys under attack."""
    small, large = (1_000, 100_000, 1.0), (10_000, 1_000_000, 4.0)
    kinds = (("oue", "imitating"), ("oue", "dark"), ("oue", "all ones"), ("sue", "imitating"), ("llh", "imitating"))
    every = [Attack(*kind, *size) for kind in kinds for size in (small, large)]
    every += [Attack("ss", "imitating", *small), Attack("grr", "imitating", 8, 20_000, 2.0)]
    every += [Attack("grr", "imitating", *small)]
    return [cell for cell in every if cell.d <= 1_000] if quick else every


def forged(plan: ldp.Plan, attack: str, count: int, target: int, shares: np.ndarray, seed: int) -> ldp.Reports:
    """Forged reports."""
    rng = np.random.default_rng((7, seed))
    mechanism = plan.mechanism
    byte, bit = divmod(target, 8)
    if attack != "imitating":
        rows = np.zeros((count, mechanism.report_bytes), np.uint8)
        if attack == "all ones":
            rows[:] = 255
            if plan.domain.size % 8:
                rows[:, -1] = (1 << plan.domain.size % 8) - 1
        rows[:, byte] |= 1 << bit
        return ldp.Reports(plan, rows)
    if mechanism.name in ("oue", "sue"):
        rows = plan.privatize(rng.choice(plan.domain.size, count, p=shares), seed=seed).rows.copy()
        rows[:, byte] |= 1 << bit
        return ldp.Reports(plan, rows)
    kept = np.zeros((0, mechanism.report_bytes), np.uint8)
    for again in range(10_000):  # of honest reports, those that support the item
        rows = plan.privatize(rng.choice(plan.domain.size, 50_000, p=shares), seed=10_000 * seed + again).rows
        kept = np.concatenate([kept, rows[mechanism.supports(rows, target)]])
        if len(kept) >= count:
            break
    return ldp.Reports(plan, kept[:count])


def run(task: tuple) -> Measurements:
    """One seeded run with forgers and without."""
    *fields, seed = task
    cell = Attack(*fields)
    plan, fakes = ldp.Plan(cell.d, cell.mechanism, cell.epsilon), round(SHARE * cell.n)
    shares, target = zipf(cell.d, 1.1), cell.d - 1 - cell.d // 8
    rng = np.random.default_rng((4, seed))
    honest, rest = rng.multinomial(cell.n - fakes, shares), rng.multinomial(fakes, shares)
    reports = forged(plan, cell.attack, fakes, target, shares, seed)
    most = plan.simulate(honest, seed=seed)
    clean = ldp.Aggregate(plan).merge(most).merge(plan.simulate(rest, seed=10_000 + seed)).estimate()
    attacked = ldp.Aggregate(plan).merge(most).merge(plan.aggregate(reports)).estimate()
    other = np.arange(cell.d) != target

    def error(result: ldp.Calibrated, truth: np.ndarray) -> float:
        return ldp.metrics.estimation_error(result.frequencies[other], truth[other])

    def covered(result: ldp.Calibrated, truth: np.ndarray) -> float:
        low, high = result.interval(0.9)
        return coverage(low[other], high[other], truth[other])

    before, after = clean.calibrate(warn=False), attacked.calibrate(warn=False)
    paper_before, paper_after = (one.calibrate("power-law", warn=False) for one in (clean, attacked))
    mixed = plan.privatize(rng.choice(cell.d, BATCH, p=shares), seed=20_000 + seed).rows.copy()
    mixed[: round(SHARE * BATCH)] = reports.rows[: round(SHARE * BATCH)]
    return {
        "push": fake_users(plan, cell.n).push,
        "raw": float(attacked.frequencies[target] - clean.frequencies[target]) / fakes,
        "calibrated": float(after.frequencies[target] - before.frequencies[target]) / fakes,
        "before": error(before, honest + rest),
        "after": error(after, honest),
        "same prior": error(attacked.calibrate(before.prior, warn=False), honest),
        "paper before": error(paper_before, honest + rest),
        "paper after": error(paper_after, honest),
        "covered before": covered(before, honest + rest),
        "covered": covered(after, honest),
        "total unknown": covered(replace(attacked, total=None).calibrate(warn=False), honest),
        "sum": float(bool(attacked.notes)),
        "sum before": float(bool(clean.notes)),
        "alone": float(not plan.plausibility(reports[:BATCH]).plausible),
        "mixed": float(not plan.plausibility(ldp.Reports(plan, mixed)).plausible),
    }


def show(results: dict[Attack, Measurements], runs: int) -> list[str]:
    """The two tables."""
    moved = ("push", "raw", "calibrated")
    lines = [f"Means of {runs} seeded runs.", "", "What moves: users that one forged report adds to its item.", ""]
    head = ("survey", "(1 - q\\*)/(p\\* - q\\*)", "raw", "calibrated")
    lines += table(head, [(label(cell), *(found[key] for key in moved)) for cell, found in results.items()])
    lines += ["What happens to all other items: errors over those without forgers, and coverage of 90% intervals.", ""]
    head = ("survey", "auto", "auto, prior without forgers", "power-law", "covered without forgers", "covered")
    head += ("covered, total not used",)
    rows = []
    for cell, found in results.items():
        over = [ratio(found[key], found["before"]) for key in ("after", "same prior")]
        paper = ratio(found["paper after"], found["paper before"])
        held = [found[key] for key in ("covered before", "covered", "total unknown")]
        rows.append((label(cell), *over, paper, *held))
    lines += table(head, rows)
    lines += ["What is noticed: the share of the runs with an alarm.", ""]
    head = ("survey", "sum of the estimates", "the same, no forgers", "1,000 forged reports", "10 among 1,000")
    keys = ("sum", "sum before", "alone", "mixed")
    return lines + table(head, [(label(cell), *(found[key] for key in keys)) for cell, found in results.items()])


def main(given: argparse.Namespace) -> dict[Attack, Measurements]:
    """Measure, and print or write what came out."""
    results = measure(cells(given.quick), given, run, at_once=1)
    if results:
        deliver("poisoning", show(results, given.runs), given, PAGE)
    return results


if __name__ == "__main__":
    main(parser(__doc__, runs=5).parse_args())
