r"""Noise that differs from item to item: every item has a variance of its own.

    fhat_i = f_i + s_i,     s_i ~ N(0, Var_i + f_i * excess),     f_i ~ p_f,  the same prior for all items

This is the model of `localdp.priors.fitting.noise` with Var_i in the place of Var. The prior does not depend on Var_i:
whether an item is frequent must have nothing to do with how noisy its estimate is. Everything else follows. The
likelihood that priors are fitted to is a product over the items, each with its own noise, and so is the posterior:

    log p(estimates)        =  sum_i log sum_k p_f(k) N(fhat_i; k, Var_i + k * excess)
    Pr(f_i = k | fhat_i)    proportional to    p_f(k) N(fhat_i; k, Var_i + k * excess)

**Classes.** Sums over the prior are shared by all items with the same noise. So items are put into classes, and all
items of a class are given the mean of their variances. If there are only a few different variances, every one of them
is a class, and nothing is approximated. Otherwise the classes are those with the least mean square of

    delta_i = log Var_i - mean of log Var in the class           (Lloyd's algorithm, or k-means in one dimension).

**What the classes cost.** Let frequencies have the variance S around their mean, and let an item's variance be taken as
V (1 + delta) instead of V. The best estimate keeps the share b = S/(S+V) of what was observed; the one computed keeps
about b - b(1-b) delta. Its mean squared error is larger by (b(1-b) delta)^2 (S+V), which is b(1-b) delta^2 times the
least possible error S V/(S+V): at most delta^2/4 of it. `GOOD_ENOUGH` allows a mean square of 0.001, so calibrated
frequencies have errors at most 0.025% above the least ones, with as many classes as this needs and no more than `most`.
With 32 classes, variances whose logarithms scatter with a deviation of 1 (two of them typically differ by a factor of
2.6) lose 0.07%, and with a deviation of 2 they lose 0.28%. Other priors than Gaussian ones are not linear and lose
about twice that: 0.12% of the least error in a test with a power law. Intervals are too long for some items of a class
and too short for others, and their coverage changes by amounts of the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from localdp.priors.fitting.noise import HALF_A_PERSON, NEGLIGIBLE, Noise
from localdp.types import Places, Vector

GOOD_ENOUGH = 1e-3
"""More classes are not made once the mean square of delta is below this."""

_SAME = 9  # digits after the point of a log-variance; variances that agree in them differ by rounding alone
_SAMPLE = 4096  # Lloyd's algorithm looks at so many quantiles of the variances instead of all of them
_STEPS = 100  # of Lloyd's algorithm


@dataclass(frozen=True, eq=False)
class NoiseClass:
    """Items that have the same noise: their indices in ascending order, and the noise."""

    items: Places
    noise: Noise


@dataclass(frozen=True, eq=False)
class NoiseByItem:
    """Gaussian noise with a variance for each item that nobody holds, and what each holder adds (`excess`).

    >>> noise = NoiseByItem(np.array([4.0, 9.0, 4.0, 9.0]))
    >>> [(part.items.tolist(), part.noise.deviation) for part in noise.classes(most=8)]
    [([0, 2], 2.0), ([1, 3], 3.0)]
    """

    variances: Vector
    excess: float = 0.0

    @cached_property
    def deviation(self) -> float:
        """The root of the mean variance of items that nobody holds."""
        return float(np.sqrt(self.variances.mean()))

    @property
    def without_excess(self) -> NoiseByItem:
        """The same noise, if holders add none."""
        return NoiseByItem(self.variances)

    def widened(self, factor: float) -> NoiseByItem:
        """Noise with this many times the variances."""
        return NoiseByItem(self.variances * factor, self.excess * factor)

    def usable(self, n: int) -> NoiseByItem:
        """The same noise, with deviations limited so that sums and logarithms can be computed; see `Noise.usable`."""
        least = HALF_A_PERSON if self.excess > 0 else NEGLIGIBLE
        return NoiseByItem(np.clip(self.variances, least**2, (1e6 * n) ** 2), self.excess)

    def variance_of(self, items: Places | slice, k: Vector) -> Vector:
        """The variances of these items if their true frequencies are k, which may have a row for each item."""
        own = self.variances[items].reshape(-1, *(1,) * (k.ndim - 1))
        return np.maximum(own + self.excess * k, 0.1 * own)

    def classes(self, most: int) -> tuple[NoiseClass, ...]:
        """At most so many classes of items with the same or nearly the same variance, in ascending order of it."""
        place = _places(np.log(self.variances), most)
        found = []
        for number in range(int(place.max()) + 1):
            items = np.flatnonzero(place == number)
            if items.size:
                own = self.variances[items]
                # Rounding could carry the mean of equal numbers away from them.
                variance = float(np.clip(own.mean(), own.min(), own.max()))
                found.append(NoiseClass(items, Noise(variance, self.excess)))
        return tuple(found)


def _places(logs: Vector, most: int) -> Places:
    """For each item the number of its class."""
    values, place = np.unique(np.round(logs, _SAME), return_inverse=True)
    if values.size <= most:
        return place.astype(np.intp)
    sample = np.quantile(logs, (np.arange(_SAMPLE) + 0.5) / _SAMPLE) if logs.size > _SAMPLE else np.sort(logs)
    count, bounds = 1, np.zeros(0)
    while count < most:
        count = min(2 * count, most)
        bounds, lost = _least_squares(sample, count)
        if lost < GOOD_ENOUGH:
            break
    return np.searchsorted(bounds, logs)


def _least_squares(ascending: Vector, count: int) -> tuple[Vector, float]:
    """The bounds between this many classes of numbers, and the mean squared distance to the mean of the class."""
    centres = np.unique(np.quantile(ascending, (np.arange(count) + 0.5) / count))
    for _ in range(_STEPS):
        place = np.searchsorted((centres[1:] + centres[:-1]) / 2, ascending)
        sizes = np.bincount(place, minlength=centres.size)
        moved = np.where(sizes > 0, np.bincount(place, ascending, centres.size) / np.maximum(sizes, 1), centres)
        settled = np.allclose(moved, centres, rtol=0, atol=1e-6)
        centres = moved
        if settled:
            break
    bounds = (centres[1:] + centres[:-1]) / 2
    return bounds, float(np.mean((ascending - centres[np.searchsorted(bounds, ascending)]) ** 2))
