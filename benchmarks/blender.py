"""Opted-in and private users together: Blender's combination beside ours, on Retail.

    python benchmarks/blender.py --write

Avent, Korolova, Zeber, Hovden & Livshits, "BLENDER: enabling local search with a hybrid differential privacy model",
USENIX Security 2017. The users who opted in trust the curator, whose results are epsilon-private for them. Half of them
make the head list: items whose noisy count exceeds a threshold. The others estimate its frequencies, with Laplace
noise. Private users report an item of the list, or that theirs is not in it, by randomized response. Both estimates are
averaged with weights by their variances. (One item for each user, so there is one stage, not two.)

*ours* gives every user who opted in the same noise, private users report by `auto` over all items, and the average of
the two estimates is calibrated.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from literature_page import table, write
from numpy.typing import NDArray

import localdp as ldp

Counts = NDArray[np.int64]
Vector = NDArray[np.float64]
FALSE_ITEMS = 1e-5  # the delta of Blender's threshold


def divided(held: Counts, share: float, rng: np.random.Generator) -> tuple[Counts, Counts]:
    """A random part of the users, and the rest, as frequencies."""
    part = rng.multivariate_hypergeometric(held, round(share * held.sum()), method="marginals")
    return part, held - part


def noisy(counts: Counts, epsilon: float, rng: np.random.Generator) -> tuple[Vector, float]:
    """Counts with Laplace noise, if one user may change from one item to another, and the variance of the noise."""
    return counts + rng.laplace(0, 2 / epsilon, counts.size), 2 * (2 / epsilon) ** 2


def blended(one: Vector, one_variance: Vector, other: Vector, other_variance: Vector) -> tuple[Vector, Vector]:
    """The average with the least variance, and its variance."""
    weight = other_variance / (one_variance + other_variance)
    return weight * one + (1 - weight) * other, weight * one_variance


def of_the_opted_in(counts: Counts, users: int, epsilon: float, rng: np.random.Generator) -> tuple[Vector, Vector]:
    """Estimated frequencies among all users from some of them, and their variances."""
    n = int(counts.sum())
    found, noise = noisy(counts, epsilon, rng)
    shares = np.clip(found / n, 1 / n, 1)
    return found * users / n, (n * shares * (1 - shares) + noise) * (users / n) ** 2


def blender(held: Counts, opted: Counts, epsilon: float, rng: np.random.Generator) -> Vector:
    users = int(held.sum())
    listing, rest = divided(opted, 0.5, rng)
    threshold = 4 / epsilon * (math.log(2 / FALSE_ITEMS) + 1)
    listed = np.flatnonzero(listing + rng.laplace(0, 4 / epsilon, held.size) > threshold)
    if listed.size == 0:
        return np.zeros(held.size)
    central, spread = of_the_opted_in(rest, users, epsilon, rng)
    private = held - opted
    inside = np.append(private[listed], private.sum() - private[listed].sum())
    estimate = ldp.Plan(inside.size, "grr", epsilon).simulate(inside, seed=int(rng.integers(2**31))).estimate()
    scale = users / int(private.sum())
    local, variances = (
        estimate.frequencies[:-1] * scale,
        estimate.std_error_at(estimate.frequencies)[:-1] ** 2 * scale**2,
    )
    found = np.zeros(held.size)
    found[listed], _ = blended(central[listed], spread[listed], local, variances)
    return found


def ours(held: Counts, opted: Counts, epsilon: float, rng: np.random.Generator) -> tuple[Vector, Vector]:
    """The blended frequencies, and the calibrated ones."""
    users = int(held.sum())
    central, spread = of_the_opted_in(opted, users, epsilon, rng)
    private = held - opted
    estimate = ldp.Plan(held.size, "auto", epsilon).simulate(private, seed=int(rng.integers(2**31))).estimate()
    scale = users / int(private.sum())
    variances = np.asarray(estimate.variance + np.zeros(held.size)) * scale**2
    found, variance = blended(central, spread, estimate.frequencies * scale, variances)
    return found, ldp.Estimate(found, n=users, variance=variance).calibrate(warn=False).frequencies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="write the table into docs/results/literature.md")
    given = parser.parse_args()
    held = ldp.datasets.load("retail").frequencies
    rows = []
    for share in (0.01, 0.05):
        for epsilon in (1.0, 4.0):
            errors = []
            for seed in range(given.runs):
                rng = np.random.default_rng(seed)
                opted, _ = divided(held, share, rng)
                found = (blender(held, opted, epsilon, rng), *ours(held, opted, epsilon, rng))
                errors.append([ldp.metrics.estimation_error(one, held) for one in found])
            doubt = np.std(errors, axis=0, ddof=1) / math.sqrt(given.runs)
            cells = [f"{mean:,.0f} ± {one:,.0f}" for mean, one in zip(np.mean(errors, axis=0), doubt, strict=True)]
            rows.append((f"{share:.0%}", f"{epsilon:g}", *cells))
            print(*rows[-1], flush=True)
    if given.write:
        write("blender", table(("opted in", "epsilon", "Blender", "ours, blended", "ours, calibrated"), rows))


if __name__ == "__main__":
    main()
