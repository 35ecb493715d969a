"""How well distributions of the frequencies explain the estimates and the known total.

A distribution makes the estimates likely or unlikely. Given the estimates, it also says what the sum of all frequencies
should be: the sum of the posterior means, with the sum of the posterior variances as its variance. The known total may
be near that or far away.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localdp.priors.cells import Cells
from localdp.priors.fitting.observations import Observations
from localdp.types import Vector

_NOTHING = 1e-100  # the product of two such numbers is still a normal one: processors are slow on smaller ones


@dataclass(frozen=True, eq=False)
class Explained:
    """For each of several distributions: the log-likelihood of the estimates, and the score of the known total.

    The score is how many deviations the total is away from the sum that the distribution and the estimates expect;
    `sum_variance` is the square of such a deviation.
    """

    log_likelihood: Vector
    score: Vector
    sum_variance: Vector

    @classmethod
    def by(cls, observations: Observations, cells: Cells, masses: Vector) -> Explained:
        """Under the distributions in the rows of `masses`, which have the mass of each cell."""
        near = cells.within_reach(observations)
        k = cells.middles[near]
        likelihood, row_logs = observations.likelihood(k)
        likelihood = np.where(likelihood < _NOTHING, 0.0, likelihood)
        counts = observations.binned[1]
        weights = masses[:, near].T + _NOTHING
        density = likelihood @ weights
        means = (likelihood * k) @ weights / density
        variances = np.maximum((likelihood * k**2) @ weights / density - means**2, 0.0)
        logs = counts @ (np.log(density) + row_logs[:, None])
        if observations.tail.size:
            place = np.searchsorted(cells.ends, np.floor(observations.tail))
            logs = logs + np.log(masses[:, place] / cells.widths[place] + 1e-300).sum(axis=1)
        total = counts @ means + observations.tail.sum()
        variance = counts @ variances + observations.tail_variance
        variance = np.maximum(variance + observations.total_variance, 1e-6)
        return cls(logs, (observations.total - total) / np.sqrt(variance), variance)
