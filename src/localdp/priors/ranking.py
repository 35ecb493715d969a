"""Rank families of priors by how well they fit the estimates.

    score = sum_i log p_fhat(fhat_i) - 1/2 parameters log d

The first term is the likelihood of the estimates under the prior and the noise (Eq. 21), each family being fitted by
maximum likelihood if it can be. The second term is a penalty for what extra parameters gain by chance (the Bayesian
information criterion). Each level of `npmle` and each step of `monotone` counts as a parameter, and these families
count as at least five. `smooth` counts as one parameter, as the power law does: its curvature already pays a penalty.
A family of your own counts its `parameter_count`, or one if it has none, and a prior that is fitted already counts no
parameter. The sum leaves out the far tail, where the noise hardly matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localdp.priors.base import FittedPrior, Prior
from localdp.priors.cells import CellPrior
from localdp.priors.fitting.observations import Observations
from localdp.priors.fitting.parametric import ParametricPrior, mass_quadrature
from localdp.priors.fitting.predictive import Predictive
from localdp.priors.gaussian import Gaussian
from localdp.priors.laplace import Laplace
from localdp.priors.monotone import Monotone
from localdp.priors.npmle import NPMLE
from localdp.priors.poisson import Poisson
from localdp.priors.power_law import PowerLaw
from localdp.priors.smooth import Smooth

LEAST_FREEDOM_OF_LEVELS = 5.0
"""Levels count as at least this many parameters: even two of them were chosen among hundreds of places."""


@dataclass(frozen=True, eq=False)
class Rank:
    """A fitted family, the log-likelihood of the estimates, and the score: log-likelihood minus penalty."""

    prior: FittedPrior
    log_likelihood: float
    score: float

    @property
    def name(self) -> str:
        """The name of the family."""
        return self.prior.name

    def __repr__(self) -> str:
        return f"<{self.name}: score {self.score:.2f}, log-likelihood {self.log_likelihood:.2f}>"


def rank(observations: Observations, families: Sequence[Prior | FittedPrior] | None = None) -> list[Rank]:
    """The families from the best score to the worst."""
    several = families or (Smooth(), NPMLE(), Monotone(), PowerLaw(), Gaussian(), Laplace(), Poisson())
    ranks = []
    for family in several:
        if isinstance(family, FittedPrior):
            fitted = family
        else:
            fitted = family.fit(observations, "mle" if "mle" in family.methods else None)
        found = core_log_likelihood(fitted, observations)
        ranks.append(Rank(fitted, found, found - 0.5 * freedom(family, fitted) * np.log(observations.d)))
    return sorted(ranks, key=lambda entry: -entry.score)


def core_log_likelihood(prior: FittedPrior, observations: Observations) -> float:
    """The sum of log p_fhat over the estimates of the core, without the far tail."""
    if prior.atoms is not None:
        k, log_mass = prior.atoms
    elif isinstance(prior, CellPrior):
        k, log_mass = prior.cells.middles, prior.log_masses
    elif prior.feature is not None and not isinstance(prior, ParametricPrior):
        cells = Predictive.of(prior, observations.noise)
        k, log_mass = (cells.first + cells.last) / 2, np.log(cells.mass + 1e-300)
    else:
        quadrature = observations.quadrature(prior.first, prior.edges)
        if isinstance(prior, ParametricPrior) and prior.feature is not None:
            quadrature = mass_quadrature(prior.family, prior.theta, observations.n, observations.panel_scales)
        k, log_mass = quadrature.nodes, prior.log_mass(quadrature.nodes) + np.log(quadrature.weights)
        if prior.first > 0:
            k, log_mass = np.append(0.0, k), np.append(prior.zero, log_mass)
    likelihood, row_logs = observations.likelihood(k)
    density = likelihood @ np.exp(log_mass) + 1e-300
    return float(observations.binned[1] @ (np.log(density) + row_logs))


def freedom(family: Prior | FittedPrior, fitted: FittedPrior) -> float:
    """The number of parameters that the score charges for."""
    if isinstance(family, FittedPrior):
        return 0.0
    stated = getattr(family, "parameter_count", None)
    if stated is not None:
        return float(stated)
    parts = fitted.parameters.get("levels", fitted.parameters.get("steps"))
    return max(LEAST_FREEDOM_OF_LEVELS, float(parts)) if isinstance(parts, int) else 1.0
