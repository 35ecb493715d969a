r"""P-values by simulation: where does a statistic lie among those of surveys in which nothing was to be found?

Surveys are simulated until h of them have a statistic at least as large as the observed one. If that takes l of them,
the p-value is h / l; if it has not happened after B, and k were as large, it is (k + 1) / (B + 1). If the simulation
has the right law, such a p-value is at most u with probability at most u, for every u, h and B (Besag and Clifford,
Sequential Monte Carlo p-values, Biometrika 1991): a large p-value takes a few simulations, and only a small one many.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from localdp.types import Vector

ENOUGH = 50
"""h: statistics as large as the observed one after which no more are simulated. The error of p is 1/7 of it."""

FEWEST, MOST = 999, 19_999
"""B: how many are simulated at most, for large tables and for small ones."""

_WORK = 20_000_000  # numbers drawn in all: large tables get fewer simulations
_FIRST = 200  # simulations at first; then twice as many, and so on
_AT_A_TIME = 2_000_000  # numbers drawn at a time

Draw = Callable[[int, np.random.Generator], Vector]
"""Draws so many values of the statistic, if nothing is to be found."""


def simulated_p_value(observed: float, draw: Draw, *, size: int = 1, seed: int = 0) -> float:
    """The p-value of an observed statistic, of which large values are evidence against the hypothesis.

    `size` is how many numbers one simulated survey draws. The seed is fixed, so that the same data always have the same
    p-value.

    >>> simulated_p_value(5.0, lambda times, rng: rng.standard_normal(times))
    5e-05
    >>> 0.3 < simulated_p_value(0.0, lambda times, rng: rng.standard_normal(times)) < 0.7
    True
    """
    rng = np.random.default_rng(seed)
    most = int(np.clip(_WORK // max(size, 1), FEWEST, MOST))
    larger, count, times = 0, 0, _FIRST
    while count < most:
        found = np.flatnonzero(draw(min(times, most - count), rng) >= observed)
        if larger + found.size >= ENOUGH:
            return ENOUGH / (count + int(found[ENOUGH - larger - 1]) + 1)
        larger, count = larger + found.size, min(count + times, most)
        times = min(2 * times, max(1, _AT_A_TIME // max(size, 1)))
    return (larger + 1) / (most + 1)
