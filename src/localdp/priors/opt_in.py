"""Opt-in: the prior learnt from users who share their true item (the paper's hybrid setting, after Blender).

    c_i ~ Poisson(f_i m/n),     c_i: how many of the m users who opted in hold item i

because these m are a sample of the n users. The prior has the shape of `smooth` and is fitted in the same way, with
this likelihood in place of that of the noise. The users who opt in have no privacy: they give their item away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from localdp.errors import FrequencyError, InvalidInputError
from localdp.kernels.quadrature import logarithmic
from localdp.priors.base import FittedPrior, Prior
from localdp.priors.fitting.log_linear import LikelihoodTerms
from localdp.priors.fitting.observations import Observations
from localdp.priors.fitting.parametric import ParametricFamily
from localdp.priors.fitting.shared_counts import EXACT_FROM, SharedCounts
from localdp.priors.gaussian import Gaussian
from localdp.priors.laplace import Laplace
from localdp.priors.poisson import Poisson
from localdp.priors.power_law import PowerLaw
from localdp.priors.ranking import Rank, core_log_likelihood
from localdp.priors.smooth import Basis, Smooth, fit_smooth
from localdp.types import Vector
from localdp.validation import checked_users


class OptIn(Prior):
    """A prior learnt from users who opt in to share their item: for each item, how many of them hold it.

    >>> OptIn([3, 0, 1, 0])
    OptIn(4 users)
    """

    name = "opt-in"
    methods = ("marginal-likelihood",)

    def __init__(self, counts: ArrayLike) -> None:
        self.counts = checked_shared_counts(counts)

    def fit_observations(self, observations: Observations, method: str) -> FittedPrior:
        if self.counts.size != observations.d or self.counts.sum() > observations.n:
            raise FrequencyError(
                f"{self.counts.sum():.0f} opted-in users over {self.counts.size} items were given, but there are "
                f"estimates of {observations.n} users and {observations.d} items"
            )
        share = self.counts.sum() / observations.n
        few = self.counts[self.counts < EXACT_FROM]
        points, counts = np.unique(few, return_counts=True)
        exact = np.minimum(self.counts[self.counts >= EXACT_FROM] / share, observations.n)
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

    def rank(self, n: int, families: Sequence[Prior] | None = None) -> list[Rank]:
        """The paper's families and `smooth`, from the one that explains the counts best to the one that does worst.

        `n` is the number of all users, of whom those who opted in are a random sample. Every family is fitted to the
        counts by maximum likelihood. The score is the log-likelihood less half of log d for each parameter, as in
        `Estimate.rank_priors`. The fitted priors can be given to `Estimate.calibrate`. `families` are others to choose
        from: families that are fitted by maximum likelihood, and `Smooth()`.

        >>> counts = np.random.default_rng(0).poisson(20, 300)
        >>> OptIn(counts).rank(n=100_000)[0].name
        'poisson'
        """
        users = checked_users(n)
        if self.counts.sum() > users:
            raise FrequencyError(f"{self.counts.sum():.0f} users opted in, but there are only {users} in all")
        shared = SharedCounts.of(self.counts, users)
        ranks = []
        for family in families or (PowerLaw(), Gaussian(), Laplace(), Poisson(), Smooth()):
            if isinstance(family, ParametricFamily):
                fitted, freedom = family.fit(shared, "mle"), family.parameter_count
            elif isinstance(family, Smooth):
                fitted, freedom = replace(self.fit(shared), name=family.name), 1
            else:
                raise InvalidInputError(
                    f"counts of opted-in users rank the paper's families and smooth, not {family!r}"
                )
            found = core_log_likelihood(fitted, shared) + float(fitted.log_mass(shared.tail).sum())
            ranks.append(Rank(fitted, found, found - 0.5 * freedom * float(np.log(self.counts.size))))
        return sorted(ranks, key=lambda entry: -entry.score)

    def __repr__(self) -> str:
        return f"OptIn({self.counts.sum():.0f} users)"


def checked_shared_counts(counts: ArrayLike, size: int | None = None) -> Vector:
    """For each item, how many of the users who opted in hold it; `size` is the number of items, if it is known."""
    try:
        given = np.asarray(counts)
    except ValueError:
        given = np.zeros(0)
    if given.ndim != 1 or given.dtype.kind not in "iu" or (given < 0).any() or not given.any():
        raise FrequencyError(
            "give one count of opted-in users for each item: whole numbers, none negative, not all of them 0"
        )
    if size is not None and given.size != size:
        raise FrequencyError(
            f"{given.size} counts of opted-in users were given for {size} items: give one for each item"
        )
    return given.astype(np.float64)
