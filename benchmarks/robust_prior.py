"""Whether a prior that distrusts some items would help against forged reports: `python benchmarks/robust_prior.py`.

A share of the reports is forged and pushes one item or ten that few people hold. The forged reports are honest ones in
which the bits of these items are lit and as many others are dark, or under `grr` they name the items. Four estimates
are compared by their errors on all other items, each over the error of `auto` in the survey without forgers:

- auto, under attack;
- auto with the prior of the survey without forgers: the most that any prior could be worth;
- a robust prior, under attack: fitted without the items that the forged reports alone could have lifted out of the
  noise, if their number is known exactly. That is all that is known of forgers who were noticed;
- the same robust prior in the survey without forgers: what such caution costs if there is no attack.

It takes some minutes on two cores and writes a section of docs/results/forged-reports.md; `--quick` runs the small
surveys and prints.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from hard_cases import zipf
from runs import Measurements
from worst import deliver, label, measure, parser, ratio, table

import localdp as ldp

PAGE = Path(__file__).parent.parent / "docs" / "results" / "forged-reports.md"
LOUD = 4.0
"""Standard errors from which on an item stands out of the noise."""


class Attack(NamedTuple):
    """A survey of Zipf's law 1.1 with this share of forgers, who push so many items."""

    mechanism: str
    d: int
    n: int
    epsilon: float
    share: float
    targets: int


def cells(quick: bool) -> list[Attack]:
    """The surveys under attack."""
    surveys = [("oue", 1_000, 100_000, 1.0), ("grr", 50, 20_000, 3.0)]
    surveys += [] if quick else [("oue", 10_000, 1_000_000, 4.0)]
    return [Attack(*survey, share, targets) for survey in surveys for share in (0.01, 0.05) for targets in (1, 10)]


def forged(plan: ldp.Plan, number: int, targets: np.ndarray, shares: np.ndarray, seed: int) -> ldp.Aggregate:
    """The counts of forged reports."""
    rng = np.random.default_rng((7, seed))
    d = plan.domain.size
    if plan.mechanism.name == "grr":
        counts = np.zeros(d, np.int64)
        counts[targets] = rng.multinomial(number, np.full(targets.size, 1 / targets.size))
        return ldp.Aggregate(plan, counts, number)
    lit = np.unpackbits(
        plan.privatize(rng.choice(d, number, p=shares), seed=seed).rows, axis=1, count=d, bitorder="little"
    )
    lit[:, targets] = 1
    q = plan.mechanism.q_star
    dark = min(round(targets.size * (1 - q) / q), d // 2)
    lit[:, rng.choice(np.setdiff1d(np.arange(d), targets), dark, replace=False)] = 0
    return ldp.Aggregate(plan, lit.sum(axis=0, dtype=np.int64), number)


def robust(estimate: ldp.Estimate, most: float) -> ldp.Calibrated:
    """Calibrated with a prior fitted without the items that `most` users could have lifted out of the noise."""
    loud = LOUD * estimate.std_error
    kept = ~((estimate.frequencies > loud) & (estimate.frequencies <= most + loud))
    rest = ldp.Estimate(
        estimate.frequencies[kept],
        n=estimate.n,
        variance=estimate.variance,
        probabilities=estimate.probabilities,
        total=None,
    )
    return estimate.calibrate(rest.calibrate(warn=False).prior, warn=False)


def run(task: tuple) -> Measurements:
    """One seeded run."""
    *fields, seed = task
    cell = Attack(*fields)
    plan, fakes, shares = ldp.Plan(cell.d, cell.mechanism, cell.epsilon), round(cell.share * cell.n), zipf(cell.d, 1.1)
    rng = np.random.default_rng((4, seed))
    targets = rng.choice(np.arange(cell.d // 2, cell.d), cell.targets, replace=False)
    honest, rest = rng.multinomial(cell.n - fakes, shares), rng.multinomial(fakes, shares)
    most = plan.simulate(honest, seed=seed)
    clean = ldp.Aggregate(plan).merge(most).merge(plan.simulate(rest, seed=10_000 + seed)).estimate()
    attacked = ldp.Aggregate(plan).merge(most).merge(forged(plan, fakes, targets, shares, seed)).estimate()
    others = np.ones(cell.d, bool)
    others[targets] = False
    mechanism = plan.mechanism
    lifted = fakes * (1 - mechanism.q_star) / (mechanism.p_star - mechanism.q_star)

    def error(result: ldp.Calibrated, truth: np.ndarray) -> float:
        return ldp.metrics.estimation_error(result.frequencies[others], truth[others])

    before = clean.calibrate(warn=False)
    return {
        "before": error(before, honest + rest),
        "auto": error(attacked.calibrate(warn=False), honest),
        "same prior": error(attacked.calibrate(before.prior, warn=False), honest),
        "robust": error(robust(attacked, lifted), honest),
        "robust before": error(robust(clean, lifted), honest + rest),
    }


def show(results: dict[Attack, Measurements], runs: int) -> list[str]:
    """The table."""
    head = ("survey", "auto", "auto, prior without forgers", "robust prior", "robust prior, no forgers")
    keys = ("auto", "same prior", "robust", "robust before")
    rows = [(label(cell), *(ratio(found[key], found["before"]) for key in keys)) for cell, found in results.items()]
    said = f"Errors of the items that are not pushed, over those of auto without forgers: means of {runs} seeded runs."
    return [said, "", *table(head, rows)]


def main(given: argparse.Namespace) -> dict[Attack, Measurements]:
    """Measure, and print or write what came out."""
    results = measure(cells(given.quick), given, run, at_once=1)
    if results:
        deliver("robust prior", show(results, given.runs), given, PAGE)
    return results


if __name__ == "__main__":
    main(parser(__doc__, runs=5).parse_args())
