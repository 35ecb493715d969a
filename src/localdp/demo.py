"""A real run in one screen: every sale of a supermarket is a person, and nobody says what they bought."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from localdp import datasets
from localdp.plan import Plan

EPSILON = 2.0
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
    print(f"\n{len(wire):,} bytes were sent, {mechanism.report_bytes} a person.\n")

    print(f"{'item':>6}{'truth':>10}{'estimate':>12}{'error':>10}{'std error':>12}")
    errors = estimate.std_error_at(data.frequencies)
    for item in range(TOP):
        truth, found = data.frequencies[item], estimate.frequencies[item]
        print(f"{item:>6}{truth:>10,}{found:>12,.0f}{found - truth:>+10,.0f}{errors[item]:>12,.0f}")
    noise = estimate.frequencies - data.frequencies
    print(
        f"\nOver all {data.d:,} items the error has mean {noise.mean():+.1f} and deviation {noise.std():,.0f}; "
        f"theory says 0 and {estimate.std_error:,.0f}."
    )


@contextmanager
def _timed(step: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    print(f"{step + ' ':.<44} {time.perf_counter() - started:6.3f} s", flush=True)


if __name__ == "__main__":
    main()
