"""The prior `auto`: fit `smooth` and `npmle`, and keep the one with the higher score (see `localdp.priors.ranking`)."""

from __future__ import annotations

from dataclasses import replace

from localdp.priors.base import FittedPrior, Prior
from localdp.priors.fitting.observations import Observations
from localdp.priors.npmle import NPMLE
from localdp.priors.ranking import rank
from localdp.priors.smooth import Smooth


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
