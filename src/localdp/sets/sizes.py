r"""How large people's sets are, learnt from a small group, and the set size that a round should have.

Users of the group report the class of their set's size: 0, 1, 2, .. for small sets, ranges for larger ones. The
estimated shares r_s of the sizes give, for every set size m, the share of all holdings that a round with it sees:

    seen(m) = sum_s r_s min(s, m) / sum_s r_s s,

because every holding of a set with s > m items counts as m/s. The largest classes weigh most in the sums, and mostly
hold nothing but noise: one of a dozen that is two standard errors above 0 by chance may double the mean size. So beyond
the last class whose share is four standard errors above 0, shares are taken to fall. The estimates that fall and are
nearest to theirs are averages over runs of neighbouring classes (isotonic regression), and runs at the end are left out
whose average is below two standard errors of its own. The rest is projected (norm-sub). Where little is known, large
sets are thus overlooked, seen(m) is too large and the estimates are too low. Its error counts the first four classes
that were left out, too, and with twice the error: they were left out because their shares were below that. With the
variances v_s of the shares, it is

    Var(seen(m)) = sum_s v_s (min(s, m) - seen(m) s)^2 / (sum_s r_s s)^2.

**To find items**, what counts is how far their estimates stand out of the noise. The estimate of an item grows with
seen(m), and the noise with the deviation of the mechanism, so that its error is deviation(m) / seen(m), in users. A
small m is the least noisy, but items whose holders have large sets are then overlooked. So m has the least error for
items that are 1.5 of these errors (at their least, e) above nothing: (1.5 e bias(m))^2 + (deviation(m) / seen(m))^2,
where bias(m) = (1 - seen(m)) / 2: half of what is not seen may belong to other items than it is divided among.

**To count items**, estimates are divided by seen(m), so that they are right on average over the items. An item whose
holders have larger sets than others' is still counted too low, and m must not be too small. The m with the least
(f bias(m))^2 + Var(m) / seen(m)^2 is taken, where f is the frequency of the last item that is wanted, and Var(m) the
variance of the estimate of such an item (with what its holders add: few of them draw it if m is large). The relative
error of the correction, which intervals know, is

    doubt(m)^2 = bias(m)^2 + Var(seen(m)) / seen(m)^2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import isotonic_regression

from localdp.errors import EpsilonError
from localdp.estimate import Estimate
from localdp.mechanisms import create
from localdp.types import Indices, Vector

_SMALLEST = (0, 1, 2, 3, 4, 5, 6, 8, 11, 15, 21, 31, 51, 101, 201)
"""The smallest size of each class."""
_SET_SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
_SURE, _LIKELY, _STANDS_OUT = 4.0, 2.0, 1.5  # standard errors
_IN_DOUBT = 4  # classes beyond the last that is sure, which may hold users as well
_LARGEST_MEAN = 1.5
"""The last class is taken to end at this many times its smallest size, for want of anything better."""


@dataclass(frozen=True)
class SizeClasses:
    """Classes of sizes, each from its smallest size up to the next; the last has no end.

    >>> SizeClasses.up_to(10).smallest
    (0, 1, 2, 3, 4, 5, 6, 8)
    >>> SizeClasses.up_to(10).of(np.array([0, 7, 900])).tolist()
    [0, 6, 7]
    """

    smallest: tuple[int, ...]

    @classmethod
    def up_to(cls, most: int) -> SizeClasses:
        """The classes for sets out of this many items. There are two at least."""
        return cls(tuple(size for size in _SMALLEST if size <= max(1, most)))

    def labels(self, what: str) -> list[str]:
        """The classes in words.

        >>> SizeClasses((0, 1, 6, 8)).labels("items")
        ['0 items', '1 to 5 items', '6 to 7 items', '8 items or more']
        """
        ranges = zip(self.smallest, (*self.smallest[1:], None), strict=True)
        return [
            f"{low} {what} or more" if end is None else f"{low}{'' if end == low + 1 else f' to {end - 1}'} {what}"
            for low, end in ranges
        ]

    def of(self, sizes: Indices) -> Indices:
        """The class of each size."""
        return np.searchsorted(np.array(self.smallest), sizes, side="right") - 1

    @property
    def typical(self) -> Vector:
        """The size that stands for each class: the middle of its range."""
        ends = np.append(np.array(self.smallest[1:]) - 1, _LARGEST_MEAN * self.smallest[-1])
        return np.asarray((np.array(self.smallest) + np.maximum(ends, self.smallest)) / 2)

    def law(self, estimate: Estimate) -> SizeLaw:
        """The shares of the sizes, from the estimated number of users in each class."""
        shares, error = estimate.frequencies / estimate.n, estimate.std_error / estimate.n
        kept = 1 + max(1, int(np.flatnonzero(shares > _SURE * error).max(initial=0)))
        if kept < shares.size:
            falling = isotonic_regression(shares[kept:], increasing=False)
            ends, sizes = falling.blocks[1:], np.diff(falling.blocks)
            likely = ends[falling.x[ends - 1] > _LIKELY * error / np.sqrt(sizes)]
            shares[kept:], kept = falling.x, kept + int(likely.max(initial=0))
        some = Estimate(shares[:kept] * estimate.n, n=estimate.n, variance=estimate.std_error**2)
        law = np.zeros(min(shares.size, kept + _IN_DOUBT))
        law[:kept] = np.asarray(some.project("norm-sub").frequencies) / estimate.n
        errors = np.where(np.arange(law.size) < kept, error, _LIKELY * error)
        return SizeLaw(self.typical[: law.size], law, errors)


@dataclass(frozen=True, eq=False)
class SizeLaw:
    """The share of the users whose set has each of these sizes, and the standard error of each share."""

    sizes: Vector
    shares: Vector
    errors: float | Vector

    @property
    def mean(self) -> float:
        """The mean size of a set."""
        return float(self.shares @ self.sizes)

    def seen(self, set_size: int) -> float:
        """The share of all holdings that a round with this set size sees."""
        every = self.mean
        return float(self.shares @ np.minimum(self.sizes, set_size)) / every if every > 0 else 1.0

    def doubt(self, set_size: int) -> float:
        """The relative error of estimates that are divided by `seen`."""
        seen, every = self.seen(set_size), self.mean
        if every <= 0 or seen <= 0:
            return 1.0
        weights = np.minimum(self.sizes, set_size) - seen * self.sizes
        return math.hypot(self.bias(set_size), float(np.linalg.norm(self.errors * weights)) / every / seen)

    def bias(self, set_size: int) -> float:
        """The relative error that items with unusual holders have: half of what is not seen."""
        return (1 - self.seen(set_size)) / 2

    def to_find(self, items: int, epsilon: float) -> int:
        """The set size with which items that just stand out of the noise are found best."""
        offered = list(_offered(items, epsilon))
        errors = {m: math.sqrt(_noise(items, epsilon, m)[0]) / max(self.seen(m), 1e-9) for m in offered}
        stands_out = _STANDS_OUT * min(errors.values())
        return min(offered, key=lambda m: math.hypot(stands_out * self.bias(m), errors[m]))

    def to_count(self, items: int, epsilon: float, users: int, share: float) -> int:
        """The set size with the least expected error of an item that this share of the users hold."""

        def error(m: int) -> float:
            seen, (variance, excess) = max(self.seen(m), 1e-9), _noise(items, epsilon, m)
            return (users * share * self.bias(m)) ** 2 + users * (variance + share * seen * excess) / seen**2

        return min(_offered(items, epsilon), key=error)


def _offered(items: int, epsilon: float) -> Iterator[int]:
    """The set sizes that can be taken: there is a mechanism, and no set is larger than all items."""
    yield 1
    for size in _SET_SIZES[1:]:
        if size > items:
            return
        try:
            _noise(items, epsilon, size)
        except EpsilonError:
            return
        yield size


@cache
def _noise(items: int, epsilon: float, set_size: int) -> tuple[float, float]:
    """The variance for each user, and what each holder adds, of the mechanism of a plan with this set size."""
    mechanism = create("auto", items, epsilon, set_size=set_size).mechanism
    return mechanism.variance(1), mechanism.excess_variance
