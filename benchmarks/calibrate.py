"""What Calibrate costs: ten million estimates beside one pass of `np.exp`, and fitting `auto`, in one run."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import localdp as ldp

ITEMS = 10_000_000


def best(action: Callable[[], object], times: int = 5) -> float:
    """The least of several runs, in seconds."""
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def main() -> None:
    """Print the figures."""
    data = ldp.datasets.load("kosarak")
    estimate = ldp.Plan(data.d, "oue", 4.0).simulate(data.frequencies, seed=0).estimate()
    fitting = best(estimate.calibrate)
    whole = best(lambda: estimate.calibrate().frequencies)
    prior = estimate.calibrate().prior

    rng = np.random.default_rng(0)
    values = rng.normal(0, estimate.std_error, ITEMS)
    values[: ITEMS // 1000] += 5_000
    many = ldp.Estimate(values, n=estimate.n, variance=estimate.variance, excess_variance=estimate.excess_variance)
    small = values / values.max()
    exponential = best(lambda: np.exp(small))
    calibrating = best(lambda: many.calibrate(prior).frequencies)
    print(f"fit auto on {data.d:,} items: {fitting:.3f} s; with the calibrated frequencies: {whole:.3f} s")
    print(f"np.exp of {ITEMS:,} numbers: {exponential:.3f} s")
    print(f"calibrate {ITEMS:,} estimates: {calibrating:.3f} s, {calibrating / exponential:.1f} times that")


if __name__ == "__main__":
    main()
