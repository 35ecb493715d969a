"""A distribution that is known beforehand.

Given the true frequencies of all items it is the oracle: no other prior has a smaller expected error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from localdp.errors import FrequencyError
from localdp.priors.base import AtomicPrior, FittedPrior, Prior, frozen_parameters
from localdp.priors.fitting.observations import Observations
from localdp.types import Vector


class Fixed(Prior):
    """A known distribution: frequencies with their probabilities, or a list of frequencies that are equally likely.

    >>> Fixed([5, 5, 9, 100])
    Fixed(3 frequencies)
    >>> Fixed([0, 10], probabilities=[0.25, 0.75])
    Fixed(2 frequencies)
    """

    name = "fixed"
    methods = ("given",)
    light_tails = True
    parameter_count = 0

    def __init__(self, frequencies: ArrayLike, probabilities: ArrayLike | None = None) -> None:
        try:
            values = np.asarray(frequencies, np.float64)
            weights = np.ones_like(values) if probabilities is None else np.asarray(probabilities, np.float64)
        except (TypeError, ValueError, OverflowError):
            raise FrequencyError(
                "a known distribution is made of flat lists of numbers: frequencies, and maybe their probabilities"
            ) from None
        if values.ndim != 1 or not values.size or values.shape != weights.shape:
            raise FrequencyError(
                "a known distribution needs a flat list of frequencies, not an empty one, and one probability for each"
            )
        whole = (values >= 0) & (values <= 2.0**53) & (values == np.floor(values))
        if not whole.all():
            raise FrequencyError(
                "the frequencies of a known distribution must be whole numbers, none negative, at most 2^53"
            )
        if not (np.isfinite(weights).all() and (weights >= 0).all() and 0 < weights.max() < 1e300):
            raise FrequencyError(
                "the probabilities of a known distribution must be finite, none negative and not all 0"
            )
        self.values, place = np.unique(values, return_inverse=True)
        masses = np.bincount(place, weights / weights.max())
        self.values, masses = self.values[masses > 0], masses[masses > 0]
        self.log_masses: Vector = np.log(masses / masses.sum())

    @property
    def uses_total(self) -> bool:
        return False

    def fit_observations(self, observations: Observations, method: str) -> FittedPrior:
        parameters = frozen_parameters(atoms=self.values.size)
        n = max(observations.n, int(self.values[-1]))
        return AtomicPrior(self.name, n, parameters, method, (), self.values, self.log_masses)

    def __repr__(self) -> str:
        return f"Fixed({self.values.size} frequencies)"
