"""How time grows with the number of reports, with the number of items, and with the number of items to calibrate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import localdp as ldp
from localdp.bench.cases import pipeline
from localdp.bench.timing import Timings, interleaved, seconds


@dataclass(frozen=True)
class Growth:
    """Nanoseconds of each step for each unit (a report, a bit or an item), one number for each size."""

    what: str
    unit: str
    sizes: tuple[int, ...]
    nanoseconds: dict[str, list[float]]


def with_reports(mechanism: str, items: int, sizes: tuple[int, ...], rounds: int) -> Growth:
    """Nanoseconds for each report, as the number of reports grows."""
    runs = [_pipeline(mechanism, items, users, units=users) for users in sizes]
    return _measured(f"{mechanism}, d = {items:,}, epsilon 1, n =", "report", sizes, runs, rounds)


def with_items(mechanism: str, users: int, sizes: tuple[int, ...], unit: str, rounds: int) -> Growth:
    """Nanoseconds for each report, or for each bit of a unary report (unit "bit"), as the domain grows."""
    runs = [_pipeline(mechanism, items, users, units=users * items if unit == "bit" else users) for items in sizes]
    return _measured(f"{mechanism}, n = {users:,}, epsilon 1, d =", unit, sizes, runs, rounds)


def of_calibrate(sizes: tuple[int, ...], rounds: int) -> Growth:
    """Nanoseconds for each item: with `auto` fitted to all the estimates, and with a prior that is fitted already."""
    frequencies = ldp.datasets.load("kosarak").frequencies
    runs = []
    for items in sizes:
        truth = np.random.default_rng(0).choice(frequencies, items)
        runs.append(_calibrate(ldp.Plan(items, "oue", 4.0).simulate(truth, seed=0).estimate()))
    return _measured("calibrate, d =", "item", sizes, runs, rounds)


def _calibrate(estimate: ldp.Estimate) -> Callable[[], Timings]:
    prior, items = estimate.calibrate().prior, estimate.domain.size

    def run() -> Timings:
        return {
            "fit and calibrate": seconds(lambda: estimate.calibrate().frequencies) / items,
            "calibrate": seconds(lambda: estimate.calibrate(prior).frequencies) / items,
        }

    return run


def _pipeline(mechanism: str, items: int, users: int, units: int) -> Callable[[], Timings]:
    """A function that privatizes and aggregates once and returns the seconds for each unit."""
    once = pipeline(ldp.Plan(items, mechanism, 1.0), users, units)

    def run() -> Timings:
        took = once()
        return {**took, "both": sum(took.values())}

    return run


def _measured(what: str, unit: str, sizes: tuple[int, ...], runs: list[Callable[[], Timings]], rounds: int) -> Growth:
    best = interleaved(dict(zip(map(str, sizes), runs, strict=True)), rounds)
    nanoseconds: dict[str, list[float]] = {}
    for size in sizes:
        for step, took in best[str(size)].items():
            nanoseconds.setdefault(step, []).append(1e9 * took)
    return Growth(what, unit, sizes, nanoseconds)
