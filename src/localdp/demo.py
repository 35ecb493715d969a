"""A real run in one screen: every sale of a supermarket is a person, and nobody says what they bought."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from localdp import datasets
from localdp.estimate import Estimate
from localdp.plan import Plan
from localdp.priors import Fixed

EPSILON = 4.0
TOP = 10


def main() -> None:
    """Run the pipeline on the Retail data and print what the collector learns."""
    data = datasets.load("retail")
    plan = Plan(data.d, "auto", EPSILON)
    mechanism = plan.mechanism
    print(f"{data.note}\n")
    print(f"{data.n:,} people hold one of {data.d:,} items each. Privacy budget: epsilon = {EPSILON:g}.")
    print(f"Mechanism: {plan.why}.")
    print(f"Realised: epsilon {mechanism.epsilon:.15g}, p* {mechanism.p_star:.6f}, q* {mechanism.q_star:.6f}.\n")

    values = np.repeat(np.arange(data.d), data.frequencies)
    with _timed("encode and perturb, on the devices"):
        reports = plan.privatize(values)
    with _timed("write the reports"):
        wire = reports.to_bytes()
    with _timed("read and aggregate, at the collector"):
        aggregate = plan.aggregate(plan.read(wire))
    with _timed("estimate"):
        estimate = aggregate.estimate()
    with _timed("calibrate"):
        calibrated = estimate.calibrate()
        frequencies = calibrated.frequencies
    print(f"\n{len(wire):,} bytes were sent, {mechanism.report_bytes} a person.")
    print(f"Prior: {calibrated.prior!r}.\n")

    low, high = calibrated.interval(0.9)
    print(f"{'item':>6}{'truth':>10}{'raw':>10}{'std error':>11}{'calibrated':>12}{'90% interval':>20}")
    errors = estimate.std_error_at(data.frequencies)
    for item in range(TOP):
        between = f"{low[item]:,.0f} to {high[item]:,.0f}"
        print(
            f"{item:>6}{data.frequencies[item]:>10,}{estimate.frequencies[item]:>10,.0f}{errors[item]:>11,.0f}"
            f"{frequencies[item]:>12,.0f}{between:>20}"
        )
    _compare(estimate, frequencies, data.frequencies)


def _compare(estimate: Estimate, auto: NDArray[np.float64], truth: NDArray[np.int64]) -> None:
    """The mean squared error of each method, side by side."""
    methods = {
        "raw": estimate.frequencies,
        "Zero (the significance threshold)": estimate.zeroed().frequencies,
        "Calibrate, power law, mean-variance": estimate.calibrate("power-law").frequencies,
        "Calibrate, power law, likelihood": estimate.calibrate("power-law", "mle").frequencies,
        "Calibrate, auto": auto,
        "the oracle, told the true spectrum": estimate.calibrate(Fixed(truth)).frequencies,
    }
    errors = {name: float(np.mean((found - truth) ** 2)) for name, found in methods.items()}
    least = errors["the oracle, told the true spectrum"]
    print(f"\n{'mean squared error over all items':<40}{'':>12}{'over the oracle':>18}")
    for name, error in errors.items():
        print(f"{name:<40}{error:>12,.0f}{error / least:>18.3f}")


@contextmanager
def _timed(step: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    print(f"{step + ' ':.<44} {time.perf_counter() - started:6.3f} s", flush=True)


if __name__ == "__main__":
    main()
