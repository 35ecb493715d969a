"""Noise that differs by item: what calibrating gains by knowing it, and how far it is from the best possible.

Every cell has estimates with a variance for each item. Measured: the mean squared error of the calibrated frequencies
over that of the oracle (the prior that knows the true spectrum, under the same noise), once with the variance of each
item and once with the mean variance for all; the same for norm-sub; and how many 90% intervals hold the truth, of all
items, of the noisier half and of the other half.

- "two": half of the items have ten times the deviation of the others, as if two surveys with different budgets were
  put together;
- "lognormal": log-variances are normal with the deviation 1;
- "blocks": Hadamard response with 16 blocks of 63 items at epsilon 3 (J. Acharya, Z. Sun and H. Zhang, Hadamard
  Response, 2019), simulated report by report. The estimate of an item compares the two halves of its own block, so its
  variance is proportional to the number of reports in that block: items beside a frequent one are noisier.

`python benchmarks/mixed_noise.py` takes about ten minutes; `--runs 2 --quick` is a short trial.
"""

from __future__ import annotations

import argparse
import math
import warnings
from typing import NamedTuple

import numpy as np
from runs import Measurements
from scipy.linalg import hadamard
from worst import coverage, deliver, label, measure, parser, ratio, table, worst

import localdp as ldp

USERS, EPSILON, BLOCKS, BLOCK = 200_000, 3.0, 16, 64
DEVIATION = 100.0
"""The typical deviation of the noise that is not simulated report by report."""


class Cell(NamedTuple):
    """One survey."""

    noise: str
    d: int


def blockwise(truth: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Estimates by Hadamard response in blocks, and their variances."""
    halves = hadamard(BLOCK)[1:] > 0  # for each item of a block, the half of the block's reports that support it
    size, outputs = BLOCK // 2, BLOCKS * BLOCK
    weight = size * math.exp(EPSILON) + outputs - size
    counts = np.zeros(outputs)
    for item, holders in enumerate(truth):
        block, place = divmod(item, BLOCK - 1)
        chances = np.full(outputs, 1 / weight)
        chances[block * BLOCK : (block + 1) * BLOCK][halves[place]] *= math.exp(EPSILON)
        counts += rng.multinomial(holders, chances)
    signs, scale = np.where(halves, 1.0, -1.0), weight / (size * (math.exp(EPSILON) - 1))
    reports = counts.reshape(BLOCKS, BLOCK)
    estimates = (scale * reports @ signs.T).ravel()[: truth.size]
    return estimates, np.repeat(scale**2 * reports.sum(axis=1), BLOCK - 1)[: truth.size]


def run(task: tuple) -> Measurements:
    """One seeded run."""
    *fields, seed = task
    cell = Cell(*fields)
    rng = np.random.default_rng((7, seed))
    weights = rng.permutation(1 / np.arange(1, cell.d + 1) ** 1.1)
    truth = rng.multinomial(USERS, weights / weights.sum())
    if cell.noise == "blocks":
        estimates, variances = blockwise(truth, rng)
    else:
        half = np.where(np.arange(cell.d) % 2, 0.01, 1.0)
        variances = DEVIATION**2 * (half if cell.noise == "two" else np.exp(rng.normal(0, 1, cell.d)))
        estimates = truth + rng.normal(0, np.sqrt(variances))
    warnings.simplefilter("ignore", ldp.errors.DoubtfulEstimateWarning)  # the mean variance contradicts the estimates
    known = ldp.Estimate(estimates, n=USERS, variance=variances)
    mean = ldp.Estimate(estimates, n=USERS, variance=float(variances.mean()))
    noisier = variances > np.median(variances) if cell.noise != "two" else variances > DEVIATION**2 / 2

    def error(frequencies: np.ndarray) -> float:
        return ldp.metrics.estimation_error(frequencies, truth)

    measured = {
        "raw": error(estimates),
        "norm-sub": error(known.project("norm-sub").frequencies),
        "oracle": error(known.calibrate(ldp.Fixed(truth)).frequencies),
    }
    for name, estimate in (("each", known), ("mean", mean)):
        calibrated = estimate.calibrate()
        low, high = calibrated.interval(0.9)
        measured[name] = error(calibrated.frequencies)
        for part, items in (("all", slice(None)), ("noisier", noisier), ("others", ~noisier)):
            measured[f"{name} covers {part}"] = coverage(low[items], high[items], truth[items])
    return measured


def main(given: argparse.Namespace) -> dict[Cell, Measurements]:
    """Measure, and print or write what came out."""
    sizes = (1_008,) if given.quick else (100, 1_008, 5_000)
    cells = [Cell(noise, d) for noise in ("two", "lognormal") for d in sizes] + [Cell("blocks", BLOCKS * (BLOCK - 1))]
    results = measure(cells, given, run, at_once=1)
    errors, covered, lost = [], [], {}
    for cell, measured in results.items():
        over = [ratio(measured[name], measured["oracle"]) for name in ("raw", "norm-sub", "mean", "each")]
        errors.append((label(cell), f"{measured['oracle']:,.0f}", *over))
        lost[cell] = over[-1]
        parts = ("all", "noisier", "others")
        covered.append(
            (label(cell), *(measured[f"{name} covers {part}"] for name in ("mean", "each") for part in parts))
        )
    head = ("noise", "error of the oracle", "raw", "norm-sub", "calibrated, mean variance", "calibrated, each its own")
    second = (
        "noise",
        *(
            f"{name}: {part}"
            for name in ("mean variance", "each its own")
            for part in ("all", "noisier half", "other half")
        ),
    )
    lines = [f"Mean of {given.runs} seeded runs, {USERS:,} users. Mean squared errors over that of the oracle:", ""]
    lines += [*table(head, errors), "Share of the 90% intervals that hold the truth:", "", *table(second, covered)]
    deliver("mixed_noise", lines + worst("Error over the oracle's", lost), given)
    return results


if __name__ == "__main__":
    main(parser(__doc__).parse_args())
