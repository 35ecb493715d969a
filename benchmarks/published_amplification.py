"""Published bounds on what a shuffler makes of epsilon, from their formulas, for `benchmarks/amplification.py`.

- `clones`: Feldman, McMillan & Talwar, "Hiding among the clones" (FOCS 2021), Theorem 3.2: others are clones of the
  two values with probability e^-eps.
- `closed_form`: the same paper, Theorem 3.1.
- `stronger_clones`: Feldman, McMillan & Talwar, "Stronger privacy amplification by shuffling" (SODA 2023), for any
  mechanism with this epsilon. It is `variation_ratio` with the largest total variation that is possible.
- `variation_ratio`: Wang et al., "Privacy amplification via shuffling: unified, simplified, and tightened" (VLDB 2024),
  Theorem 4.1, with the total variation distance `beta` of the mechanism, for which Table 2 has the formulas.

All but the closed form are numerical: the divergence between two laws of a pair of counts (A, B), each a binomial
number of clones divided at random, to which one person adds one. Binomial tails are SciPy's; totals more than nine
deviations from their mean are left out.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom


def clones(local: float, n: int, delta: float) -> float:
    p = math.exp(local)
    return _smallest(lambda e: _delta(e, n, 1 / p, p / (p + 1), 1 / (p + 1)), local, delta)


def closed_form(local: float, n: int, delta: float) -> float:
    p = math.exp(local)
    if local > math.log(n / (16 * math.log(2 / delta))):
        return local
    return math.log1p((p - 1) / (p + 1) * (8 * math.sqrt(p * math.log(4 / delta) / n) + 8 * p / n))


def stronger_clones(local: float, n: int, delta: float) -> float:
    return variation_ratio(local, math.tanh(local / 2), n, delta)


def variation_ratio(local: float, beta: float, n: int, delta: float) -> float:
    p = math.exp(local)
    alpha = beta / (p - 1)
    return _smallest(lambda e: _delta(e, n, 2 * alpha, alpha * p, alpha), local, delta)


def _delta(e: float, n: int, cloned: float, own: float, other: float) -> float:
    """The divergence at e = e^epsilon, if others are clones with probability `cloned`."""
    spread = 9 * math.sqrt(n * cloned * (1 - cloned)) + 40
    low, high = max(0, int(n * cloned - spread)), min(n, int(n * cloned + spread))
    t = np.arange(low, high + 1)
    neither = 1 - own - other
    # Pr(a, b | x) > e Pr(a, b | x') from this number a of the first kind on, if there are t of both kinds.
    rest = (e - 1) * neither * (n - t) * cloned / 2 / (1 - cloned) if neither > 1e-15 else 0.0 * t
    least = np.ceil((t * (e * own - other) + rest) / ((own - other) * (1 + e)))
    fewer, same = binom.pmf(t - 1, n - 1, cloned), binom.pmf(t, n - 1, cloned)
    first, second = binom.sf(least - 2, t - 1, 0.5), binom.sf(least - 1, t - 1, 0.5)
    both = neither * same * binom.sf(least - 1, t, 0.5) if neither > 1e-15 else 0.0
    here = fewer * (own * first + other * second) + both
    there = fewer * (other * first + own * second) + both
    return float(np.nansum(np.maximum(here - e * there, 0.0)))


def _smallest(delta_at, local: float, delta: float) -> float:
    low, high = 0.0, local
    while high - low > 1e-5 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if delta_at(math.exp(middle)) > delta else (low, middle)
    return high
