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

import inspect
from typing import Any, TypeVar

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
from localdp.priors.fitting.parametric import ParametricFamily, Search
from localdp.priors.fitting.predictive import Predictive
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
from localdp.registry import Registry, complaint_about_name
from localdp.validation import shown

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
    "ParametricFamily",
    "Poisson",
    "PowerLaw",
    "Predictive",
    "Prior",
    "Rank",
    "Search",
    "Smooth",
    "goodness_of_fit",
    "observations_of",
    "prior_named",
    "prior_of",
    "rank",
    "register",
]

PRIORS: dict[str, type[Prior]] = {
    kind.name: kind
    for kind in (PowerLaw, Gaussian, Laplace, Poisson, Smooth, Bulk, Monotone, NPMLE, OptIn, Fixed, Auto)
}
"""The families of the library by name."""

_Kind = TypeVar("_Kind", bound=type[Prior])
_REGISTRY: Registry[Prior] = Registry(Prior, set(PRIORS))


def register(kind: _Kind) -> _Kind:
    """Make a family of your own known by its name, as in `estimate.calibrate("your-name")`. It serves as a decorator.

    An object of the family can be given to `calibrate` without this.

    >>> @register
    ... class Steeper(PowerLaw):
    ...     name = "doctest-steeper"
    >>> prior_named("doctest-steeper")
    Steeper()
    """
    _REGISTRY.add(kind)
    return kind


def prior_named(name: str) -> Prior:
    """The family of that name, in the library or registered, if it needs no arguments.

    >>> prior_named("power-law")
    PowerLaw()
    """
    kind = PRIORS.get(name) or _REGISTRY.get(name)
    if kind is None:
        raise InvalidInputError(
            f"there is no prior {name!r:.40}: choose from {', '.join([*PRIORS, *_REGISTRY])}, or give an object of a "
            "family of your own"
        )
    try:
        inspect.signature(kind).bind()
    except TypeError:
        raise InvalidInputError(
            f"the prior {name!r} needs arguments: give {kind.__name__}(...) instead of its name"
        ) from None
    return kind()


def prior_of(prior: Any) -> Prior | FittedPrior:
    """A prior as people give it: by name, as a family, or fitted.

    >>> prior_of("poisson"), prior_of(PowerLaw())
    (Poisson(), PowerLaw())
    """
    if isinstance(prior, str):
        return prior_named(prior)
    if isinstance(prior, type) and issubclass(prior, Prior):
        raise InvalidInputError(f"{prior.__name__} is a class: give an object of it, {prior.__name__}()")
    if not isinstance(prior, Prior | FittedPrior):
        raise InvalidInputError(
            f"a prior is a name such as 'auto', a family such as PowerLaw() or a fitted prior, not {shown(prior)}"
        )
    complaint = complaint_about_name(getattr(prior, "name", None), type(prior)) if isinstance(prior, Prior) else None
    if complaint is not None:
        raise InvalidInputError(complaint)
    return prior
