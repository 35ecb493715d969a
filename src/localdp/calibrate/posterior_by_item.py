r"""Posteriors of items whose noise differs: a `Posterior` for each class of items with the same noise.

    Pr(f_i = k | fhat_i)   proportional to   p_f(k) N(fhat_i; k, Var_i + k * excess)

`localdp.priors.fitting.noise_by_item` makes the classes and says what they cost. The prior is the same for all classes.
So is what the known total says, because it is the sum over all items: M and V of `localdp.calibrate.known_total` are
sums over all classes. An item takes the share v_i/V of what is missing, so that those with little noise hardly move.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from localdp.calibrate.base import AnyPosterior, Quantity
from localdp.calibrate.known_total import MOST_ADDED_UP, Pull, adding_up, pull_towards
from localdp.calibrate.posterior import Posterior
from localdp.calibrate.sums import classes_of, weighted_sum
from localdp.frozen import Frozen
from localdp.priors.base import FittedPrior
from localdp.priors.fitting.noise_by_item import NoiseByItem
from localdp.types import Places, Vector

MOST_CLASSES = 32
"""Posteriors are computed with at most so many classes. Few items, up to so many, have a class each."""


class _ClassPosterior(Posterior):
    """The posteriors of one of several classes: most classes have too few items for a table."""

    _least_tabled = 4096


class PosteriorByItem(Frozen, AnyPosterior):
    """The posteriors of items with these estimates under a prior and a noise that differs by item.

    >>> from localdp.priors import Fixed, Noise, Observations
    >>> estimates, noise = np.array([14.0, 14.0]), NoiseByItem(np.array([16.0, 400.0]))
    >>> prior = Fixed([10, 20]).fit(Observations(estimates, Noise(16.0), n=30, known_total=None))
    >>> PosteriorByItem(prior, noise, estimates).means().round(2).tolist()
    [13.49, 14.94]
    """

    def __init__(
        self,
        prior: FittedPrior,
        noise: NoiseByItem,
        estimates: Vector,
        breaks: tuple[float, ...] = (),
        total: float | None = None,
        pull: Pull | None = None,
    ) -> None:
        self.prior, self.noise, self.estimates = prior, noise, estimates
        self._total = total
        self._classes = noise.classes(MOST_CLASSES)
        self._members: tuple[Posterior, ...] = tuple(
            _ClassPosterior(prior, part.noise, estimates[part.items], breaks) for part in self._classes
        )
        self._pull: Pull | None = None
        if total is not None:
            self._pull, self._members = self._pulled(total, pull)
        self._freeze()

    def with_breaks(self, breaks: tuple[float, ...]) -> PosteriorByItem:
        """The same posteriors, for functions that have steps at these places."""
        return PosteriorByItem(self.prior, self.noise, self.estimates, breaks, self._total, self._pull)

    def means(self) -> Vector:
        return self._joined(lambda member: (member.means(),))[0]

    def linear(self, weights: Vector, level: float) -> Quantity:
        places, classes = classes_of(weights)
        blocks = [
            member.block(weights[part.items], places[part.items])
            for part, member in zip(self._classes, self._members, strict=True)
        ]
        return weighted_sum(blocks, classes, self._total, level)

    def deviations(self) -> Vector:
        return self._joined(lambda member: (member.deviations(),))[0]

    def shortest_intervals(self, level: float) -> tuple[Vector, Vector]:
        low, high = self._joined(lambda member: member.shortest_intervals(level))
        return low, high

    def quantiles(self, level: float) -> Vector:
        return self._joined(lambda member: (member.quantiles(level),))[0]

    def probability_above(self, limit: int) -> Vector:
        return self.with_breaks((limit + 0.5,))._joined(lambda member: (member.share_above(limit),))[0]

    def quantiles_of(self, items: Places, levels: Vector) -> Vector:
        within, member_of = np.empty(self.estimates.size, np.intp), np.empty(self.estimates.size, np.intp)
        for number, part in enumerate(self._classes):
            within[part.items], member_of[part.items] = np.arange(part.items.size), number
        found = np.empty(levels.size)
        for number, member in enumerate(self._members):
            asked = np.flatnonzero(member_of[items] == number)
            if asked.size:
                found[asked] = member.quantiles_of(within[items[asked]], levels[asked])
        return found

    def _pulled(self, total: float, pull: Pull | None) -> tuple[Pull, tuple[Posterior, ...]]:
        """What the total says, and the posteriors once it is known; `pull` is given if it was computed before."""
        members = self._members
        if pull is None:
            means, variances = zip(*(member.moments() for member in members), strict=True)
            pull = pull_towards(total, float(sum(map(np.sum, means))), float(sum(map(np.sum, variances))))
            if self.estimates.size <= MOST_ADDED_UP:

                def summed(tried: Pull) -> float:
                    return float(sum(member.with_total(total, tried).means().sum() for member in members))

                pull = adding_up(pull, total, summed)
        return pull, tuple(member.with_total(total, pull) for member in members)

    def _joined(self, answer: Callable[[Posterior], tuple[Vector, ...]]) -> list[Vector]:
        """What all classes answer, in the order of the items."""
        found: list[Vector] = []
        for part, member in zip(self._classes, self._members, strict=True):
            answers = answer(member)
            if not found:
                found = [np.empty(self.estimates.size) for _ in answers]
            for whole, own in zip(found, answers, strict=True):
                whole[part.items] = own
        return found
