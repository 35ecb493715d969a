"""Random configurations: coverage, errors and times of each, to find those that nobody thought of.

`--seed` and `--draws` decide what is drawn: n from 1,000 to 3e10 and d from 30 to 500,000, both log-uniform; epsilon;
oue, sue or (up to 1,000 items) grr; and a spectrum, from which the true frequencies are drawn as a multinomial.
`--small` draws 2 to 30 items, and then runs every configuration ten times, since a single error says little there;
`--huge` draws 500,000 to 10 million. A line is printed for every configuration as soon as it is done.

A configuration is listed as a violation if its 90% intervals hold less than 75% of the truth, if its error is more than
1.1 times the raw one or 1.3 times norm-sub's, or if its intervals take longer than half a second and 5 seconds for a
million items. `python benchmarks/sweep.py --print` takes about ten minutes on two cores, `--quick` half a minute;
`--only "#17 "` repeats one configuration. `--promises` measures what is promised instead, on other shapes and with
lists, items named beforehand and groups: see `promises.py`.
"""

from __future__ import annotations

import argparse
import resource
import time
from functools import partial
from typing import NamedTuple

import numpy as np
import promises
from runs import Measurements, workers
from worst import arithmetic_mean, chosen, coverage, deliver, geometric_mean, label, parser, ratio, table, worst

import localdp as ldp

EPSILONS = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0)
SPECTRA = ("zipf", "lognormal", "gamma", "exponential", "empty")
FIXED_SECONDS, SECONDS_PER_MILLION = 0.5, 5.0


class Draw(NamedTuple):
    """One configuration; `number` and `seed` decide its spectrum and its runs."""

    number: str
    mechanism: str
    spectrum: str
    d: int
    n: int
    epsilon: float
    seed: int


def draw(seed: int, number: int, items: tuple[float, float], users: tuple[float, float]) -> Draw:
    """Configuration `number` of this seed."""
    rng = np.random.default_rng((seed, number))
    d = round(np.exp(rng.uniform(*np.log(items))))
    n = round(np.exp(rng.uniform(*np.log(users))))
    mechanisms = ("oue", "sue", "grr") if d <= 1_000 else ("oue", "sue")
    mechanism, spectrum = str(rng.choice(mechanisms)), str(rng.choice(SPECTRA))
    return Draw(f"#{number}", mechanism, spectrum, d, n, float(rng.choice(EPSILONS)), seed)


def shares(spectrum: str, d: int, rng: np.random.Generator) -> np.ndarray:
    """The expected share of every item, with a random parameter of the spectrum."""
    if spectrum == "zipf":
        weights = 1 / np.arange(1, d + 1) ** rng.uniform(0.5, 2)
    elif spectrum == "lognormal":
        weights = rng.lognormal(0, rng.uniform(0.3, 3), d)
    elif spectrum == "gamma":
        weights = rng.gamma(rng.uniform(0.1, 3), 1, d)
    elif spectrum == "exponential":
        weights = np.exp(-rng.exponential(1, d) * rng.uniform(0.5, 5))
    else:  # mostly empty
        weights = rng.pareto(1.2, d) * (rng.random(d) < 0.05)
    weights[rng.integers(d)] += 1e-9  # at least one item has holders
    return weights / weights.sum()


def clocks() -> np.ndarray:
    """The clock on the wall and the processor's: the smaller difference is little disturbed by other programs."""
    return np.array([time.perf_counter(), time.process_time()])


def one_run(cell: Draw, repeat: int) -> Measurements:
    """Simulate the configuration once: coverage, errors, and the seconds of the means and of the intervals."""
    rng = np.random.default_rng((cell.seed, int(cell.number[1:]), 1 + repeat))
    truth = rng.multinomial(cell.n, shares(cell.spectrum, cell.d, rng))
    estimate = ldp.Plan(cell.d, cell.mechanism, cell.epsilon).simulate(truth, seed=repeat).estimate()
    started = clocks()
    calibrated = estimate.calibrate()
    found = calibrated.frequencies
    between = clocks()
    low, high = calibrated.interval(0.9)
    ended = clocks()
    return {
        "auto": ldp.metrics.estimation_error(found, truth),
        "raw": ldp.metrics.estimation_error(estimate.frequencies, truth),
        "norm-sub": ldp.metrics.estimation_error(estimate.project("norm-sub").frequencies, truth),
        "covered": coverage(low, high, truth),
        "means": min(between - started),
        "intervals": min(ended - between),
        "total": float(found.sum()) / cell.n,
    }


def run(runs: int, cell: Draw) -> Measurements:
    """The mean over the runs; all are NaN if the memory did not suffice."""
    try:
        found = [one_run(cell, repeat) for repeat in range(runs)]
    except MemoryError:
        return {}
    return {key: float(np.mean([one[key] for one in found])) for key in found[0]}


def prepare(gigabytes: float) -> None:
    """Limit the memory of this process, and import and compile everything before anything is timed."""
    limit = int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    one_run(Draw("#0", "oue", "zipf", 100, 10_000, 1.0, 0), 0)


def violations(cell: Draw, measured: Measurements) -> list[str]:
    """What is wrong with a configuration, in words."""
    if not measured:
        return ["not enough memory"]
    over_raw, over_norm_sub = ratio(measured["auto"], measured["raw"]), ratio(measured["auto"], measured["norm-sub"])
    found = []
    if measured["covered"] < 0.75:
        found.append(f"coverage {measured['covered']:.3f}")
    if over_raw > 1.1:
        found.append(f"{over_raw:.2f} of the raw error")
    if measured["norm-sub"] > 0 and over_norm_sub > 1.3:
        found.append(f"{over_norm_sub:.2f} of norm-sub's error")
    if measured["intervals"] > FIXED_SECONDS + SECONDS_PER_MILLION * cell.d / 1e6:
        found.append(f"intervals in {measured['intervals']:.2f} s")
    return found


def line(cell: Draw, measured: Measurements) -> str:
    """One configuration and what was measured, with its violations."""
    wrong = violations(cell, measured)
    if not measured:
        return f"{label(cell)}: {wrong[0]}"
    over_raw, over_norm_sub = ratio(measured["auto"], measured["raw"]), ratio(measured["auto"], measured["norm-sub"])
    text = (
        f"{label(cell)}: covered {measured['covered']:.3f}, over raw {over_raw:.3f}, "
        f"over norm-sub {over_norm_sub:.3f}, total {measured['total']:.3f}, "
        f"means {measured['means']:.2f} s, intervals {measured['intervals']:.2f} s"
    )
    return text + (f"  <- {', '.join(wrong)}" if wrong else "")


def summary(results: dict[Draw, Measurements]) -> list[str]:
    """Means, counts of violations, the worst configurations by each measure, and all violations."""
    known = {cell: measured for cell, measured in results.items() if measured}
    covered = {cell: measured["covered"] for cell, measured in known.items()}
    over_raw = {cell: ratio(measured["auto"], measured["raw"]) for cell, measured in known.items()}
    over_norm_sub = {
        cell: ratio(measured["auto"], measured["norm-sub"])
        for cell, measured in known.items()
        if measured["norm-sub"] > 0
    }
    wrong = {cell: violations(cell, measured) for cell, measured in results.items()}
    kinds = {
        "coverage": "coverage",
        "raw error": "raw error",
        "norm-sub": "norm-sub",
        "time": "intervals in",
        "memory": "memory",
    }
    head = ("configurations", "mean coverage", "over raw", "over norm-sub", "violations", *kinds)
    counts = [sum(any(word in text for text in texts) for texts in wrong.values()) for word in kinds.values()]
    means = arithmetic_mean(covered.values()), geometric_mean(over_raw.values()), geometric_mean(over_norm_sub.values())
    lines = [
        "Mean coverage, geometric means of the errors over the raw and over norm-sub's, and how many configurations",
        "violate each limit.",
        "",
        *table(head, [(len(results), *means, sum(map(bool, wrong.values())), *counts)]),
    ]
    lines += worst("Coverage of the 90% intervals", covered, largest=False)
    lines += worst("Error over the raw", over_raw) + worst("Error over norm-sub's", over_norm_sub)
    listed = [f"- {label(cell)}: {', '.join(texts)}" for cell, texts in wrong.items() if texts]
    return [*lines, "All violations:", "", *(listed or ["- none"]), ""]


def keep_promises(given: argparse.Namespace) -> dict[promises.Survey, Measurements]:
    """Draw, measure and print what `promises` says."""
    cells = chosen([promises.draw(given.seed, number) for number in range(given.draws or 400)], given)
    results = {}
    with workers(given.processes, initializer=prepare, initargs=(given.memory,)) as pool:
        for cell, measured in zip(cells, pool.map(promises.run, cells), strict=True):
            results[cell] = measured
            print(promises.line(cell, measured), flush=True)
    print(f"\n{len(cells)} draws, {promises.SEEDS} seeds of noise each, seed {given.seed}.\n")
    print("\n".join(promises.summary(results)))
    return results


def main(given: argparse.Namespace) -> dict[Draw, Measurements]:
    """Draw, measure, and print or write what came out."""
    items = (2, 30) if given.small else (5e5, 1e7) if given.huge else (30, 3e4) if given.quick else (30, 5e5)
    users = (1e5, 3e10) if given.huge else (1e3, 3e10)
    draws = given.draws or (30 if given.quick or given.huge else 300)
    runs = given.runs or (10 if given.small else 1)
    cells = chosen([draw(given.seed, number, items, users) for number in range(draws)], given)
    results = {}
    with workers(given.processes, initializer=prepare, initargs=(given.memory,)) as pool:
        for cell, measured in zip(cells, pool.map(partial(run, runs), cells), strict=True):
            results[cell] = measured
            print(line(cell, measured), flush=True)
    described = (
        f"{draws} configurations of {items[0]:,.0f} to {items[1]:,.0f} items, seed {given.seed}; runs of each: {runs}."
    )
    print()
    deliver("sweep", [described, "", *summary(results)], given)
    return results


if __name__ == "__main__":
    made = parser(__doc__, runs=None)
    made.add_argument("--seed", type=int, default=1, help="decides all configurations, 1 unless given")
    made.add_argument("--draws", type=int, help="how many configurations, 300 unless given (30 with --quick or --huge)")
    made.add_argument("--small", action="store_true", help="2 to 30 items, printed")
    made.add_argument("--promises", action="store_true", help="what is promised, on 400 draws unless told, printed")
    made.add_argument("--huge", action="store_true", help="500,000 to 10 million items, printed")
    made.add_argument(
        "--memory", type=float, default=8.0, help="gigabytes of address space for a process, 8 unless given"
    )
    arguments = made.parse_args()
    arguments.printed |= arguments.small or arguments.huge
    (keep_promises if arguments.promises else main)(arguments)
