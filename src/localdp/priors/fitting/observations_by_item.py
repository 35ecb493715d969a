"""Estimates with noise that differs by item, in the form that priors are fitted to.

    log p(estimates)  =  sum over classes c  sum over items i in c  log sum_k p_f(k) N(fhat_i; k, Var_c)

`localdp.priors.fitting.noise_by_item` derives this and says what the classes cost. Priors see one `Observations`: the
binned estimates of all classes one below the other, each with the likelihood of its own noise.

**A ladder of scales.** Where the variances differ by much, the core of the noisiest class (its first 40 deviations)
reaches far beyond the core of the most exact one. Sums as fine as the least noise, over a range as long as the largest
noise needs, would have far too many terms. So an estimate x whose deviation is much less than x/40 is blurred: noise is
added to it, up to a deviation of at most x/40. The deviations of the classes are the rungs of a ladder, with further
rungs in between so that each is at most twice the one before. An estimate beyond the core of its class goes to the
highest rung that has a core below it. Sums are then as fine as the lowest rung near zero and coarser further up: their
number of terms grows with the logarithm of the ratio between the largest and the smallest deviation.

Blurring loses a little, and it adds no bias: x plus noise of the variance Var' - Var_i is an estimate with noise of the
variance Var'. No random number is drawn. The log-likelihood is averaged over the added noise, by Gauss-Hermite
quadrature: the estimate counts as several points around it, with weights that add up to 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from localdp.priors.fitting.noise import Noise
from localdp.priors.fitting.noise_by_item import NoiseByItem, NoiseClass
from localdp.priors.fitting.observations import Observations, Scale, on_grid
from localdp.types import Vector

MOST_CLASSES = 8
"""Priors are fitted with at most so many classes. Fewer than for posteriors: a prior depends on all items together."""

_BLURRED = 9  # points that a blurred estimate is replaced by
_LONGEST_STEP = 2.0  # the ratio of the deviations of neighbouring rungs, at most


@dataclass(frozen=True, eq=False)
class _Rung(Observations):
    """The estimates that are binned with the same noise, all of them at most `top`.

    `missing` has the variance that each of them lacks, which blurring adds.
    """

    top: float = field(kw_only=True, default=np.inf)
    missing: Vector = field(kw_only=True, default_factory=lambda: np.zeros(0))

    @property
    def cut(self) -> float:
        return self.top

    @cached_property
    def binned(self) -> tuple[Vector, Vector]:
        sharp = self.missing > 0
        around, weights = np.polynomial.hermite_e.hermegauss(_BLURRED)
        blurred = self.estimates[sharp, None] + np.sqrt(self.missing[sharp, None]) * around
        points = np.concatenate([self.estimates[~sharp], blurred.ravel()])
        ones = np.ones(self.estimates.size - blurred.shape[0])
        shares = np.tile(weights / weights.sum(), blurred.shape[0])
        return on_grid(points, self.noise, np.concatenate([ones, shares]))


@dataclass(frozen=True, eq=False)
class ObservationsByItem(Observations):
    """Estimates of d items, each with its own variance.

    `noise` is Gaussian noise with the harmonic mean of the variances: so much do many items together say about the
    place of a level. Use `observations_of` to make one.

    >>> by_item = NoiseByItem(np.array([16.0, 16.0, 1600.0, 1600.0]))
    >>> seen = observations_of(np.array([9.5, 800.0, -2.0, 800.0]), by_item, n=2000, total=None)
    >>> seen.cut, seen.tail.tolist(), round(seen.noise.variance, 2)
    (1600.0, [], 31.68)
    >>> [round(deviation, 2) for deviation, _ in seen.scales]
    [4.0, 12.65, 40.0]
    """

    by_item: NoiseByItem = field(kw_only=True, default=None)  # type: ignore[assignment]

    @cached_property
    def _classes(self) -> tuple[NoiseClass, ...]:
        return self.by_item.classes(MOST_CLASSES)

    @cached_property
    def _rungs(self) -> tuple[_Rung, ...]:
        """Rungs that have estimates, in ascending order of their noise."""
        deviations = _ladder([part.noise.deviation for part in self._classes])
        noises = [Noise(deviation**2, self.noise.excess) for deviation in deviations]
        cores = np.array([noise.core for noise in noises])
        rung = np.empty(self.d, np.intp)
        for part in self._classes:
            own = int(np.argmin(np.abs(deviations - part.noise.deviation)))
            noises[own] = part.noise  # the very same number, without a root and a square in between
            rung[part.items] = own
        higher = np.maximum(rung, np.searchsorted(cores, self.estimates) - 1)
        rung_variances = np.array([noise.variance for noise in noises])
        missing = np.where(higher > rung, rung_variances[higher] - self.by_item.variances, 0.0)
        tops = np.append(cores[1:], cores[-1])
        found = []
        for number, noise in enumerate(noises):
            members = np.flatnonzero((higher == number) & (self.estimates <= self.cut))
            if members.size:
                top, lacks = float(tops[number]), missing[members]
                found.append(_Rung(self.estimates[members], noise, self.n, None, top=top, missing=lacks))
        return tuple(found)

    @property
    def cut(self) -> float:
        return self._classes[-1].noise.core

    @cached_property
    def scales(self) -> tuple[Scale, ...]:
        found = tuple((rung.noise.deviation, rung.reach) for rung in self._rungs)
        return found or ((self.noise.deviation, self.cut),)

    @property
    def panel_scales(self) -> tuple[Scale, ...]:
        return self.scales

    @property
    def reach(self) -> float:
        return self.scales[-1][1]

    @property
    def tail_variance(self) -> float:
        far = np.flatnonzero(self.estimates > self.cut)
        held = np.minimum(self.estimates[far], float(self.n))
        return float(self.by_item.variance_of(far, held).sum())

    @property
    def total_variance(self) -> float:
        if self.known_total is not None:
            return 0.0
        return float(self.by_item.variances.sum()) + self.total * self.noise.excess

    @cached_property
    def spread(self) -> float:
        """Var(f), by Eq. 18 with the mean variance of the noise."""
        everything = np.arange(self.d)
        noise = float(self.by_item.variance_of(everything, np.full(self.d, max(self.mean, 0.0))).mean())
        return max(0.0, float(np.var(self.estimates)) - noise)

    def count_above(self, deviations: float) -> int:
        return int(np.count_nonzero(self.estimates > deviations * np.sqrt(self.by_item.variances)))

    @cached_property
    def binned(self) -> tuple[Vector, Vector]:
        """The binned estimates of all rungs, one rung after the other."""
        parts = [rung.binned for rung in self._rungs]
        if not parts:
            return np.zeros(0), np.zeros(0)
        return np.concatenate([points for points, _ in parts]), np.concatenate([counts for _, counts in parts])

    @property
    def _core_scales(self) -> tuple[Scale, ...]:
        return self.scales

    def likelihood(self, k: Vector) -> tuple[Vector, Vector]:
        parts = [rung.likelihood(k) for rung in self._rungs]
        if not parts:
            return np.zeros((0, k.size)), np.zeros(0)
        return np.concatenate([rows for rows, _ in parts]), np.concatenate([logs for _, logs in parts])


def observations_of(estimates: Vector, noise: Noise | NoiseByItem, n: int, total: float | None) -> Observations:
    """Observations that can be computed with, as `Observations.usable`, for noise that may differ by item."""
    if isinstance(noise, Noise):
        return Observations.usable(estimates, noise, n, total)
    usable = noise.usable(n)
    classes = usable.classes(MOST_CLASSES)
    if len(classes) == 1:
        return Observations.usable(estimates, classes[0].noise, n, total)
    reach = 1e3 * np.sqrt(usable.variances)
    clipped = np.clip(estimates, -reach, n + reach)
    together = Noise(float(1 / np.mean(1 / usable.variances)), noise.excess)
    return ObservationsByItem(clipped, together, n, total, by_item=usable)


def _ladder(deviations: list[float]) -> Vector:
    """The deviations in ascending order, with others in between so that each is at most twice the one before."""
    rungs = [deviations[0]]
    for deviation in deviations[1:]:
        steps = int(np.ceil(np.log(deviation / rungs[-1]) / np.log(_LONGEST_STEP) - 1e-9))
        rungs += np.geomspace(rungs[-1], deviation, max(steps, 1) + 1)[1:].tolist()
    return np.array(rungs)
