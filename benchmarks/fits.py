"""How long the paper's two ways to fit a prior take, and how good the fits are: the mean-variance method against mle.

`python benchmarks/fits.py` takes about a minute. For Retail under OUE it prints, for each family and method, the
shortest time of a few fits and the mean squared error of the calibrated frequencies divided by the oracle's, averaged
over seeded runs. `--runs 1` is a short trial.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import localdp as ldp

EPSILONS = (1.0, 4.0)
FAMILIES = (ldp.PowerLaw, ldp.Gaussian, ldp.Laplace, ldp.Poisson)
WAYS = (("known", "mean-variance"), ("estimates", "mean-variance"), ("known", "mle"))
REPEATS = 3


def measure(family: ldp.Prior, method: str, estimate: ldp.Estimate, truth: np.ndarray) -> tuple[float, float]:
    """The shortest time of a fit in milliseconds, and the mean squared error."""
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        calibrated = estimate.calibrate(family, method)
        times.append(1e3 * (time.perf_counter() - started))
    return min(times), ldp.metrics.estimation_error(calibrated.frequencies, truth)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    truth = ldp.datasets.load("retail").frequencies
    ldp.Estimate(truth, n=int(truth.sum()), variance=100.0).calibrate("power-law", "mle")  # loads SciPy
    print("| epsilon | family | method | mean | milliseconds | error / oracle's |")
    print("|---|---|---|---|---|---|")
    for epsilon in EPSILONS:
        plan = ldp.Plan(truth.size, "oue", epsilon)
        surveys = [plan.simulate(truth, seed=seed).estimate() for seed in range(runs)]
        oracle = np.mean(
            [ldp.metrics.estimation_error(one.calibrate(ldp.Fixed(truth)).frequencies, truth) for one in surveys]
        )
        for kind in FAMILIES:
            for mean, method in WAYS:
                found = [measure(kind(mean=mean), method, estimate, truth) for estimate in surveys]
                shortest, error = min(entry[0] for entry in found), np.mean([entry[1] for entry in found])
                used = mean if method == "mean-variance" else "-"
                print(f"| {epsilon:g} | {kind.name} | {method} | {used} | {shortest:.1f} | {error / oracle:.3f} |")


if __name__ == "__main__":
    main()
