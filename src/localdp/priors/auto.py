"""The prior `auto`: the average of `smooth`, `bulk` and `npmle`, weighted by how well each explains the estimates.

A prior that is learnt is not known. Where two kinds of priors explain the estimates about equally well, averaging them
has a smaller error than choosing one, and the intervals include the doubt between them.

`smooth` and `bulk` have a marginal likelihood each, the probability of the estimates and of the known total with all
parameters averaged out, and their weights are proportional to it. The levels of `npmle` are chosen by maximum
likelihood, so its likelihood is reduced by a price for each level before it is compared with theirs. A curve needs
items to be learnt from: among fewer than 32 items, `divisions` is used alone, or `bulk` if the total is not known.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import logsumexp

from localdp.priors.base import FittedPrior, Prior, frozen_parameters
from localdp.priors.bulk import FEW, Bulk, log_scatter
from localdp.priors.cells import CellPrior
from localdp.priors.divisions import Divisions
from localdp.priors.explained import Explained
from localdp.priors.fitting.observations import Observations
from localdp.priors.npmle import NPMLE
from localdp.priors.ranking import core_log_likelihood
from localdp.priors.smooth import Smooth

PRICE_OF_A_LEVEL, PRICE_OF_FEW_ITEMS, LEAST_LEVELS = 1.2, 200.0, 5
"""What `npmle` must gain in log-likelihood for each of its levels: 1.2, about what a level gains by chance, and more
where few items determine it (200 over the number of items to a level). There are at least 5 levels to pay for."""

CLEAR, MOST_OF_DOUBTFUL_LEVELS = 12.0, 0.4
"""Unless `npmle` is ahead by this much in log-likelihood, it has at most this weight: its levels are too sharp for
honest intervals if the frequencies have none."""

MOST_LEVELS, MOST_OF_MANY_LEVELS = 8, 0.2
"""More levels than this are a curve with a sharp end rather than levels, and have at most this weight."""

FARTHEST_SUM = 2.5
"""Levels are fitted to the estimates and not to the total. If the total is more deviations than this away from the sum
that the levels expect, their log-odds are reduced by half of the square of what is beyond."""

VISIBLE, NONE_VISIBLE = 5.0, 0.1
"""Items with an estimate of more than five deviations stand out of the noise. A curve is learnt from them, so the odds
of `smooth` against `bulk` beforehand are the square of a tenth more than their number."""

_AVERAGED = "auto averaged priors by how well they explain the estimates: "
_SHOWN = 0.005  # priors with less weight than this are not mentioned


class Auto(Prior):
    """The average of `smooth`, `bulk` and `npmle`, weighted by how well each explains the estimates.

    >>> Auto().name
    'auto'
    """

    name = "auto"
    methods = ("marginal-likelihood",)

    def fit_observations(self, observations: Observations, method: str) -> FittedPrior:
        if observations.d < FEW and observations.known_total is not None:
            few = Divisions().fit_observations(observations, Divisions.methods[0])
            if few.kinds:
                alone = frozen_parameters(**{few.name: 1.0})
                return replace(few, parameters=alone, notes=(f"{_AVERAGED}{few.name} 100%",))
        bulk = Bulk().fit_observations(observations, Bulk.methods[0])
        cells = bulk.cells
        masses, log_weights = {bulk.name: np.exp(bulk.log_masses)}, {bulk.name: bulk.log_evidence}
        if observations.d >= FEW:
            smooth = Smooth().fit_observations(observations, Smooth.methods[0])
            masses[smooth.name] = cells.masses(smooth)
            visible = observations.count_above(VISIBLE)
            log_weights[smooth.name] = smooth.log_evidence + 2 * np.log(visible + NONE_VISIBLE)
            log_weights[smooth.name] += float(log_scatter(observations, cells, masses[smooth.name]))
            without = _average(masses, log_weights)
            reference = CellPrior("average", observations.n, cells=cells, log_masses=without)
            others, core = float(logsumexp(list(log_weights.values()))), core_log_likelihood(reference, observations)
            npmle = NPMLE().fit(observations)
            masses[npmle.name] = cells.masses(npmle)
            gain = core_log_likelihood(npmle, observations) - core
            away = float(abs(Explained.by(observations, cells, masses[npmle.name][None]).score[0]))
            gain -= 0.5 * max(away - FARTHEST_SUM, 0.0) ** 2
            levels = float(max(npmle.parameters["levels"], LEAST_LEVELS))  # type: ignore[call-overload]
            log_weights[npmle.name] = others + _log_odds(gain, levels, observations.d)
        log_total = logsumexp(list(log_weights.values()))
        shares = {name: float(np.exp(weight - log_total)) for name, weight in log_weights.items()}
        named = sorted(((share, name) for name, share in shares.items() if share >= _SHOWN), reverse=True)
        shown = ", ".join(f"{name} {share:.0%}" for share, name in named)
        parameters = frozen_parameters(**{name: share for share, name in named})
        average = _average(masses, log_weights)
        return CellPrior("average", observations.n, parameters, method, (f"{_AVERAGED}{shown}",), cells, average)


def _log_odds(gain: float, levels: float, items: int) -> float:
    """The log-odds of `npmle` against the other priors, if it gains this much in log-likelihood with so many levels."""
    ahead = gain - levels * (PRICE_OF_A_LEVEL + PRICE_OF_FEW_ITEMS * levels / items)
    if levels > MOST_LEVELS:
        return min(ahead, _logit(MOST_OF_MANY_LEVELS))
    return ahead if ahead >= CLEAR else min(ahead, _logit(MOST_OF_DOUBTFUL_LEVELS))


def _logit(share: float) -> float:
    return float(np.log(share / (1 - share)))


def _average(masses: dict[str, np.ndarray], log_weights: dict[str, float]) -> np.ndarray:
    """The logarithm of the weighted average of cell masses."""
    weights = np.array([log_weights[name] for name in masses])
    weights = np.exp(weights - logsumexp(weights))
    mixed = np.array(list(masses.values())).T @ weights
    return np.asarray(np.log(np.maximum(mixed / mixed.sum(), 1e-300)))
