"""What a prior sees of the estimates: the estimates themselves or moved ones, and their noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localdp.estimate.total import adds_up_by_itself, moved_to_total
from localdp.types import Vector

if TYPE_CHECKING:
    from localdp.estimate.estimate import Estimate
    from localdp.priors import FittedPrior, Noise, NoiseByItem, Prior


def gaussian_noise(estimate: Estimate) -> Noise | NoiseByItem:
    """The noise of the estimates, if it is Gaussian."""
    from localdp.priors import Noise, NoiseByItem

    if isinstance(estimate.variance, float):
        return Noise(estimate.variance, estimate.excess_variance)
    return NoiseByItem(estimate.variance, estimate.excess_variance)


def seen_by(prior: Prior | FittedPrior, estimate: Estimate, variances: Vector) -> tuple[Vector, Noise | NoiseByItem]:
    """The estimates and their noise, as this prior sees them.

    `variances` are those of the estimates as they are; they are overwritten.

    The paper's families see the estimates as they are, with Gaussian noise to which holders add nothing. Others see
    the exact noise where that matters, and most of them estimates that were moved to add up to the total.
    """
    from localdp.priors import CountingNoise

    noise = gaussian_noise(estimate)
    if prior.constant_noise:
        return estimate.frequencies, noise.without_excess
    if estimate.probabilities is not None:
        counting = CountingNoise.of(estimate.n, *estimate.probabilities)
        noise = counting if counting.matters(estimate.domain.size) else noise
    if estimate.total is None or not prior.uses_total:
        return estimate.frequencies, noise
    if adds_up_by_itself(estimate.frequencies, estimate.total) and estimate.domain.size > 1:
        # The noise adds up to 0, which makes it smaller than that of estimates moved to the total.
        noise = noise.widened(1 / (1 - 1 / estimate.domain.size))
    return moved_to_total(estimate.frequencies, estimate.total, variances, out=variances), noise
