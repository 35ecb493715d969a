"""Calibrate appended to another library whose stated variance is wrong, and how often a right variance is doubted.

Fast local hashing lets all users share a few hundred hash functions, so that items which collide under many of them
disturb each other in every report. Its estimates have the variance of ideal hashing, which is the one people state, and
that of the collisions, which nobody states. Measured on Retail, with 500 functions:

- the errors of the unbiased estimates, of their projection on the simplex (norm-sub, the library's own remedy), and of
  `calibrate()` with the stated variance and, where it exists, with `variance="estimate"`;
- whether the notes doubt the variance.

And with right variances, on several shapes and mechanisms: how often the notes doubt them all the same.

The estimates are simulated here, function by function. `--peer PYTHON` makes them with pure-ldp itself, where PYTHON is
an interpreter that has it, such as benchmarks/.peers/pure-ldp/bin/python after `make bench`; this takes a quarter of a
minute for each run. `python benchmarks/other_libraries.py` takes about half an hour, `--runs 2 --quick` half a minute.
"""

from __future__ import annotations

import argparse
import math
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from runs import Measurements
from worst import coverage, deliver, label, measure, notes_of, parser, ratio, table, worst

import localdp as ldp

FUNCTIONS, PEER_RUNS = 500, 3
ABOUT_THE_VARIANCE = re.compile(r"(?<!mean-)\b(variance|noisier|noise is larger)\b")


class Hashing(NamedTuple):
    """Fast local hashing on a data set that ships."""

    data: str
    epsilon: float
    functions: int


class Right(NamedTuple):
    """A survey with a right variance."""

    mechanism: str
    shape: str
    d: int
    n: int
    epsilon: float


def fast_local_hashing(truth: np.ndarray, epsilon: float, functions: int, seed: int) -> np.ndarray:
    """The support counts of a simulation, user by user, with random functions that all users share."""
    rng = np.random.default_rng((5, seed))
    symbols = symbols_at(epsilon)
    hashed = rng.integers(0, symbols, (functions, truth.size), dtype=np.uint8)
    item = np.repeat(np.arange(truth.size), truth)
    function = rng.integers(0, functions, item.size)
    kept = math.exp(epsilon) / (math.exp(epsilon) + symbols - 1)
    other = (hashed[function, item] + rng.integers(1, symbols, item.size)) % symbols
    symbol = np.where(rng.random(item.size) < kept, hashed[function, item], other)
    reports = np.bincount(function * symbols + symbol, minlength=functions * symbols).reshape(functions, symbols)
    return np.take_along_axis(reports, hashed.astype(np.intp), axis=1).sum(axis=0)


def symbols_at(epsilon: float) -> int:
    """The number of symbols that items are hashed to."""
    return round(math.exp(epsilon)) + 1


def appended(unbiased: Any, projected: np.ndarray, truth: np.ndarray) -> Measurements:
    """What calibrating makes of estimates with the stated variance and, where it exists, with an estimated one."""

    def error(frequencies: np.ndarray) -> float:
        return ldp.metrics.estimation_error(frequencies, truth)

    stated = unbiased.calibrate()
    low, high = stated.interval(0.9)
    measured = {
        "raw": error(unbiased.frequencies),
        "simplex": error(projected),
        "stated": error(stated.frequencies),
        "stated covered": coverage(low, high, truth),
        "estimated": float("nan"),
        "estimated covered": float("nan"),
        "estimated / stated variance": float("nan"),
        "true / stated variance": float(np.var(unbiased.frequencies - truth)) / unbiased.variance,
        "estimate doubts": doubts(unbiased),
        "calibrated doubts": doubts(stated),
    }
    try:
        estimated = ldp.Estimate(unbiased.frequencies, n=unbiased.n, variance="estimate")
    except ldp.LocalDPError:  # there is no such option
        return measured
    calibrated = estimated.calibrate()
    low, high = calibrated.interval(0.9)
    return measured | {
        "estimated": error(calibrated.frequencies),
        "estimated covered": coverage(low, high, truth),
        "estimated / stated variance": estimated.variance / unbiased.variance,
    }


def doubts(result: Any) -> float:
    """1 if the notes of a result speak of the variance, 0 if they do not, and NaN if a result has no notes."""
    if not hasattr(result, "notes"):
        return float("nan")
    return float(bool(ABOUT_THE_VARIANCE.search(notes_of(result))))


def run_hashing(task: tuple) -> Measurements:
    """One seeded run of fast local hashing."""
    *fields, seed = task
    cell = Hashing(*fields)
    truth = ldp.datasets.load(cell.data).frequencies
    symbols = symbols_at(cell.epsilon)
    estimate = ldp.Estimate.from_counts(
        fast_local_hashing(truth, cell.epsilon, cell.functions, seed),
        n=int(truth.sum()),
        p_star=math.exp(cell.epsilon) / (math.exp(cell.epsilon) + symbols - 1),
        q_star=1 / symbols,
    )
    return appended(estimate, estimate.project("norm-sub").frequencies, truth)


def run_peer(cell: Hashing, python: str, runs: int) -> Measurements:
    """The mean over runs of pure-ldp's own fast local hashing."""
    truth = ldp.datasets.load(cell.data).frequencies
    n, symbols = int(truth.sum()), symbols_at(cell.epsilon)
    kept = math.exp(cell.epsilon) / (math.exp(cell.epsilon) + symbols - 1)
    variance = n * (1 / symbols) * (1 - 1 / symbols) / (kept - 1 / symbols) ** 2
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "truth.npy"), Path(folder, "estimates.npy")
        np.save(given, truth)
        script = Path(__file__).parent / "peer_estimates.py"
        numbers = [str(cell.epsilon), str(cell.functions), str(runs)]
        subprocess.run([python, "-W", "ignore", script, given, made, *numbers], check=True)
        found = np.load(made)
    trials = [appended(ldp.Estimate(raw, n=n, variance=variance), simplex, truth) for raw, simplex in found]
    return {key: float(np.mean([one[key] for one in trials])) for key in trials[0]}


def run_right(task: tuple) -> Measurements:
    """One seeded run with a right variance: whether the notes doubt it."""
    *fields, seed = task
    cell = Right(*fields)
    rng = np.random.default_rng((6, seed))
    rank = np.arange(1, cell.d + 1)
    weights = {
        "zipf": 1 / rank**1.1,
        "flat": np.ones(cell.d),
        "gamma": rng.gamma(0.3, 1, cell.d),
        "one": np.append(0.9, np.full(cell.d - 1, 0.1 / (cell.d - 1))),
    }[cell.shape]
    truth = rng.multinomial(cell.n, weights / weights.sum())
    estimate = ldp.Plan(cell.d, cell.mechanism, cell.epsilon).simulate(truth, seed=seed).estimate()
    by_hand = ldp.Estimate(estimate.frequencies, n=cell.n, variance=estimate.variance)
    return {
        "estimate": doubts(estimate),
        "calibrated": doubts(estimate.calibrate()),
        "by hand": doubts(by_hand),
        "by hand, calibrated": doubts(by_hand.calibrate()),
    }


def right_cells(quick: bool) -> list[Right]:
    """The surveys with right variances."""
    sizes = (("zipf", 24, 20_000), ("one", 60, 20_000), ("flat", 500, 100_000), ("zipf", 1_000, 100_000))
    sizes += (("gamma", 5_000, 1_000_000),)
    every = [
        Right(mechanism, *size, epsilon)
        for mechanism in ("oue", "olh", "llh", "grr")
        for size in sizes
        for epsilon in (1.0, 4.0)
    ]
    return [cell for cell in every if cell.d < 1_000 and cell.epsilon == 1] if quick else every


def show_hashing(results: dict[str, Measurements]) -> list[str]:
    """The errors on fast local hashing."""
    head = ("estimates", "raw", "simplex", "stated variance", "estimated variance", "stated / simplex")
    head += ("estimated / simplex", "covered, stated", "covered, estimated")
    second = ("estimates", "true / stated variance", "estimated / stated", "estimate doubts", "calibrated doubts")
    rows, more = [], []
    for name, measured in results.items():
        errors = [f"{measured[key]:,.0f}" for key in ("raw", "simplex", "stated", "estimated")]
        ratios = [ratio(measured[key], measured["simplex"]) for key in ("stated", "estimated")]
        rows.append((name, *errors, *ratios, measured["stated covered"], measured["estimated covered"]))
        keys = ("true / stated variance", "estimated / stated variance", "estimate doubts", "calibrated doubts")
        more.append((name, *(measured[key] for key in keys)))
    return ["Mean squared errors on fast local hashing:", "", *table(head, rows), *table(second, more)]


def show_right(results: dict[Right, Measurements], runs: int) -> list[str]:
    """How often right variances are doubted."""
    keys = ("estimate", "calibrated", "by hand", "by hand, calibrated")
    doubted = {f"{label(cell)}, {key}": measured[key] for cell, measured in results.items() for key in keys}
    rows = []
    for mechanism in dict.fromkeys(cell.mechanism for cell in results):
        part = [measured for cell, measured in results.items() if cell.mechanism == mechanism]
        rows.append((mechanism, len(part), *(float(np.mean([measured[key] for measured in part])) for key in keys)))
    lines = [f"Share of {runs} runs with a right variance in which notes doubt it:", ""]
    return lines + table(("mechanism", "cells", *keys), rows) + worst("Right variances doubted", doubted)


def main(given: argparse.Namespace) -> dict[str, dict]:
    """Measure, and print or write what came out."""
    epsilons = (1.0,) if given.quick else (1.0, 4.0)
    cells = [Hashing("retail", epsilon, FUNCTIONS) for epsilon in epsilons]
    found = measure(cells, given, run_hashing, at_once=1)
    hashing = {f"simulated, epsilon {cell.epsilon:g}": measured for cell, measured in found.items()}
    if given.peer:
        for cell in found:
            hashing[f"pure-ldp, epsilon {cell.epsilon:g}"] = run_peer(cell, given.peer, min(given.runs, PEER_RUNS))
    often = given.runs if given.quick else 5 * given.runs
    right = measure(right_cells(given.quick), argparse.Namespace(**vars(given) | {"runs": often}), run_right)
    lines = [f"Mean of {given.runs} seeded runs on Retail, {FUNCTIONS} functions.", ""]
    lines += show_hashing(hashing) if hashing else []
    lines += show_right(right, often) if right else []
    deliver("other_libraries", lines, given)
    return {"hashing": hashing, "right": right}


if __name__ == "__main__":
    made = parser(__doc__)
    made.add_argument("--peer", metavar="PYTHON", help="a Python that has pure-ldp, to make its estimates as well")
    main(made.parse_args())
