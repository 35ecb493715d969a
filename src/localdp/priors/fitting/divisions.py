r"""Few items and a known total: the exact posterior over all ways to divide the users among the items.

    Pr(f_1, .., f_d | estimates)   proportional to   prod_i g(f_i) p_s(fhat_i - f_i),       f_1 + .. + f_d = total

g is the weight of one frequency, the same for all items. Each frequency is rounded to a lattice with six points to a
deviation of the noise (or to whole numbers, if those are coarser), and only points within eight deviations of the
estimate are kept. The sum of independent numbers has the convolution of their distributions, so what the other items
leave for item i is a convolution of all others, computed by Fourier transforms. Before that, all distributions are
tilted by exp(t k), with the t that makes the sum of the means the total: a tilt is the same factor for all divisions,
and it keeps the probabilities that are needed far above the rounding errors of the transforms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from localdp.priors.fitting.noise import Noise
from localdp.types import Places, Vector

_PER_DEVIATION = 6  # points of the lattice
_PER_MEAN = 16  # points up to the mean frequency, since a prior may be narrower than the noise
_REACH = 8.0  # deviations around an estimate
_MOST_POINTS = 1 << 16  # of all items together
_WHOLE_RANGE = 2048  # points if the estimates contradict the total, so that every frequency must be possible
_NEWTON = 60  # steps towards the tilt
_FAR = 1e3  # totals; an estimate farther away says no more
_STEEPEST = 50.0  # the tilt of neighbouring points, at most
_RELIABLE = 1e-9  # transforms are exact to 1e-15, so smaller probabilities of the total are not computed with
_NOTHING = -1e300
_CHERNOFF, _UNSEEN = np.array([1.0, 2.0, 4.0, 8.0]), 40.0  # slopes over 1/deviation; probabilities below exp(-40)


@dataclass(frozen=True, eq=False)
class Lattice:
    """The frequencies that each item may have, a row for each item, and the log-likelihoods of its estimate there.

    Frequencies are multiples of `step`; `first` is the number of the first one of each item. Rows are filled up with
    log-likelihoods of minus infinity, nearly. The items hold `points` steps altogether.
    """

    step: float
    points: int
    first: Places
    log_likelihood: Vector

    @classmethod
    def of(cls, noises: Sequence[Noise], estimates: Vector, total: float) -> Lattice:
        """The lattice for items with these estimates; `noises` has the noise of each."""
        centres = np.clip(estimates, 0.0, total)
        estimates = np.clip(estimates, -_FAR * total, _FAR * total)
        deviations = np.array([noise.deviation_at(float(x)) for noise, x in zip(noises, centres, strict=True)])
        finest = min(deviations.min() / _PER_DEVIATION, total / estimates.size / _PER_MEAN)
        widest = np.minimum(2 * _REACH * deviations, total).sum()
        finest = max(finest, widest / _MOST_POINTS, 1.0)
        points = max(1, int(total / min(finest, total)))
        step = total / points
        first = np.floor(np.maximum(centres - _REACH * deviations, 0.0) / step).astype(np.intp)
        last = np.minimum(np.ceil((centres + _REACH * deviations) / step), points).astype(np.intp)
        if first.sum() > points or last.sum() < points:
            points = int(min(total, _WHOLE_RANGE))
            step, first, last = total / points, np.zeros_like(first), np.full_like(last, points)
        logs = np.full((estimates.size, int((last - first).max()) + 1), _NOTHING)
        for row, (noise, x, low, high) in enumerate(zip(noises, estimates, first, last, strict=True)):
            k = step * np.arange(low, high + 1)
            own = noise.log_likelihood(np.array([max(x, noise.lowest)]), k)[0]
            logs[row, : own.size] = own
        return cls(step, points, first, logs)

    @property
    def frequencies(self) -> Vector:
        """Every frequency of every item, a row for each item."""
        return np.asarray(self.step * (self.first[:, None] + np.arange(self.log_likelihood.shape[1])), np.float64)

    def divided(self, log_weight: Callable[[Vector], Vector]) -> Divided:
        """The posterior over all divisions; `log_weight` gives log g(k), times `step`, at any frequencies."""
        logs = np.maximum(self.log_likelihood + log_weight(self.frequencies), _NOTHING)
        tops = logs.max(axis=1)
        logs -= tops[:, None]
        wanted = self.points - int(self.first.sum())
        tilt, masses, log_sums = _tilted(logs, float(wanted))
        longest = int((self.log_likelihood > _NOTHING).sum()) + 1
        size = next_fast_len(min(longest, max(_long_enough(masses), wanted + 1)), real=True)
        own = rfft(masses, size, axis=1)
        others = irfft(_products_of_others(own), size, axis=1)
        places = wanted - np.arange(masses.shape[1])
        left = np.where((places >= 0) & (places < size), others[:, np.clip(places, 0, size - 1)], 0.0)
        joint = masses * np.maximum(left, 0.0)
        sums = joint.sum(axis=1, keepdims=True)
        seen = float(np.median(sums))
        evidence = np.log(seen) + float((log_sums + tops).sum()) - tilt * wanted if seen > _RELIABLE else -np.inf
        away = np.arange(masses.shape[1])
        means = masses @ away
        variances = np.maximum(masses @ away**2 - means**2, 1e-12) * self.step**2
        return Divided(evidence, joint / np.maximum(sums, 1e-300), variances)


@dataclass(frozen=True, eq=False)
class Divided:
    """The log-evidence, the posterior of every item in a row, and the variances before the total was known.

    The log-evidence is minus infinity if the estimates contradict the total so much that nothing can be computed.
    """

    log_evidence: float
    rows: Vector
    variances: Vector

    def covariance(self) -> Vector:
        """The covariance of the frequencies, to first order: the total makes what one item has another's loss."""
        v = self.variances
        return np.asarray(np.diag(v) - np.outer(v, v) / v.sum())


def _tilted(logs: Vector, wanted: float) -> tuple[float, Vector, Vector]:
    """The tilt that makes the sum of the means what is wanted, the tilted distributions, each adding up to 1, and the
    logarithms of what they added up to before.
    """
    numbers = np.arange(logs.shape[1])
    tilt, low, high = 0.0, -_STEEPEST, _STEEPEST  # the sum of the means grows with the tilt
    for _ in range(_NEWTON):
        masses, log_sums = _normalised(logs + tilt * numbers)
        means = masses @ numbers
        missing = wanted - float(means.sum())
        variance = max(float((masses @ numbers**2 - means**2).sum()), 1e-12)
        if abs(missing) < 0.1 * np.sqrt(variance):
            break
        low, high = (tilt, high) if missing > 0 else (low, tilt)
        tilt += missing / variance
        if not low < tilt < high:
            tilt = (low + high) / 2
    return tilt, masses, log_sums


def _normalised(logs: Vector) -> tuple[Vector, Vector]:
    """Each row's distribution, and the logarithm of what it added up to."""
    tops = logs.max(axis=1)
    masses = np.exp(logs - tops[:, None])
    sums = masses.sum(axis=1)
    return masses / sums[:, None], np.log(sums) + tops


def _long_enough(masses: Vector) -> int:
    """A number that the sum over all rows exceeds with a negligible probability, by Chernoff's bound.

    Transforms of this length fold what is beyond it back to the beginning, where it does not matter.
    """
    numbers = np.arange(masses.shape[1])
    means = masses @ numbers
    deviation = np.sqrt(max(float((masses @ numbers**2 - means**2).sum()), 1.0))
    with np.errstate(divide="ignore"):
        logs = np.log(masses)
    slopes = _CHERNOFF / deviation
    bounds = [float(_normalised(logs + slope * numbers)[1].sum() + _UNSEEN) / slope for slope in slopes]
    return int(min(bounds)) + 1


def _products_of_others(transforms: Vector) -> Vector:
    """For each row, the product of all other rows."""
    before, after = np.ones_like(transforms), np.ones_like(transforms)
    before[1:] = np.cumprod(transforms[:-1], axis=0)
    after[:-1] = np.cumprod(transforms[:0:-1], axis=0)[::-1]
    return np.asarray(before * after)
