"""How close we come to the limits of the machine.

Counting is compared with reading memory once, perturbing with making the keystream it draws, and calibrating with one
pass of `np.exp` over as many numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import localdp as ldp
from localdp.bench import machine
from localdp.bench.cases import KERNELS, values_of
from localdp.bench.timing import Timings, interleaved, seconds
from localdp.kernels import dispatch
from localdp.randomness.keystream import seeded

READ, KEYSTREAM, EXPONENTIAL = "reading memory", "the AES keystream it draws", "one pass of np.exp"

COUNTED_BYTES = 1 << 28
PERTURBED_BYTES = 1 << 24
"""Small enough that the allocator reuses its memory; fresh pages from the system would be measured as well."""


@dataclass(frozen=True)
class Share:
    """The share of a limit that we reach with each kind of kernels: 1 means as fast as the machine allows."""

    what: str
    limit: str
    reached: dict[str, float]


@dataclass(frozen=True)
class _Work:
    """An action to time, the limit it is compared with, and the bytes that it reads or draws."""

    what: str
    limit: str
    action: Callable[[], object]
    size: float


def measure_shares(rounds: int) -> tuple[machine.Limits, list[Share]]:
    """The limits of the machine and our shares of them; both are measured in turn in every round."""
    works = [
        *(_counting(items) for items in (1_024, 16_470, 41_270)),
        *(_perturbing(items) for items in (1_024, 16_470)),
        _calibrating(),
    ]
    sides = {f"{work.what}, {kind}": _with_kernels(kind, work.action) for work in works for kind in KERNELS}
    best: dict[str, float] = {}
    limits: machine.Limits | None = None
    for _ in range(rounds):
        measured = machine.limits(1)
        limits = measured if limits is None else limits.best_of(measured)
        for name, timings in interleaved(sides, 1).items():
            best[name] = min(timings["seconds"], best.get(name, timings["seconds"]))
    if limits is None:
        raise ValueError("at least one round is needed")
    return limits, [
        Share(work.what, work.limit, {kind: _least(work, limits) / best[f"{work.what}, {kind}"] for kind in KERNELS})
        for work in works
    ]


def _least(work: _Work, limits: machine.Limits) -> float:
    """The seconds that the work takes at the limit of the machine."""
    if work.limit == EXPONENTIAL:
        return limits.exponential_seconds
    return work.size / (limits.read_speed if work.limit == READ else limits.keystream_speed)


def _with_kernels(kind: str, action: Callable[[], object]) -> Callable[[], Timings]:
    def run() -> Timings:
        with dispatch.kernels(kind):
            return {"seconds": seconds(action)}

    run()  # the first run compiles the kernels or loads them from disk, and is not counted
    return run


def _counting(items: int) -> _Work:
    plan = ldp.Plan(items, "oue", 1.0)
    reports = plan.privatize(values_of(items, COUNTED_BYTES // plan.mechanism.report_bytes))
    what = f"count oue reports, d = {items:,}"
    return _Work(what, READ, lambda: plan.aggregate(reports), reports.rows.nbytes)


def _perturbing(items: int) -> _Work:
    plan = ldp.Plan(items, "oue", 1.0)
    values = values_of(items, PERTURBED_BYTES // plan.mechanism.report_bytes)
    source = seeded(0)
    tried = values[:1000]
    plan.mechanism.randomize(tried, source)  # counts the random words that a user needs
    drawn_bytes = 8 * source.drawn * values.size / tried.size
    return _Work(f"perturb by oue, d = {items:,}, epsilon 1", KEYSTREAM, lambda: plan.privatize(values), drawn_bytes)


def _calibrating() -> _Work:
    data = ldp.datasets.load("kosarak")
    known = ldp.Plan(data.d, "oue", 4.0).simulate(data.frequencies, seed=0).estimate()
    prior = known.calibrate().prior
    values = np.random.default_rng(0).normal(0, known.std_error, machine.EXPONENTIALS)
    values[: values.size // 1000] += 5_000  # one item in a thousand is frequent
    many = ldp.Estimate(values, n=known.n, variance=known.variance, excess_variance=known.excess_variance, total=None)
    what = f"calibrate {machine.EXPONENTIALS:,} items, the prior given"
    return _Work(what, EXPONENTIAL, lambda: many.calibrate(prior).frequencies, values.nbytes)
