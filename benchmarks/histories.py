"""Histories of random populations: their errors, how many intervals hold, and what a long one takes.

`changes.py` says what is measured, and writes it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from worst import table

import localdp as ldp

SKETCH = (
    ("plain", 300, 22, 10_000, 2.0, 0.0),
    ("plain", 300, 22, 10_000, 2.0, 0.05),
    ("plain", 300, 22, 10_000, 2.0, 0.15),
    ("step", 300, 22, 10_000, 2.0, 0.0),
    ("plain", 20, 30, 2_000, 1.0, 0.0),
    ("plain", 20, 30, 2_000, 1.0, 0.1),
    ("plain", 1_000, 10, 100_000, 1.0, 0.1),
)
ALONE = 6  # periods of a history that are calibrated on their own


def population(items: int, base: str, rng: np.random.Generator) -> np.ndarray:
    """The shares of a population."""
    weights = {
        "power law": 1 / np.arange(1, items + 1) ** 1.1,
        "flat": np.ones(items),
        "log-normal": rng.lognormal(0, 1.5, items),
    }[base]
    return np.asarray(weights / weights.sum())


def asked(plan: ldp.Plan, shares: np.ndarray, people: int, rng: np.random.Generator) -> ldp.Aggregate:
    """People of a population are drawn and asked."""
    return plan.simulate(rng.multinomial(people, shares), seed=int(rng.integers(1 << 40)))


def periods_of(case: tuple[Any, ...], seed: int) -> tuple[list[ldp.Aggregate], np.ndarray]:
    """The aggregates of a case, and the true shares: axes items and periods."""
    shape, items, periods, people, epsilon, drift = case
    rng = np.random.default_rng(seed)
    level, truth = population(items, "power law", rng), np.empty((items, periods))
    for t in range(periods):
        if t and drift:
            level = level * np.exp(rng.normal(0, drift, items))
        if t == periods // 2 and shape == "step":
            level[stepping(items)] *= 3
        if t == periods // 2 and shape == "launch":
            level[-1] = 0.05 * level.sum()
        truth[:, t] = level / level.sum()
    plan = ldp.Plan(items, epsilon=epsilon)
    return [asked(plan, truth[:, t], people, rng) for t in range(periods)], truth


def stepping(items: int) -> int:
    """The item that triples."""
    return min(5, items - 1)


def one_history(case: tuple[Any, ...], seed: int, alone: bool = True) -> dict[str, float]:
    """The errors and the coverage of one history; `alone`: also those of some periods calibrated on their own."""
    days, truth = periods_of(case, seed)
    whole = ldp.Aggregate(days[0].plan)
    for day in days:
        whole.merge(day)
    results = {"joint": ldp.history(days)}
    some = {"joint": np.arange(len(days)), "each": np.unique(np.linspace(0, len(days) - 1, ALONE).astype(int))}
    if alone:
        results["each"] = [days[t].estimate().calibrate(warn=False) for t in some["each"]]
    lines = {name: np.array([day.shares for day in periods]).T for name, periods in results.items()}
    top, shown = (np.argsort(-shares.mean(axis=1))[:10] for shares in (truth, lines["joint"]))

    def error(line: np.ndarray, places: Any = slice(None)) -> float:
        return float(np.sqrt(np.square(line - truth[:, places])[top].mean()))

    found = {
        "raw": error(np.array([day.estimate().shares for day in days]).T),
        "pooled": error(np.tile(whole.estimate().calibrate(warn=False).shares[:, None], len(days))),
        "joint": error(lines["joint"]),
    }
    if alone:
        found["each"] = error(lines["each"], some["each"]) / error(lines["joint"][:, some["each"]], some["each"])
    for name, periods in results.items():
        low, high = (np.array([day.interval(0.9)[side] for day in periods]).T / days[0].n for side in (0, 1))
        held = (low <= truth[:, some[name]]) & (truth[:, some[name]] <= high)
        found |= {f"{name} top": float(held[top].mean()), f"{name} all": float(held.mean())}
        found[f"{name} shown"] = float(held[shown].mean())
    return found


def tripled(runs: int, seed: int, processes: int) -> list[str]:
    """The section about items that triple: of `runs` random cases, those in which it can be seen."""
    rng = np.random.default_rng(seed)
    cases = [("step", *random_case(rng)[1:]) for _ in range(runs)]
    with ProcessPoolExecutor(processes) as pool:
        found = np.array(list(pool.map(one_tripled, cases, rng.integers(1 << 40, size=runs).tolist())))
    seen = found[found >= 0]
    share, error = float(seen.mean()), float(np.sqrt(seen.mean() * (1 - seen.mean()) / seen.size))
    return [f"A tripled item is seen after three periods in {share:.3f} +- {error:.3f} of {seen.size} cases.", ""]


def one_tripled(case: tuple[Any, ...], seed: int) -> float:
    """Whether the item is seen to have more than its old share three periods after it tripled; -1: it is too small."""
    days, truth = periods_of(case, seed)
    item, middle = stepping(case[1]), len(days) // 2
    old, new = truth[item, middle - 1], truth[item, middle]
    if new - old < 4 * days[0].estimate().std_error / days[0].n / np.sqrt(3) or len(days) < middle + 3:
        return -1.0
    last = ldp.history(days[: middle + 3])[-1]
    return float(last.interval(0.9)[0][item] / last.n > old)


def speed(runs: int, seed: int, processes: int) -> list[str]:  # noqa: ARG001 (the other sections need them)
    """The section about the time of a long history, whose items drift and of which one triples."""
    days, _ = periods_of(("step", 10_000, 400, 20_000, 2.0, 0.05), seed)
    times = []
    for _ in range(runs):
        started = time.process_time()
        ldp.history(days)
        times.append(time.process_time() - started)
    return [f"A history of 400 periods of 10,000 items takes {min(times):.1f} s of processor time.", ""]


def sketched(case: tuple[Any, ...], seed: int) -> list[float]:
    """The error over raw's and over the better of raw and pooled, and how many intervals hold: top ten, and all."""
    found = one_history(case, seed, alone=False)
    better = min(found["raw"], found["pooled"])
    return [found["joint"] / found["raw"], found["joint"] / better, found["joint top"], found["joint all"]]


def sketches(runs: int, seed: int, processes: int) -> list[str]:
    """The section about the cases of the sketch, `runs` times each."""
    rows = []
    with ProcessPoolExecutor(processes) as pool:
        for case in SKETCH:
            found = np.array(list(pool.map(sketched, [case] * runs, range(seed, seed + runs))))
            rows.append([_named(case), *found.mean(axis=0).tolist(), float(found[:, 2].std() / np.sqrt(runs))])
    return table(
        ["case", "/ raw", "/ the better of raw and pooled", "holds: top ten", "all", "+- of the top ten"], rows
    )


def random_case(rng: np.random.Generator) -> tuple[Any, ...]:
    """A random case of a history."""
    return (
        str(rng.choice(["plain", "step", "launch"])),
        int(np.exp(rng.uniform(np.log(5), np.log(1_000)))),
        int(rng.integers(5, 61)),
        int(np.exp(rng.uniform(np.log(500), np.log(50_000)))),
        float(rng.uniform(0.5, 4)),
        float(rng.choice([0.0, rng.uniform(0, 0.2)])),
    )


def histories(runs: int, seed: int, processes: int) -> list[str]:
    """The section about histories."""
    rng = np.random.default_rng(seed)
    cases = [random_case(rng) for _ in range(runs)]
    with ProcessPoolExecutor(processes) as pool:
        found = list(pool.map(one_history, cases, rng.integers(1 << 40, size=len(cases)).tolist()))

    def mean(values: Iterable[float]) -> list[float]:
        some = np.array(list(values))
        return [float(some.mean()), float(some.std() / np.sqrt(some.size))]

    rows = [["error / raw's", *mean(one["joint"] / one["raw"] for one in found)]]
    rows.append(["error / that of each period alone", *mean(1 / one["each"] for one in found)])
    rows.append(["error / that of the table of all periods", *mean(one["joint"] / one["pooled"] for one in found)])
    for name, key in (("top ten", "top"), ("ten on top of the table", "shown"), ("all items", "all")):
        rows.append([f"intervals hold: {name}", *mean(one[f"joint {key}"] for one in found)])
        if key != "all":
            rows.append([f"the same of each period alone: {name}", *mean(one[f"each {key}"] for one in found)])
    better = [one["joint"] / min(one["raw"], one["pooled"]) for one in found]
    rows.append(["error / that of the better of raw and pooled", *mean(better)])
    largest = ", ".join(f"{one:.2f}" for one in sorted(better)[-5:])
    return [
        *table([f"{runs} histories", "mean", "+-"], rows),
        f"Error over the better of raw and pooled: above 1.05 in {sum(one > 1.05 for one in better)} of {runs}.",
        f"The five largest are {largest}.",
    ]


def _named(case: tuple[Any, ...]) -> str:
    shape, items, periods, people, epsilon, drift = case
    return f"{shape}, {items} items, {periods} periods of {people:,}, epsilon {epsilon:g}, drift {drift:g}"
