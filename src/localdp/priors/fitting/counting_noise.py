r"""The exact distribution of the noise of a pure mechanism: that of a count of reports.

A report supports an item with probability p* if its user holds the item, and with probability q* otherwise. Users are
independent, so the number c of reports that support an item with k holders among n users is

    c = Bin(k, p*) + Bin(n - k, q*),        and the estimate is   x = (c - n q*) / (p* - q*).

Its mean and variance are those of the Gaussian noise of the paper. Its tails are not where n q* is small, or where so
many items are searched that even a one-in-a-million tail matters.

**The formula.** The saddlepoint approximation (H. Daniels, Saddlepoint Approximations in Statistics, 1954) of this
distribution has the cumulant generating function K(t) = k log(1 - p + p e^t) + (n - k) log(1 - q + q e^t):

    log Pr(c | k)  ~  K(t) - t c - 1/2 log(2 pi K''(t)),        where t solves K'(t) = c.

With y = e^t the equation is quadratic, so there is no iteration:

    p q (n - c) y^2  +  (k p (1-q) + (n-k) q (1-p) - c (p (1-q) + q (1-p))) y  -  c (1-p) (1-q)  =  0.

What it neglects is nearly the same for all k (it is Stirling's error of c! and (n-c)!), so posteriors are
right to a few parts in a thousand even where n q* is 2; tests compare them with the sum over both binomials.

Where n q* is below 0.1, hardly any report supports an item by chance. The formula fails there, because c can be no
larger than k by much. The number of these reports is then a Poisson number, and the sum over it has few terms.

**Estimates that add up to n by themselves**, as those of grr do, are d numbers that say no more than d - 1 do. To use
them one by one and then the total as well would count one of them twice. So each is given the share 1 - 1/d of its
log-likelihood, which widens the noise by 1/(1 - 1/d). With two items this is exact: one count determines the other, and
half of the information comes from each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from scipy.special import gammaln

from localdp.priors.fitting.noise import Noise
from localdp.types import Vector

NOTICEABLE = 0.05
"""The exact law is used if it changes the log-likelihood of the most extreme of d estimates by more than this."""

_FEW_BY_CHANCE = 0.1  # below this mean number of reports that support an item by chance, their number is summed over
_MOST_BY_CHANCE = 7  # so many are practically impossible then
_BLOCK = 1 << 14  # numbers handled together, so that they stay in the cache


@dataclass(frozen=True)
class CountingNoise(Noise):
    """The noise of an estimate that is a count of reports among `users`, which support items by `p` and `q`.

    >>> noise = CountingNoise.of(users=1000, p=0.5, q=0.0025)
    >>> noise.spacing
    2.0100502512562812
    """

    users: int = 0
    p: float = 1.0
    q: float = 0.0
    share: float = 1.0
    """The share of the log-likelihood that counts."""

    @classmethod
    def of(cls, users: int, p: float, q: float) -> CountingNoise:
        """The noise of a pure mechanism with these p* and q*."""
        gap = p - q
        return cls(users * q * (1 - q) / gap**2, (1 - p - q) / gap, users, p, q)

    @property
    def spacing(self) -> float:
        return 1 / (self.p - self.q)

    @property
    def lowest(self) -> float:
        return -self.users * self.q / (self.p - self.q)  # no report supports the item

    def widened(self, factor: float) -> CountingNoise:
        wide = super().widened(factor)
        return replace(self, variance=wide.variance, excess=wide.excess, share=self.share / factor)

    def matters(self, items: int) -> bool:
        """Whether the tails of this noise differ from Gaussian ones among this many items."""
        spread = self.users * self.q * (1 - self.q)
        if self.p >= 1:
            return False  # all holders support their item, which the formula cannot express
        if spread <= 0:
            return True
        extreme = max(2.0, -NormalDist().inv_cdf(min(0.5 / items, 0.4)))
        # The Edgeworth expansion: z deviations away, the log-density differs by skewness * z^3 / 6.
        return bool((1 - 2 * self.q) / spread**0.5 * extreme**3 / 6 > NOTICEABLE)

    def log_likelihood(self, estimates: Vector, k: Vector) -> Vector:
        counts = np.clip(estimates * (self.p - self.q) + self.users * self.q, 0.0, float(self.users))
        held = np.minimum(k, float(self.users))
        logs = np.empty((counts.size, held.shape[-1]))
        formula = _few_by_chance if self.users * self.q < _FEW_BY_CHANCE else _saddlepoint
        rows = max(1, _BLOCK // max(held.shape[-1], 1))
        for start in range(0, counts.size, rows):
            part = slice(start, start + rows)
            own = held if held.ndim == 1 else held[part]
            logs[part] = formula(counts[part, None], own, float(self.users), self.p, self.q)
        logs *= self.share
        return logs


def _saddlepoint(c: Vector, k: Vector, n: float, p: float, q: float) -> Vector:
    """The formula above, less what it is for k = 0 at small counts: a column of counts c, a row of frequencies k."""
    cross, both_out = p * (1 - q) + q * (1 - p), (1 - p) * (1 - q)
    square = p * q * (n - c)
    linear = (k * (p * (1 - q)) + (n - k) * (q * (1 - p))) - c * cross
    root = np.sqrt(linear * linear + square * c * (4 * both_out))
    with np.errstate(divide="ignore", invalid="ignore"):
        # Of the two ways to write the root of the equation, the one that subtracts no nearly equal numbers.
        y = np.where(linear > 0, (2 * both_out) * c / (linear + root), (root - linear) / (2 * square))
        mine, theirs = (1 - p) + p * y, (1 - q) + q * y
        logs = k * np.log(mine)
        logs += (n - k) * np.log(theirs)
        logs -= np.where(c > 0, c * np.log(y), 0.0)
        # K'' over c: it is 1 at c = 0, where K'' itself is 0 for every k.
        curvature = (k * (p * (1 - p)) / (mine * mine) + (n - k) * (q * (1 - q)) / (theirs * theirs)) * y
        logs -= 0.5 * np.log(np.where(c > 0, curvature / np.maximum(c, 1e-300), 1.0))
    # If all reports support the item, y is infinite; the probability is p^k q^(n-k).
    return np.where(c < n, logs, k * np.log(p) + (n - k) * np.log(q))


def _few_by_chance(c: Vector, k: Vector, n: float, p: float, q: float) -> Vector:
    """The same where n q is small: a sum over the number of reports that support the item by chance."""
    log_mean = np.log(max(n * q, 1e-30))
    more = np.maximum(c - k, 0.0)  # so many at least, even if all holders support the item
    logs = np.where(more < _MOST_BY_CHANCE, -np.inf, k * np.log(p) + more * log_mean - gammaln(more + 1))
    for chance in range(_MOST_BY_CHANCE):
        own = c - chance
        possible = (own > -1) & (k - own > -1)
        own, rest = np.where(possible, own, 0.0), np.where(possible, k - own, 0.0)
        term = gammaln(k + 1) - gammaln(own + 1) - gammaln(rest + 1) + own * np.log(p) + rest * np.log1p(-p)
        logs = np.where(possible, np.logaddexp(logs, term + chance * log_mean - gammaln(chance + 1.0)), logs)
    return np.asarray(logs)
