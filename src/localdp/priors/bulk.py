r"""Bulk: most items are held about equally often, some stand apart, and nobody knows how widely either scatters.

    p_f  =  (1 - h) Bulk(level, spread)  +  h Others

The bulk is a Poisson distribution, since users come to an item by chance, with a mean that itself scatters from item
to item. That mean has a gamma distribution: its own mean is the level, and the spread is its deviation over its mean.
So the bulk is negative binomial, with the parameters 1/spread^2 and 1/(1 + level spread^2).

The share h of the items stands apart. There are four cases; before anything is seen, the last has a tenth of the
weight, and the second half of it (less among very few items, and among many):

- there are no others, and the level is the known mean frequency;
- the others are rare: a second bulk at a fraction of the level, with the spread 1;
- the others may be far more frequent: a Lomax distribution, with a density proportional to (1 + k/level)^-exponent,
  which is flat below the level and a power law above it;
- all items but those are empty: the bulk is at 0.

Few items, or much noise, cannot determine these numbers. So they are not fitted: the prior is the average over a grid
of them, each weighted by how likely it makes the estimates and the known total,

    p(estimates | total, member of the grid)  =  prod_i p(fhat_i)  *  N(total; M, V) / p(total | member),

where M and V are the mean and the variance of the sum of all frequencies, given the estimates. The last factor is fair
to members that say little about the total beforehand, such as that a few items hold nearly everybody: a sum that
scatters by S has a density of about 1/S there, and no sum of n users scatters by more than n. (Without it, the first
of 900 items would need five deviations of the noise instead of four to be believed.) Small spreads are given little
weight beforehand (like the square of the spread). Items that many people choose from are hardly ever held equally
often, and intervals that take them to be so are too short.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import betainc, logsumexp

from localdp.priors.base import Prior, frozen_parameters
from localdp.priors.cells import CellPrior, Cells
from localdp.priors.explained import Explained
from localdp.priors.fitting.observations import Observations
from localdp.types import Vector

SPREADS = np.geomspace(0.02, 1.5, 12)
"""The deviation of the bulk over its mean, if all items belong to it."""

SPREADS_BESIDE_OTHERS = (0.1, 0.3, 0.7, 1.5)
"""The same if some items stand apart."""

RARE, RARE_LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9), (0.03, 0.15)
"""The share of items that are rare, and their level as a share of that of the others."""

LEVELS = np.concatenate([np.geomspace(1e-3, 0.5, 12), [0.7, 0.85, 1.0]])
"""The level of the bulk as a multiple of the mean frequency, if some items are far more frequent."""

FREQUENT = (0.01, 0.03, 0.1, 0.3, 0.6)
"""The share of items that may be far more frequent."""

EXPONENTS = (1.0, 1.5, 2.0, 3.0)
"""The exponents of their distribution."""

HELD, HELD_WEIGHT = (1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3), 0.1
"""The share of the items that anybody holds, if all others are empty, and the weight of this case beforehand."""

SEVERAL = 5
"""Among fewer items than this, less weight is given beforehand to items that stand apart: of two items, none does."""

USUAL_SPREAD = 0.7
"""The spread of all frequencies with which the evidence of a member is comparable with that of other priors."""

FEW = 32
"""Among fewer items than this, no curve is learnt."""

_LEAST_WEIGHT = 1e-3  # distributions with less than this share of the largest weight are left out of the average


@dataclass(frozen=True, eq=False)
class _Grid:
    """Every distribution of the grid and the logarithm of its weight.

    `parameters` has a row for each: the level, the spread, the share of items that stand apart, and the exponent of
    their distribution; if they are rare, minus their level as a share of that of the bulk.
    """

    parameters: Vector
    log_weights: Vector


@lru_cache(maxsize=16)
def _grid(items: int) -> _Grid:
    """The grid for this many items, at most `FEW`."""
    together = [(1.0, spread, 0.0, 1.0) for spread in SPREADS]
    # The level that gives all items together the known mean.
    rare = [
        (1 / (1 - h * (1 - low)), spread, h, -low)
        for h in RARE
        for spread in SPREADS_BESIDE_OTHERS
        for low in RARE_LEVELS
    ]
    frequent = [(a, b, h, e) for a in LEVELS for b in SPREADS_BESIDE_OTHERS[1:] for h in FREQUENT for e in EXPONENTS]
    log_weights = []
    apart = 0.75 * min(1.0, (items - 1) / (SEVERAL - 1))
    rarely = 2 / 3 if items < FEW else 1 / 3
    empty = [(1.0, 0.0, h, e) for h in HELD for e in EXPONENTS[:3:2]]
    apart *= 1 - HELD_WEIGHT
    for group, share, power in (
        (together, 1 - apart - HELD_WEIGHT, 2),
        (rare, apart * rarely, 0),
        (frequent, apart * (1 - rarely), 2),
    ):
        spreads = np.array([row[1] for row in group])
        steps = np.log(spreads**power / (1 + spreads**2) ** (power / 2 + 1))  # of the logarithm of the spread
        log_weights.append(steps - logsumexp(steps) + np.log(max(share, 1e-300)))
    log_weights.append(np.full(len(empty), np.log(HELD_WEIGHT / len(empty))))
    return _Grid(np.array(together + rare + frequent + empty), np.concatenate(log_weights))


class Bulk(Prior):
    """For few items, and for much noise: an average over all plausible spreads, levels and tails.

    >>> Bulk().name
    'bulk'
    """

    name = "bulk"
    methods = ("marginal-likelihood",)

    def fit_observations(self, observations: Observations, method: str) -> BulkPrior:
        cells = Cells.of(observations)
        grid = _grid(min(observations.d, FEW))
        masses = _masses(grid, cells, observations.mean)
        log_weights = grid.log_weights + _log_evidence(observations, cells, masses)
        log_evidence = float(logsumexp(log_weights))
        weights = np.exp(log_weights - log_evidence)
        kept = weights > _LEAST_WEIGHT * weights.max()
        weights = weights[kept] / weights[kept].sum()
        shown = grid.parameters[kept]
        parameters = frozen_parameters(
            level=float(np.exp(weights @ np.log(shown[:, 0])) * observations.mean),
            spread=float(np.exp(weights @ np.log(np.maximum(shown[:, 1], SPREADS[0])))),
            apart=float(weights @ shown[:, 2]),
        )
        average = np.log(weights @ masses[kept] + 1e-300)
        return BulkPrior(self.name, observations.n, parameters, method, (), cells, average, log_evidence)


@dataclass(frozen=True, eq=False, repr=False)
class BulkPrior(CellPrior):
    """The average over the grid."""

    log_evidence: float = 0.0
    """The logarithm of the marginal likelihood."""


def _masses(grid: _Grid, cells: Cells, mean: float) -> Vector:
    """The mass of each cell under each distribution of the grid."""
    parameters = grid.parameters
    tops = cells.ends + 0.5  # the whole number k stands for all numbers that round to it
    bulks: dict[tuple[float, float], Vector] = {}
    others: dict[tuple[float, float], Vector] = {}
    masses = np.empty((len(parameters), tops.size))
    for place, (level, spread, apart, exponent) in enumerate(parameters.tolist()):
        if (level, spread) not in bulks:
            bulks[level, spread] = _normalized(
                _negative_binomial(cells.ends, level * mean, spread) if spread else np.ones(tops.size)
            )
        masses[place] = bulks[level, spread]
        if apart:
            if (level, exponent) not in others:
                others[level, exponent] = _normalized(
                    _negative_binomial(cells.ends, -exponent * level * mean, 1.0)
                    if exponent < 0
                    else _lomax(tops / (level * mean), exponent)
                )
            masses[place] *= 1 - apart
            masses[place] += apart * others[level, exponent]
    return masses


def _negative_binomial(k: Vector, mean: float, spread: float) -> Vector:
    """The probability of k or less."""
    return np.asarray(betainc(spread**-2, k + 1, 1 / (1 + mean * spread**2)))


def _lomax(x: Vector, exponent: float) -> Vector:
    """The integral of (1 + t)^-exponent from 0 to x."""
    return np.log1p(x) if exponent == 1 else np.expm1((1 - exponent) * np.log1p(x)) / (1 - exponent)


def _normalized(cumulative: Vector) -> Vector:
    """The mass of each cell, from the masses up to the end of each."""
    masses = np.maximum(
        np.diff(cumulative, prepend=0.0), 0.0
    )  # rounding may make a difference of equal numbers negative
    return np.asarray(masses / max(cumulative[-1], 1e-300))


def _log_evidence(observations: Observations, cells: Cells, masses: Vector) -> Vector:
    """log p(estimates | total) under each distribution of the grid, up to a constant."""
    found = Explained.by(observations, cells, masses)
    logs = found.log_likelihood - 0.5 * found.score**2 - 0.5 * np.log(found.sum_variance)
    return np.asarray(logs + log_scatter(observations, cells, masses))


def log_scatter(observations: Observations, cells: Cells, masses: Vector) -> Vector:
    """The log-deviation of the sum of all frequencies beforehand, over that of frequencies with the usual spread."""
    k, d, n = cells.middles, observations.d, float(observations.n)
    variance = np.minimum(d * (masses @ k**2 - (masses @ k) ** 2), n**2) + observations.total_variance
    usual = (USUAL_SPREAD * n) ** 2 / d + observations.total_variance
    return np.asarray(0.5 * np.log(np.maximum(variance, 1.0) / usual))
