"""What cannot be compared: other items, and noise that both sides share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.stats import chi2

from localdp.changes.sides import Outcomes, Side
from localdp.errors import DomainError, InvalidInputError
from localdp.plan import Aggregate
from localdp.structures.like import shares_noise
from localdp.types import Vector

_SEVERAL = 12  # items from which on shared noise can be seen
_CHANCE = float(np.log(1e-4))  # the probability that two surveys have the same counts by chance


def check_comparable(before: Side, after: Side) -> None:
    """Raise an error if the sides have other items, or reports or permanent responses in common."""
    if before.domain != after.domain:
        raise DomainError(
            f"the two sides have other items, or have them in another order ({before.size:,} and {after.size:,} "
            "items): a difference needs the same items on both sides"
        )
    if (before.total is None) != (after.total is None):
        raise InvalidInputError(
            "on one side every person holds one item and on the other several: their shares mean different things"
        )
    files: list[frozenset[str]] = [getattr(side.source, "sources", frozenset()) for side in (before, after)]
    if before.source is after.source or files[0] & files[1] or _identical(before, after):
        raise InvalidInputError("both sides hold the same reports, so there is no difference to be seen")
    if isinstance(before, Outcomes) or isinstance(after, Outcomes):
        return
    if before.size >= _SEVERAL and before.n and after.n and shares_noise(_scaled(before), _scaled(after)):
        raise InvalidInputError(
            "the two sides share noise: they hold the same reports, or reports that the same people made from their "
            "permanent responses. Compare surveys of other people; for the same people on several days, look at "
            "their history (localdp.history)"
        )


def check_fresh(periods: Sequence[Aggregate]) -> None:
    """Raise an error if periods that follow each other clearly share noise."""
    if share_noise(periods):
        raise InvalidInputError(
            "periods of this history share noise: they hold the same reports, or reports that the same people made "
            "from their permanent responses. Give reports_per_person, or periods with reports of their own"
        )


def share_noise(periods: Sequence[Aggregate]) -> bool:
    """Whether two periods that follow each other clearly have noise in common."""
    if not periods[0].plan.mechanism.shows_raw:
        return repeated_outcomes(periods) > 0
    if periods[0].plan.domain.size < _SEVERAL:
        return False
    scaled = (_scaled(Side.of(period)) for period in periods if period.n)
    return any(shares_noise(before, after) for before, after in pairwise(scaled))


def repeated_outcomes(periods: Sequence[Aggregate]) -> float:
    """The share of reports that periods repeat from the one before, as far as they are too alike; 0 if they are not.

    For reports with one outcome each. Pearson's statistic of two periods is chi-square if they have other people and
    one population, larger if the population moves, and smaller by this share if reports are repeated.
    """
    counts = [period.counts.astype(np.float64) for period in periods if period.n]
    found, free = 0.0, 0
    for before, after in zip(counts[::2], counts[1::2], strict=False):  # pairs that have no period in common
        both = before + after
        seen = both > 0
        n, m = before.sum(), after.sum()
        found += float((np.square(before * np.sqrt(m / n) - after * np.sqrt(n / m))[seen] / both[seen]).sum())
        free += int(seen.sum()) - 1
    if not free or chi2.cdf(found, free) > np.exp(_CHANCE):
        return 0.0
    return 1 - found / free


def _identical(before: Side, after: Side) -> bool:
    """Whether both sides have the same estimates, and chance would hardly make them the same."""
    if before.n != after.n or not np.array_equal(before.shares, after.shares):
        return False
    if before.probabilities is None or after.probabilities is None:
        return True
    steps = np.sqrt(before.variances(before.shares)) * before.n * (before.probabilities[0] - before.probabilities[1])
    # The chance that two counts with this deviation are the same, for all items that are free.
    chances = 1 / np.sqrt(1 + 4 * np.pi * np.square(steps))
    return float(np.log(np.sort(chances)[: max(1, before.size - 1)]).sum()) < _CHANCE


def _scaled(side: Side) -> Vector:
    """The shares divided by the deviations of their noise, as the test for shared noise needs them."""
    deviations = np.sqrt(np.maximum(side.noise_variances(np.zeros(side.size)), 1e-300))
    return np.asarray((side.shares - side.shares.mean()) / deviations)
