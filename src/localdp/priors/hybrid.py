r"""Combine exact counts of users who opted in with private estimates of the others (the hybrid model of Blender).

Of N users, m share their item with the collector, and c_i of them hold item i. The other n = N - m answer privately;
g_i of them hold item i, and their estimate is R_i = g_i + s_i, with noise s_i of variance v + g_i e. Wanted is the
frequency among all of them, f_i = c_i + g_i. Two estimates of g_i are at hand:

    R_i                     with the variance  V_R = v + g_i e,
    n c_i/m                 with the variance  V_P = N n/m pi_i (1 - pi_i),     pi_i = f_i/N.

The second one rests on an assumption: **who opts in does not depend on the item**, so that the m users are a random
sample of all N. V_P is then the variance of N c_i/m - f_i (c_i is hypergeometric; N - 1 is taken as N). The errors of
the two are uncorrelated, because the noise has mean 0 whoever opted in. So the best weights are proportional to the
inverses of the variances (B. Avent and others, BLENDER, USENIX Security 2017, section 4.4):

    fhat_i = c_i + (1 - w) R_i + w n c_i/m,       w = V_R / (V_R + V_P).

V_R and V_P depend on pi_i, which is unknown. Putting c_i/m in its place would make the weight depend on the error that
it is meant to reduce: an item that nobody of the m holds would get V_P = 0 and all the weight, and small frequencies
would be underestimated. Instead, the answer of every opted-in user gets the weight w(x) that the *other* m - 1 imply,
of whom x hold the item. Their answer predicts f_i as x + (n + 1) times 1 or 0. Given the others this is unbiased, and
so is its average over the m users,

    fhat_i = c_i + (1 - w_i) R_i + w(c_i - 1) n c_i/m,       w_i = ( c_i w(c_i - 1) + (m - c_i) w(c_i) ) / m.

In w(x), pi is taken as (x + 1/2)/m. For x = 0 it is N_1/N_0 over m, where N_c is the number of items with the count c:
the mean share of the items that none of the m users hold (I. J. Good, The population frequencies of species, 1953). It
is used if there are at least a hundred such items, so that no single item matters to it.

The weights only decide how noisy fhat_i is, never its mean. Given f, the variance of fhat_i is a sum over the possible
c, which is hypergeometric; it is computed at some frequencies and interpolated. It is
(1 - w(0))^2 v for an item that nobody holds and approaches V_R for frequent items.

For rare items the error is far from Gaussian: most of them are held by no opted-in user, and a few by one or two.
Intervals of such items are therefore approximate, and priors are not fitted to the combined estimates.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import gammaln

from localdp.priors.fitting.noise import NEGLIGIBLE, Noise
from localdp.types import Vector

_POINTS_IN_DECADE = 8  # frequencies at which the variance is computed, for each factor of 10
_REACH = 9.0  # counts of more deviations from their mean than this are left out of the sum

_MANY = 100  # from so many items without an opted-in holder on, their number says something about them
_LEAST_UNSEEN = 0.01


@dataclass(frozen=True, eq=False)
class CombinedNoise(Noise):
    """The noise of combined estimates: its variance, given at some frequencies and interpolated between them.

    `least` is the variance for an item with one opted-in holder on average. For priors and posteriors no variance is
    smaller than that: an item without any opted-in holder may well be that frequent, although its estimate is close
    to 0.
    """

    least: float = 0.0

    frequencies: Vector = field(default_factory=lambda: np.zeros(1))
    variances: Vector = field(default_factory=lambda: np.zeros(1))

    @property
    def is_negligible(self) -> bool:
        """Whether the noise of all items, rare and frequent, is so small that it can be ignored."""
        return bool(self.variances.max() < NEGLIGIBLE**2)

    def variance_at(self, k: Vector) -> Vector:
        return np.asarray(np.interp(k, self.frequencies, self.variances))

    def usable(self, n: int) -> CombinedNoise:
        base = Noise(max(self.variance, self.least)).usable(n).variance
        return replace(self, variance=base, variances=np.clip(self.variances, base, (1e6 * n) ** 2))


@dataclass(frozen=True)
class Hybrid:
    """m users who opted in and n who answered privately with this noise."""

    n: int
    m: int
    noise: Noise
    unseen: float = 0.5
    """The expected number of holders, among the m, of an item that none of m other users hold."""

    @classmethod
    def of(cls, counts: Vector, n: int, noise: Noise) -> Hybrid:
        """The setting in which the opted-in users have these counts."""
        none, once = int((counts == 0).sum()), int((counts == 1).sum())
        unseen = float(np.clip(once / none, _LEAST_UNSEEN, 0.5)) if none >= _MANY else 0.5
        finite = Noise(min(noise.variance, (1e6 * n) ** 2), noise.excess)
        return cls(n, int(counts.sum()), finite, unseen)

    @property
    def total(self) -> int:
        """N, the number of all users."""
        return self.n + self.m

    def weight(self, x: Vector) -> Vector:
        """w(x), the weight of the opted-in users' prediction where x of them hold the item."""
        share = np.clip(np.where(x > 0, x + 0.5, self.unseen) / self.m, 0.0, 1.0)
        private = self.noise.variance_at(self.n * share)
        sampling = self.total * self.n / self.m * share * np.maximum(1 - share, 0.5 / self.m)
        return np.asarray(1 / (1 + sampling / np.maximum(private, 1e-300)))

    def combine(self, counts: Vector, private: Vector) -> Vector:
        """fhat for items with these counts among the m and these private estimates among the n users."""
        before = self.weight(np.maximum(counts - 1, 0))
        return counts + (1 - self._mean_weight(counts)) * private + before * self.n * counts / self.m

    def combined_noise(self) -> CombinedNoise:
        """The noise of the combined estimates."""
        decades = np.log10(self.total)
        spaced = np.logspace(0, decades, 2 + int(_POINTS_IN_DECADE * decades)).round()
        frequencies = np.unique(np.append(0.0, np.minimum(spaced, self.total)))
        variances = np.array([self.variance(float(f)) for f in frequencies])
        least = float(np.interp(self.total / self.m, frequencies, variances))
        return CombinedNoise(float(variances[0]), 0.0, least, frequencies, variances)

    def variance(self, f: float) -> float:
        """Var(fhat) for an item that f of all users hold: the variance over the counts, and the mean over the noise."""
        share = f / self.total
        mean, deviation = self.m * share, np.sqrt(self.m * share * (1 - share) * self.n / self.total)
        least = max(0.0, np.floor(mean - _REACH * deviation - 1), f - self.n)
        c = np.arange(np.ceil(least), min(self.m, f, mean + _REACH * (deviation + 2)) + 1)
        c = c[:: max(1, c.size // 4000)]
        logs = _log_choose(f, c) + _log_choose(self.total - f, self.m - c)
        chances = np.exp(logs - logs.max())
        chances /= chances.sum()
        centres, kept = self.combine(c, f - c), 1 - self._mean_weight(c)
        of_noise = kept**2 * self.noise.variance_at(np.maximum(f - c, 0))
        return float(chances @ of_noise + chances @ (centres - chances @ centres) ** 2)

    def _mean_weight(self, counts: Vector) -> Vector:
        before = self.weight(np.maximum(counts - 1, 0))
        return (counts * before + (self.m - counts) * self.weight(counts)) / self.m


def _log_choose(total: float, part: Vector) -> Vector:
    """The logarithm of "total choose part", for totals between whole numbers too."""
    return np.asarray(gammaln(total + 1) - gammaln(part + 1) - gammaln(np.maximum(total - part, 0) + 1))
