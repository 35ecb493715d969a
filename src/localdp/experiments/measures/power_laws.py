"""Do true frequencies follow a power law k^-alpha on 1..n? A test without simulations, for any number of items.

The distance of Kolmogorov and Smirnov is taken to the *nearest* power law, the one whose alpha makes it smallest. If
the d frequencies are drawn from some power law, the nearest one is at most as far away as that one, and the inequality
of Dvoretzky, Kiefer and Wolfowitz (with the constant of P. Massart, Annals of Probability 1990) holds for every
distribution, also for one with steps:

    Pr(distance to the nearest >= x)  <=  Pr(distance to the true one >= x)  <=  2 exp(-2 d x^2)

So the p-value is an upper bound: a power law that this test rejects is really rejected.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

ALPHAS = (1.01, 6.0)
"""Between which values alpha is searched: the frequencies of real data have 1.5 to 3."""
UNLIKELY = 1e-12
"""Smaller p-values are shown as smaller than this."""


def power_law_test(frequencies: ArrayLike) -> tuple[float, float]:
    """The distance to the nearest power law, and the bound on its p-value. Items that nobody holds are left out.

    >>> drawn = np.minimum(np.random.default_rng(1).zipf(2.0, size=2_000), 1_000_000)
    >>> power_law_test(drawn)[1] > 0.5, power_law_test(drawn + 5)[1] < 1e-12
    (True, True)
    """
    positive = np.asarray(frequencies, np.int64)
    values, counts = np.unique(positive[positive > 0], return_counts=True)
    items = int(counts.sum())
    seen = np.cumsum(counts) / items
    before = np.concatenate([[0.0], seen[:-1]])
    n, largest = int(positive.sum()), int(values[-1])
    support = np.arange(1, largest + 1, dtype=np.float64)

    def distance(alpha: float) -> float:
        cumulative = np.cumsum(support**-alpha)
        beyond = ((largest + 0.5) ** (1 - alpha) - (n + 0.5) ** (1 - alpha)) / (
            alpha - 1
        )  # larger ones, as an integral
        cumulative /= cumulative[-1] + beyond
        # Between two values that occur, the law grows and the data do not: both ends of each step are looked at.
        at, left = cumulative[values - 1], np.concatenate([[0.0], cumulative])[values - 1]
        return float(max(np.abs(at - seen).max(), np.abs(left - before).max()))

    # Every share falls or rises with alpha, so the largest difference has a single valley.
    nearest = float(minimize_scalar(distance, bounds=ALPHAS, method="bounded", options={"xatol": 1e-9}).fun)
    return nearest, min(1.0, 2 * math.exp(-2 * items * nearest**2))
