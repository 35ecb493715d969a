"""Targets: a standard error to reach or an item to detect, and how large epsilon or how many users they need.

Both targets are shares of the users, and both are about raw estimates, so what they promise holds for every item
whatever the frequencies of the other items are. Let v be the variance per user and e the excess variance. Let z_a be
the normal quantile of the significance threshold, and z_b that of detecting an item 90% of the time. Then n users

    reach a standard error of x n            when   n >= v / x^2,
    detect an item that n s users hold       when   n >= ((z_a sqrt(v) + z_b sqrt(v + e s)) / s)^2.
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

_STEPS = 100  # epsilons are tried in steps of 1/100
_LEAST_SHARE = 1e-15  # the smallest share accepted: about nine users in 2^53, the largest number of users


@dataclass(frozen=True)
class Target:
    """A standard error to reach, the share of an item to detect, or both; as shares of the users.

    >>> mechanism = create("auto", 1_000, 1.0).mechanism
    >>> target = Target(share=0.01)
    >>> print(f"{target.users(mechanism):,} users are needed {target}")
    985,857 users are needed to detect an item held by 1% of the users
    """

    error: float | None = None
    share: float | None = None

    def __str__(self) -> str:
        """The target as the end of a sentence, after "users are needed" or "users are too few"."""
        parts = []
        if self.error is not None:
            parts.append(f"for a standard error of {percent(self.error)} of the users")
        if self.share is not None:
            parts.append(f"to detect an item held by {percent(self.share)} of the users")
        return " and ".join(parts)

    def users(self, mechanism: Mechanism) -> int:
        """The smallest number of users that reaches the target with this mechanism."""
        variance, needed = mechanism.variance(1), 1.0
        if self.error is not None:
            needed = max(needed, variance / self.error**2)
        if self.share is not None:
            significant = significance_threshold(math.sqrt(variance), mechanism.size)
            own = max(variance + mechanism.excess_variance * self.share, 0.0)
            needed = max(needed, ((significant + NormalDist().inv_cdf(SEEN) * math.sqrt(own)) / self.share) ** 2)
        return math.ceil(needed * (1 - 1e-12))  # so that a rounding error does not add a user

    def epsilon(self, items: int, users: int) -> float:
        """The smallest epsilon, in steps of 0.01, that reaches the target with the mechanism that `auto` takes."""
        low, high = 0, round(LARGEST_EPSILON * _STEPS)
        if not self._reached(items, users, high):
            needed = self.users(create("auto", items, 4.0).mechanism)
            raise InvalidInputError(
                f"{users:,} users with {items:,} items are too few {self}, even at epsilon {LARGEST_EPSILON:g}, which "
                f"hides next to nothing; at epsilon 4, {needed:,} users would be needed"
            )
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._reached(items, users, middle) else (middle, high)
        return high / _STEPS

    def _reached(self, items: int, users: int, steps: int) -> bool:
        """Whether this number of users is enough at epsilon steps/100."""
        try:
            return self.users(create("auto", items, steps / _STEPS).mechanism) <= users
        except EpsilonError:  # too small for any mechanism
            return False


def checked_target(error: Any, share: Any) -> Target | None:
    """The target that the two arguments of `advise` describe, or None if both are None."""
    if error is None and share is None:
        return None
    return Target(_checked_share("target error", error), _checked_share("smallest share", share))


def percent(share: float) -> str:
    """A share in percent, with three digits.

    >>> percent(0.00123456)
    '0.123%'
    """
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
