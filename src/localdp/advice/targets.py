"""How much epsilon, or how many users, a target takes.

Both targets are shares of the users, and both are about raw estimates: what they promise holds for every item, whatever
the frequencies of the others. With v the variance for one user, e the excess, and z_a, z_b the quantiles of the
significance threshold and of being seen, n users reach

    a standard error of x n           when   n >= v / x^2,
    an item of share s being seen     when   n >= ((z_a sqrt(v) + z_b sqrt(v + e s)) / s)^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from localdp.advice.options import SEEN
from localdp.errors import EpsilonError, InvalidInputError
from localdp.estimate.frequencies import significance_threshold
from localdp.mechanisms import Mechanism, create
from localdp.validation import LARGEST_EPSILON, share_of

_STEPS = 100  # to a unit of epsilon
_LEAST_SHARE = 1e-15  # there are at most 2^53 users


@dataclass(frozen=True)
class Target:
    """A standard error to reach, an item to see, or both; as shares of the users."""

    error: float | None = None
    share: float | None = None

    def __str__(self) -> str:
        """What the users are enough for, or not."""
        parts = []
        if self.error is not None:
            parts.append(f"for a standard error of {percent(self.error)} of the users")
        if self.share is not None:
            parts.append(f"to see an item held by {percent(self.share)} of the users")
        return " and ".join(parts)

    def users(self, mechanism: Mechanism) -> int:
        """The fewest users that reach it."""
        variance, needed = mechanism.variance(1), 1.0
        if self.error is not None:
            needed = max(needed, variance / self.error**2)
        if self.share is not None:
            significant = significance_threshold(math.sqrt(variance), mechanism.size)
            own = max(variance + mechanism.excess_variance * self.share, 0.0)
            needed = max(needed, ((significant + NormalDist().inv_cdf(SEEN) * math.sqrt(own)) / self.share) ** 2)
        return math.ceil(needed * (1 - 1e-12))

    def epsilon(self, items: int, users: int) -> float:
        """The least epsilon that reaches it with the mechanism that `auto` takes, in steps of 0.01."""
        low, high = 0, round(LARGEST_EPSILON * _STEPS)
        if not self._reached(items, users, high):
            needed = self.users(create("auto", items, 4.0).mechanism)
            raise InvalidInputError(
                f"{users:,} users with {items:,} items are too few {self}, even at epsilon {LARGEST_EPSILON:g}, which "
                f"hides next to nothing; at epsilon 4 it takes {needed:,} users"
            )
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._reached(items, users, middle) else (middle, high)
        return high / _STEPS

    def _reached(self, items: int, users: int, steps: int) -> bool:
        try:
            return self.users(create("auto", items, steps / _STEPS).mechanism) <= users
        except EpsilonError:  # so small that the report would say nothing
            return False


def checked_target(error: Any, share: Any) -> Target | None:
    """The target, or None if there is none."""
    if error is None and share is None:
        return None
    return Target(_checked_share("target error", error), _checked_share("smallest share", share))


def percent(share: float) -> str:
    """A share in percent, with the digits that matter."""
    return f"{100 * share:.3g}%"


def _checked_share(name: str, value: Any) -> float | None:
    if value is None:
        return None
    share = share_of(value, f"a {name}")
    if not _LEAST_SHARE <= share < 1:
        raise InvalidInputError(
            f"a {name} is a share of the users below 1 and not below {_LEAST_SHARE:g}, not {value!r:.40}"
        )
    return share
