"""PRIORS: distributions of the true frequencies over items, and how they are learnt from noisy estimates.

| name | class | shape | fitted by |
|---|---|---|---|
| `power-law` | `PowerLaw` | k^-alpha on 1..n; the paper's | mean-variance, mle |
| `gaussian` | `Gaussian` | around a level | mean-variance, mle |
| `laplace` | `Laplace` | around a level, with more outliers | mean-variance, mle |
| `poisson` | `Poisson` | around a level, by chance | mean-variance, mle |
| `smooth` | `Smooth` | a power law with an exponent that drifts, and empty items | marginal likelihood |
| `bulk` | `Bulk` | most items near a level, some apart; averaged over all spreads | marginal likelihood |
| `monotone` | `Monotone` | never increasing | mle |
| `npmle` | `NPMLE` | anything: a few levels | mle |
| `opt-in` | `OptIn` | learnt from users who share their item | marginal likelihood |
| `fixed` | `Fixed` | known beforehand | - |
| `auto` | `Auto` | the average of `smooth`, `bulk` and `npmle` | marginal likelihood |
"""

from __future__ import annotations

from localdp.errors import InvalidInputError
from localdp.priors.auto import Auto
from localdp.priors.base import AtomicPrior, FittedPrior, Prior
from localdp.priors.bulk import Bulk
from localdp.priors.cells import CellPrior, Cells
from localdp.priors.fitting.counting_noise import CountingNoise
from localdp.priors.fitting.noise import Noise
from localdp.priors.fitting.noise_by_item import NoiseByItem
from localdp.priors.fitting.observations import Observations
from localdp.priors.fitting.observations_by_item import observations_of
from localdp.priors.fixed import Fixed
from localdp.priors.gaussian import Gaussian
from localdp.priors.goodness import GoodnessOfFit, goodness_of_fit
from localdp.priors.laplace import Laplace
from localdp.priors.monotone import Monotone
from localdp.priors.npmle import NPMLE
from localdp.priors.opt_in import OptIn
from localdp.priors.poisson import Poisson
from localdp.priors.power_law import PowerLaw
from localdp.priors.ranking import Rank, rank
from localdp.priors.smooth import Smooth

__all__ = [
    "NPMLE",
    "PRIORS",
    "AtomicPrior",
    "Auto",
    "Bulk",
    "CellPrior",
    "Cells",
    "CountingNoise",
    "FittedPrior",
    "Fixed",
    "Gaussian",
    "GoodnessOfFit",
    "Laplace",
    "Monotone",
    "Noise",
    "NoiseByItem",
    "Observations",
    "OptIn",
    "Poisson",
    "PowerLaw",
    "Prior",
    "Rank",
    "Smooth",
    "goodness_of_fit",
    "observations_of",
    "prior_named",
    "rank",
]

PRIORS: dict[str, type[Prior]] = {
    kind.name: kind
    for kind in (PowerLaw, Gaussian, Laplace, Poisson, Smooth, Bulk, Monotone, NPMLE, OptIn, Fixed, Auto)
}


def prior_named(name: str) -> Prior:
    """The family of that name, if it needs no arguments.

    >>> prior_named("power-law")
    PowerLaw()
    """
    if name in ("opt-in", "fixed"):
        raise InvalidInputError(
            f"the prior {name!r} needs arguments: give {PRIORS[name].__name__}(...) instead of its name"
        )
    if name not in PRIORS:
        raise InvalidInputError(f"there is no prior {name!r:.40}: choose from {', '.join(PRIORS)}")
    return PRIORS[name]()
