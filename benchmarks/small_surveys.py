"""Surveys of few items: is calibrating better than the better of the raw and the norm-sub estimates, and honest?

For every cell: the error of `calibrate()` divided by the smaller of two errors, that of the raw estimates and that of
`project("norm-sub")`, each a mean over the runs; and how many of the 90% intervals hold the truth. What we ask for: no
ratio above 1.10, a mean ratio of at most 0.85, and coverage of 0.87 to 0.96 on average and of at least 0.80 in every
cell. `python benchmarks/small_surveys.py` takes some minutes; `--runs 5 --quick` is a short trial, and
`--only "oue zipf" "d=2 "` runs a few cells.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
from runs import Measurements
from worst import arithmetic_mean, coverage, deliver, geometric_mean, measure, parser, ratio, table, worst

import localdp as ldp

SHAPES = ("zipf", "flat", "one", "linear", "halves")
SIZES = (2, 3, 5, 8, 12, 24)


class Cell(NamedTuple):
    """One survey."""

    mechanism: str
    shape: str
    d: int
    n: int
    epsilon: float


def frequencies(shape: str, d: int, n: int) -> np.ndarray:
    """The true frequencies: shares by a rule, rounded down, and the first item holds what is left over."""
    rank = np.arange(1, d + 1)
    weights = {
        "zipf": 1 / rank,
        "flat": np.ones(d),
        "one": np.append(0.9, np.full(d - 1, 0.1 / max(d - 1, 1))),
        "linear": rank[::-1] * 1.0,
        "halves": np.where(rank <= (d + 1) // 2, 3.0, 0.05),
    }[shape]
    truth = np.floor(n * weights / weights.sum()).astype(np.int64)
    truth[0] += n - truth.sum()
    return truth


def run(task: tuple) -> Measurements:
    """One seeded run: the three errors, and the share of the intervals that hold the truth."""
    *fields, seed = task
    cell = Cell(*fields)
    truth = frequencies(cell.shape, cell.d, cell.n)
    estimate = ldp.Plan(cell.d, cell.mechanism, cell.epsilon).simulate(truth, seed=1000 + seed).estimate()
    calibrated = estimate.calibrate()
    low, high = calibrated.interval(0.9)
    return {
        "raw": ldp.metrics.estimation_error(estimate.frequencies, truth),
        "norm-sub": ldp.metrics.estimation_error(estimate.project("norm-sub").frequencies, truth),
        "auto": ldp.metrics.estimation_error(calibrated.frequencies, truth),
        "covered": coverage(low, high, truth),
    }


def cells(quick: bool) -> list[Cell]:
    """Every survey; with `quick`, those of n = 20,000 and epsilon 1 on three sizes."""
    every = [
        Cell(mechanism, shape, d, n, epsilon)
        for mechanism in ("auto", "oue")
        for d in SIZES
        for shape in SHAPES
        for n in (2_000, 20_000)
        for epsilon in (1.0, 3.0)
    ]
    return (
        [cell for cell in every if cell.n == 20_000 and cell.epsilon == 1 and cell.d in (2, 5, 24)] if quick else every
    )


def over_best(measured: Measurements) -> float:
    """The calibrated error over the smaller of the raw and the norm-sub error."""
    return ratio(measured["auto"], min(measured["raw"], measured["norm-sub"]))


def summary(results: dict[Cell, Measurements]) -> list[str]:
    """The ratios and the coverage of each mechanism, then of each size, then the worst cells."""
    ratios = {cell: over_best(measured) for cell, measured in results.items()}
    covered = {cell: measured["covered"] for cell, measured in results.items()}

    def row(part: list[Cell]) -> list[float]:
        some = [ratios[cell] for cell in part]
        held = [covered[cell] for cell in part]
        means = arithmetic_mean(some), geometric_mean(some), float(np.mean(np.array(some) > 1.10))
        return [len(part), *means, max(some), arithmetic_mean(held), min(held), float(np.mean(np.array(held) < 0.80))]

    columns = ("cells", "mean ratio", "geometric", "above 1.10", "worst", "mean coverage", "least", "below 0.80")
    rows, by_size = [], []
    for mechanism in ("auto", "oue"):
        part = [cell for cell in results if cell.mechanism == mechanism]
        if part:
            rows.append((mechanism, *row(part)))
        for d in SIZES:
            some = [cell for cell in part if cell.d == d]
            if some:
                by_size.append((mechanism, str(d), *row(some)))
    lines = table(("mechanism", *columns), rows) + table(("mechanism", "d", *columns), by_size)
    lines += worst("Error over the better of raw and norm-sub", ratios)
    return lines + worst("Coverage of the 90% intervals", covered, largest=False)


def main(given: argparse.Namespace) -> dict[Cell, Measurements]:
    """Measure, and print or write what came out."""
    results = measure(cells(given.quick), given, run, at_once=20)
    introduction = [
        f"Mean of {given.runs} seeded runs of every cell: 2 to 24 items, 2,000 and 20,000 users, epsilon 1 and 3, and",
        "five shapes (1/rank; all equal; one item with 90%; falling linearly; half of the items with almost nobody).",
        "A ratio is the error of `calibrate()` over the smaller of the raw and the norm-sub error.",
        "",
    ]
    deliver("small_surveys", introduction + summary(results), given)
    return results


if __name__ == "__main__":
    main(parser(__doc__, runs=40).parse_args())
