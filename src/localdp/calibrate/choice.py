"""Which posterior items get: exact sums if they are few, classes of items if their noise differs, one law otherwise."""

from __future__ import annotations

from localdp.calibrate.base import AnyPosterior
from localdp.calibrate.few_items import FewItems
from localdp.calibrate.posterior import Posterior
from localdp.calibrate.posterior_by_item import MOST_CLASSES, PosteriorByItem
from localdp.priors.base import FittedPrior
from localdp.priors.divisions import DivisionsPrior, noises_of
from localdp.priors.fitting.noise import Noise
from localdp.priors.fitting.noise_by_item import NoiseByItem
from localdp.types import Vector


def posterior_of(
    prior: FittedPrior, noise: Noise | NoiseByItem, estimates: Vector, total: float | None
) -> AnyPosterior:
    """The posteriors of items with these estimates, for noise that may differ by item."""
    if isinstance(prior, DivisionsPrior) and total is not None and prior.items == estimates.size:
        usable = noise.usable(prior.n)
        found = FewItems(prior, noises_of(usable, estimates.size), estimates, total)
        if found.reliable:
            return found
    if isinstance(noise, Noise):
        return Posterior(prior, noise, estimates, total=total)
    classes = noise.classes(MOST_CLASSES)
    if len(classes) == 1:
        return Posterior(prior, classes[0].noise, estimates, total=total)
    return PosteriorByItem(prior, noise, estimates, total=total)
