"""Frequencies from private answers and from users who opted in to share their item: the hybrid model.

`localdp.priors.hybrid` derives the estimate and its variance.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from localdp.errors import InvalidInputError
from localdp.estimate.estimate import Estimate
from localdp.priors import FittedPrior, Noise, OptIn, Prior
from localdp.priors.hybrid import CombinedNoise, Hybrid
from localdp.priors.opt_in import checked_shared_counts
from localdp.types import Vector

if TYPE_CHECKING:
    from localdp.estimate.calibrated import Calibrated
    from localdp.structures import Structure


@dataclass(eq=False)
class Combined(Estimate):
    """Estimated frequencies among all users, those who opted in and those who answered privately.

    Made by `Estimate.combine`. It is an `Estimate` with two differences. The variance does not grow in proportion to
    the frequency: `std_error_at` gives the standard deviation at any frequency, and intervals and `calibrate` use it.
    And priors are fitted to one of the two parts, as `calibrate` says, and ranked and tested by the private answers.
    The error of a rare item is not Gaussian, which does no harm to its posterior but would mislead a fit.
    """

    counts: Vector = field(kw_only=True, default_factory=lambda: np.zeros(0))
    private: Estimate = field(kw_only=True, default=None)  # type: ignore[assignment]
    noise: CombinedNoise = field(kw_only=True, default_factory=lambda: CombinedNoise(0.0))

    @classmethod
    def of(cls, private: Estimate, counts: ArrayLike) -> Combined:
        """Combine private estimates with the counts of users who opted in."""
        shared = checked_shared_counts(counts, private.domain.size)
        if not isinstance(private.variance, float):
            raise InvalidInputError(
                "estimates with a variance for each item cannot be combined with opted-in users: the weights of both "
                "parts follow from one variance for all items"
            )
        hybrid = Hybrid.of(shared, private.n, Noise(private.variance, private.excess_variance))
        noise = hybrid.combined_noise()
        return cls(
            hybrid.combine(shared, private.frequencies),
            n=hybrid.total,
            variance=noise.variance,
            domain=private.domain,
            total=None if private.total is None else private.total + float(shared.sum()),
            counts=shared,
            private=private,
            noise=noise,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Where the private estimates contradict their total or their stated noise; empty if they do not."""
        return self.private.notes

    @property
    def _variances(self) -> Vector:
        return self.noise.variance_at(np.clip(self._unbiased, 0, self.n))

    @property
    def opted_in(self) -> int:
        """The number of users who opted in."""
        return int(self.counts.sum())

    def std_error_at(self, frequencies: ArrayLike) -> Vector:
        held = np.clip(np.asarray(frequencies, np.float64), 0, self.n)
        return np.sqrt(self.noise.variance_at(held))

    def calibrate(
        self,
        prior: Prior | FittedPrior | str = "opt-in",
        method: str | None = None,
        *,
        structure: Structure | None = None,
        warn: bool = True,
    ) -> Calibrated:
        """Calibrated frequencies: the mean of every item's posterior under a prior.

        The prior is learnt from the counts of those who opted in ("opt-in"). Any other family is fitted to the private
        answers. The arguments are otherwise as in `Estimate.calibrate`. Posteriors do not use the total: the errors of
        rare items are not Gaussian, so their sum says little.
        """
        if structure is not None:
            raise InvalidInputError(
                "estimates combined with users who opted in take no structure: give it to the private estimates"
            )
        if self.origin is None:
            chosen = OptIn(self.counts.astype(np.int64)) if isinstance(prior, str) and prior == "opt-in" else prior
            prior, method = self._fitted_to.calibrate(chosen, method, warn=warn).prior, None
        return replace(super().calibrate(prior, method, warn=warn), noise=self.noise, total=None)

    @property
    def _fitted_to(self) -> Estimate:
        """Estimates for all users with the errors of the private answers alone."""
        return replace(
            self.private,
            frequencies=self.private.frequencies + self.counts,
            n=self.n,
            total=self.total,
            probabilities=None,
        )

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self.opted_in} of whom opted in>"
