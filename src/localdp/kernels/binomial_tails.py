"""Exact tails of binomial distributions, for many counts at once."""

from __future__ import annotations

import math

import numpy as np

from localdp.types import Counts, Vector

_WIDE = 1 << 20  # counts between the smallest and the largest, above which each is computed by itself


def binomial_at_least(counts: Counts, trials: int, chance: float) -> Vector:
    """Pr[Binomial(trials, chance) >= count] for each count.

    Incomplete beta functions give the two ends of the range of counts, and what lies between is divided up by the
    ratios of neighbouring probabilities, Pr(k + 1) / Pr(k) = (trials - k) / (k + 1) * chance / (1 - chance).
    """
    from scipy.special import betainc

    low, high = max(1, int(counts.min())), min(trials, int(counts.max()))
    tails = np.where(counts <= 0, 1.0, 0.0)
    if low > high:
        return tails
    if high - low > _WIDE:  # a forged report of a large domain must not cost its length in memory
        inside = (counts >= low) & (counts <= high)
        tails[inside] = betainc(counts[inside].astype(np.float64), trials - counts[inside] + 1.0, chance)
        return tails
    first, beyond = (
        float(betainc(float(end), trials - end + 1.0, chance)) if end <= trials else 0.0 for end in (low, high + 1)
    )
    k = np.arange(low, high, dtype=np.float64)
    logs = np.concatenate([[0.0], np.cumsum(np.log((trials - k) / (k + 1)) + math.log(chance / (1 - chance)))])
    ratios = np.exp(logs - logs.max())
    masses = (first - beyond) * (ratios / ratios.sum())
    inside = (counts >= low) & (counts <= high)
    tails[inside] = np.minimum(beyond + np.cumsum(masses[::-1])[::-1], 1.0)[counts[inside] - low]
    return tails


def binomial_at_most(counts: Counts, trials: int, chance: float) -> Vector:
    """Pr[Binomial(trials, chance) <= count] for each count."""
    return binomial_at_least(trials - counts, trials, 1 - chance)
