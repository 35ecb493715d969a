"""How wide the band of `wave` should be: the expected error of the distribution function, for several widths.

    python benchmarks/ordered_width.py

The error is that of the posterior under the prior of ordered cells, linear around three shapes, with strong and weak
smoothness and with cells that have little or something of their own. It is printed relative to the best width.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from ordered import shaped
from ordered_peers import published_width, wave_law

from localdp.structures import Ordered

CELLS = 128
EPSILONS, PEOPLE = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0), (1e4, 1e5, 1e6)
WIDTHS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.15)  # of the published width
OWN, STEPS = (1e-6, 0.1), (-1, -3)  # variances of what cells have of their own; steps of the strength

Array = NDArray[np.float64]


def grounds() -> list[Array]:
    """Covariances of the ground: smooth curves and steps, of two strengths."""
    found = []
    for ground in Ordered().grounds(CELLS):
        for step in STEPS:
            strength = ground.strengths[0] * np.exp(1.5 * step)
            found.append(np.linalg.inv(strength * ground.penalties[0].toarray() + np.diag(ground.ridge)))
    return found


def error(law: Array, people: float, ground: Array, own: float, shares: Array) -> float:
    """The mean posterior deviation of the distribution function."""
    f = people * shares
    slope = np.diag(f) - np.outer(f, f) / people
    prior = slope @ (ground + own * np.eye(f.size)) @ slope
    known, vectors = np.linalg.eigh((law.T / (law @ f)) @ law)
    kept = known > 1e-10 * known[-1]
    vectors = vectors[:, kept]
    noise = np.diag(1 / known[kept]) - (vectors.T * f) @ vectors  # that of the people who reported
    seen = prior @ vectors
    total = vectors.T @ seen + noise
    total += 1e-9 * np.trace(noise) / len(noise) * np.eye(len(noise))
    left = prior - seen @ np.linalg.solve(total, seen.T)
    sums = np.cumsum(np.cumsum(left, axis=0), axis=1)
    return float(np.sqrt(np.maximum(np.diag(sums), 0)).mean() / people)


def main() -> None:
    """Print a row for each epsilon and number of people."""
    settings = [
        (g, own, shaped(name, CELLS)) for g in grounds() for own in OWN for name in ("rising", "hill", "falling")
    ]
    print("epsilon   people  " + "".join(f"{width:>7}" for width in WIDTHS) + "   (of the published width)")
    for epsilon in EPSILONS:
        for people in PEOPLE:
            found = []
            for width in WIDTHS:
                law = wave_law(CELLS, epsilon, int(width * published_width(CELLS, epsilon) + 0.5))
                found.append(np.exp(np.mean([np.log(error(law, people, *setting)) for setting in settings])))
            relative = np.array(found) / min(found)
            print(f"{epsilon:>7g} {people:>8.0f}  " + "".join(f"{one:7.3f}" for one in relative), flush=True)


if __name__ == "__main__":
    main()
