"""Which family fits the estimates, judged under the noise; and `auto`, which acts on it.

A family is fitted by maximum likelihood and scored by the logarithm of p_fhat at the estimates (Eq. 21), less what
its freedom would gain by chance: half of log d for each parameter, where each atom of `npmle` and step of
`monotone` is one, and there are at least five. `smooth` contains the power law and is charged for one parameter:
for its curvature the penalty has already paid. The far tail is left out: there every smooth prior is its own
density and every atom its own estimate, which cannot be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from localdp.priors.base import FittedPrior, Prior
from localdp.priors.fitting.observations import Observations
from localdp.priors.fitting.parametric import ParametricFamily, feature_rule
from localdp.priors.gaussian import Gaussian
from localdp.priors.laplace import Laplace
from localdp.priors.monotone import Monotone
from localdp.priors.npmle import NPMLE
from localdp.priors.poisson import Poisson
from localdp.priors.power_law import PowerLaw
from localdp.priors.smooth import Smooth

LEAST_FREEDOM_OF_ATOMS = 5.0  # in parameters: even two atoms were chosen among hundreds of places


@dataclass(frozen=True, eq=False)
class Rank:
    """How well a family fits: the log-likelihood of the estimates, and that less the price of its parameters."""

    prior: FittedPrior
    log_likelihood: float
    score: float

    @property
    def name(self) -> str:
        """The name of the family."""
        return self.prior.name

    def __repr__(self) -> str:
        return f"<{self.name}: score {self.score:.2f}, log-likelihood {self.log_likelihood:.2f}>"


def rank(observations: Observations, families: Sequence[Prior] | None = None) -> list[Rank]:
    """The families from the best score to the worst."""
    several = families or (Smooth(), NPMLE(), Monotone(), PowerLaw(), Gaussian(), Laplace(), Poisson())
    ranks = []
    for family in several:
        fitted = family.fit(observations, "mle" if "mle" in family.methods else None)
        found = core_log_likelihood(fitted, observations)
        ranks.append(Rank(fitted, found, found - 0.5 * _freedom(family, fitted) * np.log(observations.d)))
    return sorted(ranks, key=lambda entry: -entry.score)


def core_log_likelihood(prior: FittedPrior, observations: Observations) -> float:
    """log p_fhat summed over the estimates that are not in the far tail."""
    if prior.atoms is not None:
        k, log_mass = prior.atoms
    else:
        rule = observations.rule(prior.first, prior.edges)
        if prior.feature is not None:
            rule = feature_rule(prior.family, prior.theta, observations.n, observations.noise.deviation)  # type: ignore[attr-defined]
        k, log_mass = rule.nodes, prior.log_mass(rule.nodes) + np.log(rule.weights)
        if prior.first > 0:
            k, log_mass = np.append(0.0, k), np.append(prior.zero, log_mass)
    likelihood, row_logs = observations.likelihood(k)
    density = likelihood @ np.exp(log_mass) + 1e-300
    return float(observations.binned[1] @ (np.log(density) + row_logs))


def _freedom(family: Prior, fitted: FittedPrior) -> float:
    if isinstance(family, ParametricFamily):
        return float(family.parameter_count)
    parts = fitted.parameters.get("atoms", fitted.parameters.get("steps"))
    return max(LEAST_FREEDOM_OF_ATOMS, float(parts)) if isinstance(parts, int) else 1.0


class Auto(Prior):
    """`smooth`, unless the estimates say that the frequencies have a few levels: then `npmle`.

    >>> Auto().name
    'auto'
    """

    name = "auto"
    methods = ("marginal-likelihood",)

    def fit_observations(self, observations: Observations, method: str) -> FittedPrior:  # noqa: ARG002 (there is one)
        ranked = rank(observations, (Smooth(), NPMLE()))
        best, other = ranked
        ahead = best.score - other.score
        note = (
            f"auto chose {best.name} over {other.name}: its log-likelihood is {ahead:.1f} higher after the penalty for "
            f"complexity ({best.log_likelihood - other.log_likelihood:+.1f} before it)"
        )
        return replace(best.prior, notes=(note, *best.prior.notes))
