"""Targets: a standard error to reach or an item to detect, and how large epsilon or how many users they need.

Both targets are shares of the users, and both are about raw estimates, so what they promise does not depend on the
frequencies of other items. Let v be the variance per user of an item that nobody holds, and e the excess variance.

The standard error of an item with a share s of the n users is sqrt(n (v + e s)). It is largest at s = 0 or at the
largest share that the target is meant for, `up_to`, so

    n users reach a standard error of x n   when   n >= (v + max(e, 0) up_to) / x^2.

Whether n users detect an item follows from the exact law of its count (`localdp.estimate.thresholds`): the limit for
counts, c(n), grows in whole steps, and right after each step an item is a little harder to detect than right before.
So some smaller numbers of users may be enough by luck. The number of users that a target needs is the one from which
on every number is enough. To find it, it is sufficient to look at the smallest n with each limit c.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any

from localdp.errors import EpsilonError, InvalidInputError
from localdp.estimate.thresholds import (
    BETA,
    SEEN,
    chance_above,
    count_threshold,
    significance_threshold,
    smallest_detected,
    smallest_true,
)
from localdp.mechanisms import Mechanism, create
from localdp.validation import LARGEST_EPSILON, LARGEST_EXACT_INTEGER, LARGEST_SIZE, share_of

_WEAKEST = 4.0  # the largest epsilon that is worth naming to somebody whose target is out of reach
_STEPS = 100  # epsilons are tried in steps of 1/100
_LEAST_SHARE = 1e-15  # the smallest share accepted: about nine users in 2^53, the largest number of users
_NO_LIMIT = 1 << 62  # more than any count or number of users


@dataclass(frozen=True)
class Target:
    """A standard error to reach, the share of an item to detect, or both; as shares of the users.

    The standard error is meant for all items that up to a share `up_to` of the users hold: all items if it is 1.

    >>> mechanism = create("auto", 1_000, 1.0).mechanism
    >>> target = Target(error=0.01)
    >>> print(f"{target.users(mechanism):,} users are needed {target}")
    49,007 users are needed for a standard error of at most 1% of the users for every item
    """

    error: float | None = None
    share: float | None = None
    up_to: float = 1.0

    def __str__(self) -> str:
        """The target as the end of a sentence, after "users are needed" or "users are too few"."""
        parts = []
        if self.error is not None:
            some = f"items that up to {percent(self.up_to)} of them hold" if self.up_to else "items that nobody holds"
            meant = "every item" if self.up_to == 1 else some
            parts.append(f"for a standard error of at most {percent(self.error)} of the users for {meant}")
        if self.share is not None:
            parts.append(f"to detect an item held by {percent(self.share)} of the users")
        return " and ".join(parts)

    def users(self, mechanism: Mechanism) -> int:
        """The number of users from which on the target is reached with this mechanism."""
        needed = self._users_for_error(mechanism)
        return needed if self.share is None else max(needed, _Detection(mechanism, self.share).users())

    def epsilon(self, items: int, users: int) -> float:
        """The smallest epsilon that reaches the target; `InvalidInputError` says what would, if none does."""
        found = self.smallest_epsilon(items, users)
        if found is None:
            raise InvalidInputError(
                f"{users:,} users with {items:,} items are too few {self}, even at epsilon {LARGEST_EPSILON:g}, which "
                f"hides next to nothing. At epsilon {_WEAKEST:g} this would do: {self.remedies(items, users, _WEAKEST)}"
            )
        return found

    def smallest_epsilon(self, items: int, users: int, most: float = LARGEST_EPSILON) -> float | None:
        """The smallest epsilon up to `most`, in steps of 0.01, that reaches the target with the mechanism of `auto`.

        None if there is none.
        """
        last = round(most * _STEPS)
        # The larger epsilon is, the less noise there is for items without holders, but not always for frequent ones:
        # that changes when `auto` takes another mechanism. So the search for them goes step by step.
        easier = replace(self, up_to=0.0)
        first = smallest_true(lambda steps: easier._reached(items, users, steps), 1, last + 1, last / 2)
        return next((steps / _STEPS for steps in range(first, last + 1) if self._reached(items, users, steps)), None)

    def most_items(self, users: int, epsilon: float) -> int:
        """The largest number of items with which so many users reach the target at this epsilon; 0 if there is none."""
        steps = round(epsilon * _STEPS)
        return smallest_true(lambda items: not self._reached(items, users, steps), 2, LARGEST_SIZE + 1, 64.0) - 1

    def remedies(self, items: int, users: int, epsilon: float) -> str:
        """What would reach the target at this epsilon: more users, fewer items, or a larger share."""
        mechanism = create("auto", items, epsilon).mechanism
        ways = [f"{self.users(mechanism):,} users instead of {users:,}"]
        fewest = self.most_items(users, epsilon)
        if 2 <= fewest < items:
            ways.append(f"at most {fewest:,} items instead of {items:,}")
        if self.error is not None:
            ways.append(f"a standard error of {percent(_rounded_up(self._error(mechanism, users)))} of the users")
        if self.share is not None:
            share = smallest_detected(users, mechanism.p, mechanism.q, items) / users
            if share <= 1:
                ways.append(f"looking only for items that at least {percent(_rounded_up(share))} of the users hold")
        both = self.error is not None and self.share is not None  # each of the last two ways solves half the problem
        alone = "" if fewest >= 2 else "; fewer items alone would not be enough"
        return ways[0] if both else _either(ways) + alone

    def _users_for_error(self, mechanism: Mechanism) -> int:
        if self.error is None:
            return 1
        needed = self._variance(mechanism) / self.error**2
        return max(1, math.ceil(needed * (1 - 1e-12)))  # a rounding error must not add a user

    def _variance(self, mechanism: Mechanism) -> float:
        """The variance for each user, of the item for which it is largest."""
        return mechanism.variance(1) + max(mechanism.excess_variance, 0.0) * self.up_to

    def _error(self, mechanism: Mechanism, users: int) -> float:
        """The largest standard error of an item that the target is meant for, as a share of the users."""
        return math.sqrt(self._variance(mechanism) / users)

    def _reached(self, items: int, users: int, steps: int) -> bool:
        """Whether this number of users is enough at epsilon steps/100."""
        try:
            mechanism = create("auto", items, steps / _STEPS).mechanism
        except EpsilonError:  # too small for any mechanism
            return False
        return self._users_for_error(mechanism) <= users and self.users(mechanism) <= users


@dataclass(frozen=True)
class _Detection:
    """An item held by a share of the users, to be detected with a mechanism. Limits are limits for counts."""

    mechanism: Mechanism
    share: float

    def users(self) -> int:
        """The number of users from which on the item is detected."""
        about = self._gaussian_users
        if about > LARGEST_EXACT_INTEGER:
            return math.ceil(about)
        # What the smallest number of users with a limit detects, all numbers with that limit do.
        limit = smallest_true(
            lambda limit: self._seen(self._first(limit), limit), 0, _NO_LIMIT, self._limit(math.ceil(about))
        )
        # With the limit before this one the item is not detected at once, but perhaps with some more users.
        before = max(limit - 1, 0)
        return smallest_true(lambda n: self._seen(n, before), self._first(before), self._first(limit), about)

    def _seen(self, n: int, limit: int) -> bool:
        """Whether the item passes this limit often enough among n users.

        If the share stands for 20.3 holders, the chance is interpolated between 20 and 21 of them.
        """
        p, q = self.mechanism.p_star, self.mechanism.q_star
        fewer = min(math.floor(self.share * n * (1 + 1e-12)), n)
        chance, part = chance_above(limit, fewer, n, p, q), max(self.share * n - fewer, 0.0)
        if part > 0 and fewer < n:
            chance += part * (chance_above(limit, fewer + 1, n, p, q) - chance)
        return chance >= SEEN

    def _limit(self, n: int) -> int:
        return count_threshold(n, self.mechanism.q_star, self._level)

    def _first(self, limit: int) -> int:
        """The smallest number of users that has this limit, or a higher one."""
        from scipy.special import betainc

        if limit == 0:
            return 1
        q, z = self.mechanism.q_star, -NormalDist().inv_cdf(self._level)
        root = (math.sqrt(z * z * (1 - q) + 4 * limit) - z * math.sqrt(1 - q)) / 2  # of n q, for Gaussian noise

        def exceeds(n: int) -> bool:  # whether Pr[Bin(n, q) > limit - 1] is above the level
            return float(betainc(float(limit), float(n - limit + 1), q)) > self._level

        return smallest_true(exceeds, limit, _NO_LIMIT, root * root / q)

    @property
    def _level(self) -> float:
        return BETA / self.mechanism.size

    @cached_property
    def _gaussian_users(self) -> float:
        """The number of users that Gaussian noise would need: where the search starts."""
        variance = self.mechanism.variance(1)
        own = max(variance + self.mechanism.excess_variance * self.share, 0.0)
        significant = significance_threshold(math.sqrt(variance), self.mechanism.size)
        return max(1.0, ((significant + NormalDist().inv_cdf(SEEN) * math.sqrt(own)) / self.share) ** 2)


def checked_target(error: Any, share: Any, up_to: Any = None) -> Target | None:
    """The target that the arguments of `advise` describe, or None without a target."""
    if up_to is not None and error is None:
        raise InvalidInputError("up_to says for which items a target error is meant: give target_error, too")
    if error is None and share is None:
        return None
    largest = 1.0 if up_to is None else share_of(up_to, "up_to")
    return Target(_checked_share("target error", error), _checked_share("smallest share", share), largest)


def percent(share: float) -> str:
    """A share in percent, with three digits.

    >>> percent(0.00123456)
    '0.123%'
    """
    return f"{100 * share:.3g}%"


def _rounded_up(share: float) -> float:
    """The share with three digits, not smaller than it was."""
    return float(f"{share:.2e}") if float(f"{share:.2e}") >= share else float(f"{share * 1.005:.2e}")


def _either(ways: list[str]) -> str:
    """The ways as one phrase, with commas and "or"."""
    return ways[0] if len(ways) == 1 else f"{', '.join(ways[:-1])} or {ways[-1]}"


def _checked_share(name: str, value: Any) -> float | None:
    if value is None:
        return None
    share = share_of(value, f"a {name}")
    if not _LEAST_SHARE <= share < 1:
        raise InvalidInputError(
            f"a {name} is a share of the users below 1 and not below {_LEAST_SHARE:g}, not {value!r:.40}"
        )
    return share
