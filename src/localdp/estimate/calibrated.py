"""Calibrated frequencies: the posterior of every item, and what can be asked of it.

    ftilde_i = E[f | fhat_i],   f ~ p_f,   fhat = f + s,   s ~ N(0, Var)

the estimator with the least mean squared error there is, given the two distributions (Theorem 1 of the paper).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from localdp.calibrate.posterior import Posterior
from localdp.domain import Domain
from localdp.estimate.frequencies import INTERVALS, Frequencies
from localdp.priors import FittedPrior, Noise
from localdp.types import Places, Vector
from localdp.validation import checked_level, checked_threshold


@dataclass(frozen=True, eq=False)
class Calibrated(Frequencies):
    """Calibrated frequencies of d items among n users, with the prior they rest on.

    `notes` says which prior was chosen and why, and what was decided where a family could not fit. After `zeroed` or
    `project` the frequencies are the post-processed ones; intervals and probabilities rest on the posterior as before.
    """

    estimates: Vector
    n: int
    domain: Domain
    prior: FittedPrior
    noise: Noise
    processed: Vector | None = None
    processing: tuple[str, ...] = ()

    @cached_property
    def frequencies(self) -> Vector:
        """The posterior means, or what post-processing made of them."""
        return _read_only(self._posterior.expect() if self.processed is None else self.processed)

    @cached_property
    def std(self) -> Vector:
        """The posterior standard deviations."""
        return _read_only(self._posterior.deviations().copy())

    @property
    def std_error(self) -> float:
        """The standard deviation of the noise of an item that nobody holds, before calibrating."""
        return self.noise.deviation

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided on the way."""
        return self.prior.notes

    def interval(self, level: float = INTERVALS) -> tuple[Vector, Vector]:
        """For every item the shortest range of frequencies that holds the true one with this probability."""
        return self._posterior.shortest_intervals(checked_level(level))

    def quantile(self, level: float) -> Vector:
        """For every item the frequency that the true one does not exceed with this probability."""
        return self._posterior.quantiles(checked_level(level))

    def probability_above(self, threshold: float) -> Vector:
        """Pr(f_i > threshold | fhat_i) for every item."""
        limit = math.floor(min(max(checked_threshold(threshold), -1), self.prior.n + 1))
        posterior = Posterior(self.prior, self.noise, self.estimates, edges=(limit + 0.5,))
        return np.clip(posterior.expect((posterior.nodes > limit + 0.25).astype(np.float64)), 0.0, 1.0)

    def _draw(self, items: Places, levels: Vector) -> Vector:
        return self._posterior.draw(items, levels)

    def _processed(self, frequencies: Vector, step: str) -> Self:
        return replace(self, processed=frequencies, processing=(*self.processing, step))

    @cached_property
    def _posterior(self) -> Posterior:
        return Posterior(self.prior, self.noise, self.estimates)

    def __repr__(self) -> str:
        steps = "".join(f" ({step})" for step in self.processing)
        return f"<Calibrated frequencies{steps} of {self.domain.size} items among {self.n} users, {self.prior!r}>"


def _read_only(values: Vector) -> Vector:
    values.setflags(write=False)
    return values
