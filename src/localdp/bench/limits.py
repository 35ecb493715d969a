"""How close to the machine: counting against reading, perturbing against the keystream, calibrating against np.exp."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import localdp as ldp
from localdp.bench import machine
from localdp.bench.cases import KERNELS, values_of
from localdp.bench.timing import Steps, interleaved, seconds
from localdp.kernels import dispatch
from localdp.randomness.keystream import seeded

Work = tuple[Callable[[], object], float]

COUNTED_BYTES = 1 << 28
PERTURBED_BYTES = 1 << 24  # what a process gives back and takes again, not fresh memory each time


@dataclass(frozen=True)
class Share:
    """How much of what the machine allows is reached, under each kind of kernels."""

    what: str
    limit: str
    reached: dict[str, float]


def shares(times: int) -> tuple[dict[str, float], list[Share]]:
    """The limits, and our shares of them; all of it interleaved."""
    read, keystream, exponential = "reading memory", "the AES keystream it draws", "one pass of np.exp"
    work = {
        **{(f"count oue reports, d = {d:,}", read): _counting(d) for d in (1_024, 16_470, 41_270)},
        **{(f"perturb by oue, d = {d:,}, epsilon 1", keystream): _perturbing(d) for d in (1_024, 16_470)},
        (f"calibrate {machine.EXPONENTIALS:,} items, the prior given", exponential): _calibrating(),
    }
    sides = {f"{what}, {kind}": _under(kind, action) for (what, _), (action, _) in work.items() for kind in KERNELS}
    best: dict[str, float] = {}
    limits: dict[str, float] = {}
    for _ in range(times):
        for name, value in machine.limits(1).items():
            better = min if name == "exponential" else max
            limits[name] = better(value, limits.get(name, value))
        for name, steps in interleaved(sides, 1).items():
            best[name] = min(steps["seconds"], best.get(name, steps["seconds"]))
    least: dict[str, Callable[[float], float]] = {
        read: lambda octets: octets / limits["read"],
        keystream: lambda octets: octets / limits["keystream"],
        exponential: lambda _: limits["exponential"],
    }
    found = [
        Share(what, limit, {kind: least[limit](amount) / best[f"{what}, {kind}"] for kind in KERNELS})
        for (what, limit), (_, amount) in work.items()
    ]
    return limits, found


def _under(kind: str, action: Callable[[], object]) -> Callable[[], Steps]:
    def run() -> Steps:
        with dispatch.kernels(kind):
            return {"seconds": seconds(action)}

    run()
    return run


def _counting(size: int) -> Work:
    plan = ldp.Plan(size, "oue", 1.0)
    reports = plan.privatize(values_of(size, COUNTED_BYTES // plan.mechanism.report_bytes))
    return lambda: plan.aggregate(reports), reports.rows.nbytes


def _perturbing(size: int) -> Work:
    plan = ldp.Plan(size, "oue", 1.0)
    values = values_of(size, PERTURBED_BYTES // plan.mechanism.report_bytes)
    source = seeded(0)
    plan.mechanism.randomize(values[:1000], source)
    return lambda: plan.privatize(values), 8 * source.drawn * values.size / 1000


def _calibrating() -> Work:
    data = ldp.datasets.load("kosarak")
    known = ldp.Plan(data.d, "oue", 4.0).simulate(data.frequencies, seed=0).estimate()
    prior = known.calibrate().prior
    values = np.random.default_rng(0).normal(0, known.std_error, machine.EXPONENTIALS)
    values[: values.size // 1000] += 5_000
    many = ldp.Estimate(values, n=known.n, variance=known.variance, excess_variance=known.excess_variance)
    return lambda: many.calibrate(prior).frequencies, values.size
