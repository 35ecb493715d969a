"""How time grows: with the number of reports, with the domain, and with the number of items to calibrate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import localdp as ldp
from localdp.bench.cases import values_of
from localdp.bench.timing import Steps, interleaved, seconds


@dataclass(frozen=True)
class Growth:
    """Nanoseconds of a step at each size, for each unit of it."""

    what: str
    unit: str
    sizes: tuple[int, ...]
    steps: dict[str, list[float]]


def with_reports(mechanism: str, size: int, sizes: tuple[int, ...], times: int) -> Growth:
    """Nanoseconds a report as their number grows."""
    runs = [_pipeline(mechanism, size, users, users) for users in sizes]
    return _measured(f"{mechanism}, d = {size:,}, epsilon 1, n =", "report", sizes, runs, times)


def with_items(mechanism: str, users: int, sizes: tuple[int, ...], unit: str, times: int) -> Growth:
    """Nanoseconds a report, or a bit of it, as the domain grows."""
    runs = [_pipeline(mechanism, size, users, users * size if unit == "bit" else users) for size in sizes]
    return _measured(f"{mechanism}, n = {users:,}, epsilon 1, d =", unit, sizes, runs, times)


def of_calibrate(sizes: tuple[int, ...], times: int) -> Growth:
    """Nanoseconds an item: with `auto` fitted to as many estimates, and with the prior given."""
    spectrum = ldp.datasets.load("kosarak").frequencies
    runs = []
    for items in sizes:
        truth = np.random.default_rng(0).choice(spectrum, items)
        estimate = ldp.Plan(items, "oue", 4.0).simulate(truth, seed=0).estimate()
        prior = estimate.calibrate().prior

        def run(estimate: ldp.Estimate = estimate, prior: ldp.FittedPrior = prior, items: int = items) -> Steps:
            return {
                "fit and calibrate": seconds(lambda: estimate.calibrate().frequencies) / items,
                "calibrate": seconds(lambda: estimate.calibrate(prior).frequencies) / items,
            }

        runs.append(run)
    return _measured("calibrate, d =", "item", sizes, runs, times)


def _pipeline(mechanism: str, size: int, users: int, units: int):  # type: ignore[no-untyped-def]
    plan, values = ldp.Plan(size, mechanism, 1.0), values_of(size, users)

    def run() -> Steps:
        made: list[ldp.Reports] = []
        privatizing = seconds(lambda: made.append(plan.privatize(values)))
        aggregating = seconds(lambda: plan.aggregate(made[0]))
        steps = {"privatize": privatizing, "aggregate": aggregating, "both": privatizing + aggregating}
        return {step: took / units for step, took in steps.items()}

    return run


def _measured(what: str, unit: str, sizes: tuple[int, ...], runs: list, times: int) -> Growth:  # type: ignore[type-arg]
    best = interleaved(dict(zip(map(str, sizes), runs, strict=True)), times)
    steps: dict[str, list[float]] = {}
    for size in sizes:
        for step, took in best[str(size)].items():
            steps.setdefault(step, []).append(1e9 * took)
    return Growth(what, unit, sizes, steps)
