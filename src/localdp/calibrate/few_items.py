"""The posterior of few items with a known total: the exact one over all ways to divide the users among them.

`localdp.priors.divisions` has the prior, and `localdp.priors.fitting.divisions` the sums over all divisions. Whichever
kind of division is true, it is true for all items at once: posteriors are averaged over the kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from localdp.calibrate import cumulative
from localdp.calibrate.base import AnyPosterior, Quantity
from localdp.calibrate.sums import combined
from localdp.frozen import Frozen
from localdp.priors.divisions import DivisionsPrior
from localdp.priors.fitting.divisions import Lattice
from localdp.priors.fitting.noise import Noise
from localdp.types import Places, Vector

DOUBT = 0.4
"""Deviations of the noise: an interval reaches at least so far from 0 and from the total, since no estimate can tell an
item that nobody holds from one with a few holders."""


class FewItems(Frozen, AnyPosterior):
    """The posteriors of few items with these noises and estimates, whose frequencies add up to the total.

    They are `reliable` unless the estimates contradict the total so much that nothing can be computed.
    """

    def __init__(self, prior: DivisionsPrior, noises: Sequence[Noise], estimates: Vector, total: float) -> None:
        self.prior, self.estimates, self._total, self._noises = prior, estimates, total, tuple(noises)
        lattice = Lattice.of(noises, estimates, total)
        self._step, self._k = lattice.step, lattice.frequencies
        found = [lattice.divided(partial(weights.on_lattice, step=lattice.step)) for weights in prior.kinds]
        self.reliable = all(np.isfinite(one.log_evidence) for one in found)
        self._rows = np.tensordot(prior.chances, np.array([one.rows for one in found]), 1)
        centres = np.array([(one.rows * self._k).sum(axis=1) for one in found])
        away = centres - prior.chances @ centres
        within = np.tensordot(prior.chances, np.array([one.covariance() for one in found]), 1)
        self._covariance = within + (prior.chances[:, None] * away).T @ away
        # A point between whole numbers stands for a stretch: half of its probability lies beyond it.
        between = self._k != np.floor(self._k)
        self._cumulative = np.cumsum(self._rows, axis=1) - np.where(between, 0.5 * self._rows, 0.0)
        self._freeze()

    def means(self) -> Vector:
        return np.asarray((self._rows * self._k).sum(axis=1))

    def deviations(self) -> Vector:
        away = self._k - self.means()[:, None]
        return np.asarray(np.sqrt((self._rows * away**2).sum(axis=1)))

    def probability_above(self, limit: int) -> Vector:
        above = np.clip((self._k - limit - 0.5) / self._step + 0.5, 0.0, 1.0)
        single = (self._k == 0) | (self._k >= self._total) | (self._step <= 1)
        above = np.where(single, self._k > limit + 0.25, above)
        return np.asarray(np.clip((self._rows * above).sum(axis=1), 0.0, 1.0))

    def shortest_intervals(self, level: float) -> tuple[Vector, Vector]:
        pairs = self._read(lambda total, k: cumulative.shortest_interval(total, k, level))
        low, high = np.floor(np.maximum(pairs[:, 0], 0.0) + cumulative.SLACK), np.ceil(pairs[:, 1] - cumulative.SLACK)
        doubt = DOUBT * np.array([noise.deviation for noise in self._noises])
        high = np.clip(np.maximum(high, np.ceil(doubt)), 0.0, float(self.prior.n))
        low = np.maximum(np.minimum(low, np.floor(self._total - doubt)), 0.0)
        return np.where(low <= 1, 0.0, low), high + 0.0

    def quantiles(self, level: float) -> Vector:
        found = self._read(lambda total, k: (cumulative.quantile(total, k, level),))[:, 0]
        return np.ceil(found - cumulative.SLACK) + 0.0

    def quantiles_of(self, items: Places, levels: Vector) -> Vector:
        found = np.empty(levels.size)
        for item in np.unique(items).tolist():
            asked = items == item
            found[asked] = cumulative.quantiles(self._cumulative[item], self._k[item], levels[asked])
        return np.clip(np.rint(found), 0.0, float(self.prior.n))

    def linear(self, weights: Vector, level: float) -> Quantity:
        variances = np.array(
            [noise.deviation_at(float(x)) ** 2 for noise, x in zip(self._noises, self.estimates, strict=True)]
        )
        shared, everything = float(weights @ variances), float(variances.sum())
        raw = float(weights @ self.estimates) + shared / everything * (self._total - float(self.estimates.sum()))
        raw_variance = float(weights**2 @ variances) - shared**2 / everything
        if raw_variance <= 1e-12 * everything:  # all weights are equal
            return Quantity(raw, raw, raw, level)
        return combined(
            float(weights @ self.means()), float(weights @ self._covariance @ weights), raw, raw_variance, level
        )

    def _read(self, read: Callable[[Vector, Vector], tuple[float, ...]]) -> Vector:
        """What `read(total, k)` reads off the cumulative posterior of each item, a row for each."""
        return np.array([read(total, k) for total, k in zip(self._cumulative, self._k, strict=True)])
