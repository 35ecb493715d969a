"""Sums over groups of items: how far are they from the truth, and do their intervals hold it?

A million users and 1,024 items, with shares that fall as rank^-1.5. Every run draws random groups of 10%, 50% and 90%
of the items. For every cell: the mean squared error of the sum of the calibrated frequencies over that of norm-sub's
frequencies and over the raw one's, and how many 90% intervals of the groups hold the truth. What we ask for: at most
0.75 of norm-sub's error, and coverage of 0.85 to 0.96. The errors of the truly 32 most frequent items are beside them:
calibrating shrinks those too, which may cost them what the other items gain.

`python benchmarks/groups.py` takes a few minutes; `--runs 3 --quick` is a short trial.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np
from runs import Measurements
from worst import coverage, deliver, label, measure, parser, ratio, table, worst

import localdp as ldp

USERS, ITEMS, EXPONENT, TOP = 1_000_000, 1_024, 1.5, 32
SHARES = (0.1, 0.5, 0.9)
BASES = ("raw", "norm-sub")
GROUPS = 20
"""Random groups of each size in a run."""


class Cell(NamedTuple):
    """One survey."""

    mechanism: str
    epsilon: float


def group_intervals(calibrated: Any, groups: dict[str, list[int]]) -> tuple[np.ndarray, ...]:
    """The frequency, low and high of every group; from independent posteriors if there is no `group` method."""
    if hasattr(calibrated, "group"):
        found = calibrated.group(groups)
        return tuple(np.asarray(found[column], float) for column in ("frequency", "low", "high"))
    sums = np.array([calibrated.frequencies[items].sum() for items in groups.values()])
    margins = 1.645 * np.sqrt([(calibrated.std[items] ** 2).sum() for items in groups.values()])
    return sums, sums - margins, sums + margins


def run(task: tuple) -> Measurements:
    """One seeded run: the errors of the sums, the coverage of their intervals, and the errors of the top items."""
    *fields, seed = task
    cell = Cell(*fields)
    rng = np.random.default_rng((4, seed))
    weights = 1 / np.arange(1, ITEMS + 1) ** EXPONENT
    truth = rng.multinomial(USERS, weights / weights.sum())
    estimate = ldp.Plan(ITEMS, cell.mechanism, cell.epsilon).simulate(truth, seed=seed).estimate()
    calibrated, projected = estimate.calibrate(), estimate.project("norm-sub")
    measured = {}
    for share in SHARES:
        sets = [rng.permutation(ITEMS)[: round(share * ITEMS)].tolist() for _ in range(GROUPS)]
        sums, low, high = group_intervals(calibrated, {f"group {place}": items for place, items in enumerate(sets)})
        right = np.array([truth[items].sum() for items in sets])
        measured |= {
            f"auto {share:g}": float(np.mean((sums - right) ** 2)),
            f"raw {share:g}": ldp.metrics.set_error(estimate.frequencies, truth, sets),
            f"norm-sub {share:g}": ldp.metrics.set_error(projected.frequencies, truth, sets),
            f"covered {share:g}": coverage(low, high, right),
            f"width {share:g}": float(np.mean(high - low)),
        }
    for name, result in (("raw", estimate), ("norm-sub", projected), ("auto", calibrated)):
        measured[f"top {name}"] = ldp.metrics.top_error(result.frequencies, truth, TOP)
        measured[f"error {name}"] = ldp.metrics.estimation_error(result.frequencies, truth)
    return measured


def summary(results: dict[Cell, Measurements]) -> list[str]:
    """The groups, the most frequent items, and the worst cells."""
    rows, over, covered = [], {}, {}
    for cell, measured in results.items():
        for share in SHARES:
            error = measured[f"auto {share:g}"]
            name = f"{label(cell)}, {share:.0%} of the items"
            over[name], covered[name] = ratio(error, measured[f"norm-sub {share:g}"]), measured[f"covered {share:g}"]
            over_raw = ratio(error, measured[f"raw {share:g}"])
            rows.append(
                (label(cell), f"{share:.0%}", over[name], over_raw, covered[name], measured[f"width {share:g}"])
            )
    lines = table(("cell", "items", "error / norm-sub", "error / raw", "covered", "mean width"), rows)
    lines += [f"Errors of the {TOP} truly most frequent items, and of all items:", ""]
    lines += table(
        ("cell", "auto / raw, top", "auto / norm-sub, top", "auto / raw, all", "auto / norm-sub, all"),
        [
            (
                label(cell),
                *(ratio(m[f"{which} auto"], m[f"{which} {base}"]) for which in ("top", "error") for base in BASES),
            )
            for cell, m in results.items()
        ],
    )
    lines += worst("Error over norm-sub's", over) + worst("Coverage of the groups' intervals", covered, largest=False)
    return lines + worst("Coverage of the groups' intervals", covered)


def main(given: argparse.Namespace) -> dict[Cell, Measurements]:
    """Measure, and print or write what came out."""
    mechanisms, epsilons = (("oue",), (1.0,)) if given.quick else (("oue", "llh"), (0.5, 1.0, 2.0))
    results = measure([Cell(mechanism, epsilon) for mechanism in mechanisms for epsilon in epsilons], given, run)
    introduction = [f"Mean of {given.runs} seeded runs, and in each run {GROUPS} random groups of every size.", ""]
    if not hasattr(ldp.Estimate([1.0, 2.0], n=3, variance=1.0).calibrate("power-law"), "group"):
        introduction += ["There is no `group` method: the intervals take the items' posteriors as independent.", ""]
    deliver("groups", introduction + summary(results), given)
    return results


if __name__ == "__main__":
    main(parser(__doc__, runs=60).parse_args())
