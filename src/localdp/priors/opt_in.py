"""Opt-in: the prior learnt from users who share their true item (the paper's hybrid setting, after Blender).

    c_i ~ Poisson(f_i m/n),     c_i: how many of the m users who opted in hold item i

because these m are a sample of the n users. The prior has the shape of `smooth` and is fitted in the same way, with
this likelihood in place of that of the noise. The users who opt in have no privacy: they give their item away.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from localdp.errors import FrequencyError
from localdp.kernels.quadrature import logarithmic
from localdp.priors.base import FittedPrior, Prior
from localdp.priors.fitting.log_linear import LikelihoodTerms
from localdp.priors.fitting.observations import Observations
from localdp.priors.smooth import Basis, fit_smooth

# From this count on, the standard deviation is at most 5% of the mean, so count/share is taken as the exact frequency.
_EXACT_FROM = 400


class OptIn(Prior):
    """A prior learnt from users who opt in to share their item: for each item, how many of them hold it.

    >>> OptIn([3, 0, 1, 0])
    OptIn(4 users)
    """

    name = "opt-in"
    methods = ("marginal-likelihood",)

    def __init__(self, counts: ArrayLike) -> None:
        try:
            given = np.asarray(counts)
        except ValueError:
            given = np.zeros(0)
        if given.ndim != 1 or given.dtype.kind not in "iu" or (given < 0).any() or not given.any():
            raise FrequencyError(
                "give one count of opted-in users for each item: whole numbers, none negative, not all of them 0"
            )
        self.counts = given.astype(np.float64)

    def fit_observations(self, observations: Observations, method: str) -> FittedPrior:
        if self.counts.size != observations.d or self.counts.sum() > observations.n:
            raise FrequencyError(
                f"{self.counts.sum():.0f} opted-in users over {self.counts.size} items were given, but there are "
                f"estimates of {observations.n} users and {observations.d} items"
            )
        share = self.counts.sum() / observations.n
        few = self.counts[self.counts < _EXACT_FROM]
        points, counts = np.unique(few, return_counts=True)
        exact = np.minimum(self.counts[self.counts >= _EXACT_FROM] / share, observations.n)
        basis = Basis.spanning(1 / share, float(np.clip(self.counts.max() / share, 2, observations.n)))
        data_nodes = basis.nodes(logarithmic(1, observations.n))
        mean = np.maximum(data_nodes.k * share, 1e-12)
        logs = points[:, None] * np.log(mean) - mean - gammaln(points + 1)[:, None]
        largest = logs.max(axis=1)
        data = LikelihoodTerms(
            np.exp(logs - largest[:, None]),
            largest,
            counts.astype(np.float64),
            basis.at(exact),
            self.counts.size,
            float(exact.sum()),
            float(exact.sum()) / share,
            observations.total,
            observations.total_variance,
        )
        return fit_smooth(self.name, observations.n, method, basis, data_nodes, data_nodes, data)

    def __repr__(self) -> str:
        return f"OptIn({self.counts.sum():.0f} users)"
