"""NPMLE: the distribution of the frequencies that makes the estimates most likely, whatever its shape.

    maximize   sum_i log sum_j w_j p_s(fhat_i - k_j)     over the atoms k_j and their masses w_j

The solution has few atoms (J. Kiefer and J. Wolfowitz, 1956). It excels where frequencies have a few levels and is too
coarse for heavy tails. Candidates for atoms lie a fifth of a deviation apart, and closer near zero; in the far tail
every estimate is an atom of its own.
"""

from __future__ import annotations

import numpy as np

from localdp.priors.base import AtomicPrior, Prior, frozen_parameters
from localdp.priors.fitting.mixtures import mixing_weights
from localdp.priors.fitting.observations import Observations
from localdp.types import Vector


class NPMLE(Prior):
    """Nonparametric maximum likelihood: any distribution, fitted as a few atoms.

    >>> NPMLE().methods
    ('mle',)
    """

    name = "npmle"
    methods = ("mle",)

    def fit_observations(self, observations: Observations, method: str) -> AtomicPrior:
        values, masses = np.unique(observations.tail.round(), return_counts=True)
        shares = masses / observations.d
        points, counts = observations.binned
        if points.size:
            candidates = candidate_frequencies(observations)
            weights = mixing_weights(observations.likelihood(candidates)[0], counts)
            kept = weights > 0
            values = np.concatenate([candidates[kept], values])
            shares = np.concatenate([weights[kept] * counts.sum() / observations.d, shares])
        values, place = np.unique(values, return_inverse=True)
        log_masses = np.log(np.bincount(place, shares / shares.sum()))
        parameters = frozen_parameters(atoms=values.size)
        step = candidate_step(observations)
        return AtomicPrior(self.name, observations.n, parameters, method, (), values, log_masses, step)


def candidate_frequencies(observations: Observations) -> Vector:
    """Where an atom may be: 0, a few small frequencies, then every `candidate_step` up to the largest estimate."""
    deviation = min(observations.noise.deviation, float(observations.n))
    points = observations.binned[0]
    top = max(1.0, min(float(observations.n), points.max() + deviation))
    step = candidate_step(observations)
    small = np.exp(np.linspace(0.0, np.log(max(2.0, step)), 24)).round()
    even = np.arange(step, top + step, step).round()
    return np.unique(np.minimum(np.concatenate([[0.0], small, even]), np.floor(top)))


def candidate_step(observations: Observations) -> float:
    """The distance between candidates: a fifth of a deviation, at least 1."""
    return max(min(observations.noise.deviation, float(observations.n)) / 5, 1.0)
