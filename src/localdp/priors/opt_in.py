"""Opt-in: the prior learnt from users who share their true item (the paper's hybrid setting, after Blender).

Of n users, m opted in; c_i of them hold item i. As the m are a sample, c_i is Poisson with mean f_i m/n, and the
frequencies' distribution is fitted to the c_i by the same smooth family and the same evidence as `smooth`, only
with that likelihood. It is as private as those users allow: they gave their item away.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from localdp.errors import FrequencyError
from localdp.kernels.quadrature import logarithmic
from localdp.priors.base import FittedPrior, Prior
from localdp.priors.fitting.log_linear import Evidence, Nodes
from localdp.priors.fitting.observations import Observations
from localdp.priors.smooth import Basis, fit_smooth

_EXACT_FROM = 400  # a Poisson count from here on is within 5% of its mean: as good as the frequency itself


class OptIn(Prior):
    """A prior from the true counts of opted-in users, one for each item.

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
            raise FrequencyError("opted-in users are counted for each item: whole numbers, not negative, not all zero")
        self.counts = given.astype(np.float64)

    def fit_observations(self, observations: Observations, method: str) -> FittedPrior:
        if self.counts.size != observations.d or self.counts.sum() > observations.n:
            raise FrequencyError(
                f"{self.counts.sum():.0f} opted-in users were counted over {self.counts.size} items, but there are "
                f"{observations.n} users and {observations.d} items"
            )
        share = self.counts.sum() / observations.n
        few = self.counts[self.counts < _EXACT_FROM]
        points, counts = np.unique(few, return_counts=True)
        exact = np.minimum(self.counts[self.counts >= _EXACT_FROM] / share, observations.n)
        basis = Basis.spanning(1 / share, float(np.clip(self.counts.max() / share, 2, observations.n)))
        rule = logarithmic(1, observations.n)
        k = np.concatenate([[0.0], rule.nodes])
        seen = Nodes(k, np.concatenate([[0.0], np.log(rule.weights)]), basis.at(k))
        mean = np.maximum(k * share, 1e-12)
        logs = points[:, None] * np.log(mean) - mean - gammaln(points + 1)[:, None]
        largest = logs.max(axis=1)
        spread = float(np.var(self.counts / share))
        evidence = Evidence(
            np.exp(logs - largest[:, None]),
            largest,
            counts.astype(np.float64),
            basis.at(exact),
            self.counts.size,
            observations.mean,
            max(spread, observations.mean**2) / self.counts.size,
        )
        return fit_smooth(self.name, observations.n, method, basis, seen, evidence)

    def __repr__(self) -> str:
        return f"OptIn({self.counts.sum():.0f} users)"
