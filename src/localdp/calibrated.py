"""Calibrated frequencies: the posterior of every item, and what can be asked of it.

    ftilde_i = E[f | fhat_i],   f ~ p_f,   fhat = f + s,   s ~ N(0, Var)

the estimator with the least mean squared error there is, given the two distributions (Theorem 1 of the paper).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.domain import Domain
from localdp.errors import InvalidInputError
from localdp.posterior import Posterior
from localdp.priors import FittedPrior, Noise

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Calibrated:
    """Calibrated frequencies of d items among n users, with the prior they rest on.

    `notes` says which prior was chosen and why, and what was decided where a family could not fit.
    """

    estimates: Vector
    n: int
    domain: Domain
    prior: FittedPrior
    noise: Noise

    @cached_property
    def frequencies(self) -> Vector:
        """The posterior means."""
        return _read_only(self._posterior.expect())

    @cached_property
    def std(self) -> Vector:
        """The posterior standard deviations."""
        return _read_only(self._posterior.deviations().copy())

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided on the way."""
        return self.prior.notes

    def interval(self, level: float = 0.9) -> tuple[Vector, Vector]:
        """For every item the shortest range of frequencies that holds the true one with this probability."""
        return self._posterior.shortest_intervals(_checked_level(level))

    def quantile(self, level: float) -> Vector:
        """For every item the frequency that the true one does not exceed with this probability."""
        return self._posterior.quantiles(_checked_level(level))

    def probability_above(self, threshold: Any) -> Vector:
        """Pr(f_i > threshold | fhat_i) for every item."""
        if not isinstance(threshold, Real) or threshold != threshold:
            raise InvalidInputError(f"a threshold is a frequency, not {threshold!r}")
        whole: Any = min(max(threshold, -1), self.prior.n + 1)
        limit = math.floor(whole)
        posterior = Posterior(self.prior, self.noise, self.estimates, edges=(limit + 0.5,))
        return np.clip(posterior.expect((posterior.nodes > limit + 0.25).astype(np.float64)), 0.0, 1.0)

    @cached_property
    def _posterior(self) -> Posterior:
        return Posterior(self.prior, self.noise, self.estimates)

    def __repr__(self) -> str:
        return f"<Calibrated frequencies of {self.domain.size} items among {self.n} users, {self.prior!r}>"


def _checked_level(level: Any) -> float:
    if not isinstance(level, Real) or not 0 < float(level) < 1:
        raise InvalidInputError(f"a level is a probability between 0 and 1, not {level!r}")
    return float(level)


def _read_only(values: Vector) -> Vector:
    values.setflags(write=False)
    return values
