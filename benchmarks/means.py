"""The mean of whole numbers from 0 to 100: `Scale` beside 1BitMean and dBitFlip's histogram.

    python benchmarks/means.py --write

Ding, Kulkarni & Yekhanin, "Collecting telemetry data privately", NIPS 2017. 1BitMean sends one bit, 1 with probability
1/(e+1) + (x/100) (e-1)/(e+1) for e = e^epsilon; the mean follows by inverting that. dBitFlip's mean is that of the raw
histogram of `dbit` with 16 answers. All others learn a distribution, not the mean alone.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from literature_page import table, write
from numpy.typing import NDArray

import localdp as ldp

LARGEST, USERS = 100, 20_000
CELLS = np.arange(LARGEST + 1)
SHAPES = {
    "ages": np.exp(-(((CELLS - 38) / 18) ** 2)) * (CELLS >= 15),
    "usage": np.exp(-CELLS / 12),
    "two groups": np.exp(-(((CELLS - 20) / 6) ** 2)) + 0.5 * np.exp(-(((CELLS - 80) / 6) ** 2)),
}


def one_bit(held: NDArray[np.int64], epsilon: float, seed: int) -> float:
    e = math.exp(epsilon)
    chances = 1 / (e + 1) + CELLS / LARGEST * (e - 1) / (e + 1)
    ones = np.random.default_rng(seed).binomial(held, chances).sum()
    return float(LARGEST * (ones * (e + 1) / held.sum() - 1) / (e - 1))


def of_histogram(held: NDArray[np.int64], epsilon: float, seed: int) -> float:
    found = ldp.Plan(held.size, "dbit", epsilon, answers=16).simulate(held, seed=seed).estimate().frequencies
    return float(found @ CELLS / held.sum())


def scale(held: NDArray[np.int64], epsilon: float, seed: int) -> tuple[float, bool]:
    """The mean, and whether its interval holds the truth."""
    plan = ldp.Plan(ldp.Scale(0, LARGEST), epsilon=epsilon)
    found = plan.simulate(held, seed=seed).estimate().calibrate(warn=False).mean(0.9)
    return found.value, found.low <= held @ CELLS / held.sum() <= found.high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--write", action="store_true", help="write the table into docs/results/literature.md")
    given = parser.parse_args()
    rows = []
    for name, shape in SHAPES.items():
        for epsilon in (0.5, 1.0, 2.0):
            errors = []
            for seed in range(given.runs):
                held = np.random.default_rng(seed).multinomial(USERS, shape / shape.sum())
                truth = held @ CELLS / USERS
                ours, holds = scale(held, epsilon, seed)
                others = [method(held, epsilon, seed) - truth for method in (one_bit, of_histogram)]
                errors.append([*others, ours - truth, holds])
            *means, held_share = np.array(errors, np.float64).T
            cells = [f"{np.sqrt(np.mean(mean**2)):.2f}" for mean in means]
            rows.append((name, f"{epsilon:g}", *cells, f"{held_share.mean():.2f}"))
            print(*rows[-1], flush=True)
    if given.write:
        write("means", table(("", "epsilon", "1BitMean", "dBitFlip", "`Scale`", "intervals hold"), rows))


if __name__ == "__main__":
    main()
