r"""The exchangeable prior, as one more model of the table: nothing is known about which cells belong together.

Its evidence is comparable with that of a structure: both are densities of the estimates, given the total if it is
known. For the exchangeable prior, log p(estimates | T) = sum_i log p(estimate_i) + log p(T | estimates) - log p(T),
where both sums of independent frequencies are taken as Gaussian. The prior was fitted to the same estimates, which
makes them look more likely than they are; half of log d for each of two parameters is subtracted for that.
"""

from __future__ import annotations

from functools import cached_property
from statistics import NormalDist

import numpy as np

from localdp.calibrate.base import AnyPosterior
from localdp.calibrate.choice import posterior_of
from localdp.calibrate.known_total import LEAST_VARIANCE
from localdp.calibrate.posterior_by_item import MOST_CLASSES
from localdp.errors import InvalidInputError
from localdp.priors import CellPrior, FittedPrior, Noise, NoiseByItem, Observations
from localdp.priors.explained import Explained
from localdp.structures.likelihood import Rows
from localdp.structures.parts import Part
from localdp.types import Vector

_LEVEL = 0.9  # of the interval from which the deviation of a sum is read
_LEVELS = (np.arange(64) + 0.5) / 64
_HALF_LOG_TWO_PI = 0.5 * float(np.log(2 * np.pi))


class ExchangeablePart(Part):
    """The posterior under an exchangeable prior."""

    def __init__(
        self, prior: FittedPrior, noise: Noise | NoiseByItem, estimates: Vector, n: int, total: float | None
    ) -> None:
        self.prior, self.noise, self.estimates, self.n, self.total = prior, noise, estimates, n, total

    @cached_property
    def posterior(self) -> AnyPosterior:
        """The posterior of every cell on its own."""
        return posterior_of(self.prior, self.noise, self.estimates, self.total)

    @cached_property
    def moments(self) -> tuple[Vector, Vector]:
        return self.posterior.means(), np.square(self.posterior.deviations())

    def points(self, rows: Rows) -> tuple[Vector, Vector]:
        items = np.arange(self.estimates.size)[rows]
        repeated, levels = np.repeat(items, _LEVELS.size), np.tile(_LEVELS, items.size)
        values = self.posterior.quantiles_of(repeated, levels).reshape(items.size, -1)
        # Whole numbers that many levels share are spread over the unit that they stand for.
        spread = values + (_LEVELS - 0.5) * 0.9
        return np.maximum(spread, 0.0), np.full(values.shape, 1 / _LEVELS.size)

    def sum_moments(self, weights: Vector) -> tuple[float, float]:
        # A weighted sum is known better than its items one by one: see `localdp.calibrate.sums`.
        found = self.posterior.linear(weights, _LEVEL)
        deviation = (found.high - found.low) / (2 * NormalDist().inv_cdf((1 + _LEVEL) / 2))
        return found.value, deviation**2

    def log_evidence(self) -> float:
        """The log-density of the estimates, given the total if it is known, up to log(2 pi)/2 for each cell."""
        if not isinstance(self.prior, CellPrior):
            raise InvalidInputError(f"{self.prior.name} has no evidence that can be compared with that of a structure")
        masses = np.exp(self.prior.log_masses)
        logs = mean = variance = 0.0
        for items, noise in self._classes:
            observed = Observations.usable(self.estimates[items], noise, self.n, None)
            found = Explained.by(observed, self.prior.cells, masses[None])
            logs += float(found.log_likelihood[0]) + _HALF_LOG_TWO_PI * observed.tail.size
            own = float(found.sum_variance[0]) - observed.total_variance
            variance += max(own, 0.0)
            mean += observed.total - float(found.score[0]) * float(np.sqrt(found.sum_variance[0]))
        logs -= float(np.log(self.estimates.size))  # half of log d for each of two parameters
        if self.total is None:
            return logs
        k = self.prior.cells.middles
        spread = float(masses @ k**2 - (masses @ k) ** 2) * self.estimates.size
        variance = max(variance, LEAST_VARIANCE)
        logs += -0.5 * (self.total - mean) ** 2 / variance - 0.5 * float(np.log(variance))
        return logs + 0.5 * float(np.log(max(spread, 1.0)))

    @property
    def _classes(self) -> list[tuple[Rows, Noise]]:
        if isinstance(self.noise, Noise):
            return [(slice(None), self.noise)]
        return [(part.items, part.noise) for part in self.noise.classes(MOST_CLASSES)]
