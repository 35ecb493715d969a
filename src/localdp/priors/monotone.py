"""Monotone: any distribution in which a larger frequency is never more probable than a smaller one.

    p_f(k) = sum_j w_j / (theta_j + 1) for k <= theta_j

Every such distribution is a mixture of uniform ones on 0..theta_j (U. Grenander, On the Theory of Mortality
Measurement, 1956). The ends theta_j are candidates on a grid, and the weights w_j are fitted by maximum likelihood.
"""

from __future__ import annotations

import numpy as np

from localdp.priors.base import Prior, frozen_parameters
from localdp.priors.fitting.mixtures import mixing_weights
from localdp.priors.fitting.observations import Observations
from localdp.priors.steps import StepPrior
from localdp.types import Vector

_PER_E_FOLD = 24  # number of candidate ends between a frequency k and e*k


class Monotone(Prior):
    """A smaller frequency never has less mass than a larger one.

    >>> Monotone().name
    'monotone'
    """

    name = "monotone"
    methods = ("mle",)

    @property
    def uses_total(self) -> bool:
        return False

    def fit_observations(self, observations: Observations, method: str) -> StepPrior:
        ends = self._ends(observations)
        quadrature = observations.quadrature(0, ends + 0.5)
        points, counts = observations.binned
        likelihood, _ = observations.likelihood(quadrature.nodes)
        up_to = np.searchsorted(quadrature.nodes, ends + 0.5)
        summed = np.cumsum(likelihood * quadrature.weights, axis=1)
        summed = np.concatenate([np.zeros((points.size, 1)), summed], axis=1)
        core = summed[:, up_to] / (ends + 1)  # the likelihood of each point under each uniform distribution
        exact = (observations.tail[:, None] <= ends) / (ends + 1)
        rows = np.vstack([core, exact])
        rows /= rows.max(axis=1, keepdims=True, initial=1e-300)
        weights = mixing_weights(rows, np.concatenate([counts, np.ones(len(exact))]))
        ends, weights = ends[weights > 0], weights[weights > 0]
        heights = np.cumsum((weights / (ends + 1))[::-1])[::-1]
        parameters = frozen_parameters(steps=ends.size)
        return StepPrior(self.name, observations.n, parameters, method, (), ends, np.log(heights))

    def _ends(self, observations: Observations) -> Vector:
        """Candidates for theta: 0, then even in log k from a fiftieth of a deviation to beyond the largest estimate."""
        deviation = min(observations.noise.deviation, float(observations.n))
        top = min(float(observations.n), max(float(observations.estimates.max()) + 3 * deviation, 2.0))
        low = max(1.0, min(deviation / 50, top / 2))
        even = np.exp(np.linspace(np.log(low), np.log(top), 2 + int(_PER_E_FOLD * np.log(top / low)))).round()
        return np.unique(np.concatenate([[0.0], even]))
