r"""The counts of users who opted in, in the form that the paper's families are fitted to.

    c_i ~ Binomial(f_i, m/n),      c_i: how many of the m users who opted in hold item i, which f_i of all n users hold

A family is fitted to the counts as it is fitted to noisy estimates (`localdp.priors.fitting.parametric`), with this
likelihood in place of that of the noise. A count of 400 or more has a deviation of at most 5%, so it is taken as the
exact frequency c n/m.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from localdp.kernels.quadrature import EXACT_UP_TO
from localdp.priors.fitting.noise import CORE_DEVIATIONS, Noise
from localdp.priors.fitting.observations import NOISE_REACH, Observations
from localdp.types import Vector

EXACT_FROM = 400
"""From this count on, a count says the frequency exactly enough."""

_LONGEST_TABLE = 1_000_000  # of logarithms of factorials
_REACH = 10.0  # deviations of a count that the quadrature covers


@dataclass(frozen=True, eq=False)
class SharedCounts(Observations):
    """Counts of opted-in users; as `estimates` they are scaled to all n users.

    >>> shared = SharedCounts.of(np.array([0.0, 3.0, 500.0]), n=50_300)
    >>> shared.binned[0].tolist(), shared.tail.tolist()
    ([0.0, 3.0], [50000.0])
    """

    share: float = field(kw_only=True, default=0.5)
    """m/n, the share of the users who opted in; just below 1 if all did."""

    @classmethod
    def of(cls, counts: Vector, n: int) -> SharedCounts:
        """These counts of users among n."""
        share = float(counts.sum()) / n
        # The deviation of the noise tells families how wide panels may be and how far they must reach: all counts that
        # are not exact lie within so many deviations.
        reach = CORE_DEVIATIONS + NOISE_REACH
        noise = Noise((_most(share) / reach) ** 2)
        return cls(counts / share, noise, n, float(n), share=min(share, 1 - 1e-12))

    @cached_property
    def spread(self) -> float:
        """Var(f): the variance of the counts, less that of the sampling, on the scale of all users."""
        counts = self.estimates * self.share
        return max(0.0, float(np.var(counts) - (1 - self.share) * counts.mean()) / self.share**2)

    @cached_property
    def tail(self) -> Vector:
        """The frequencies that are taken as exact."""
        return np.minimum(np.sort(self.estimates[self._counts >= EXACT_FROM]), float(self.n))

    @cached_property
    def binned(self) -> tuple[Vector, Vector]:
        """The other counts, each once, and how many items have each."""
        values, items = np.unique(self._counts[self._counts < EXACT_FROM], return_counts=True)
        return values, items.astype(np.float64)

    @property
    def _counts(self) -> Vector:
        return np.rint(self.estimates * self.share)

    def _stretches(self) -> tuple[int, Vector]:
        """As fine as the deviation of a count, up to those counts that are taken as exact."""
        exact = min(self.n, EXACT_UP_TO)
        stop = min(self.n + 0.5, _most(self.share))
        if stop <= exact + 0.5:
            return exact, np.zeros(0)
        # The deviation of f given its count is sqrt(f (1-share)/share): even steps in sqrt(f) follow it.
        step = 0.5 * np.sqrt((1 - self.share) / self.share)
        start, end = np.sqrt(exact + 0.5), np.sqrt(stop)
        return exact, np.linspace(start, end, 2 + int((end - start) / max(step, 1e-3))) ** 2

    def likelihood(self, k: Vector) -> tuple[Vector, Vector]:
        """The probability of each of the binned counts (a row) under each frequency k (a column), and a scale."""
        c = self.binned[0][:, None]
        left = np.maximum(k - c, 0.0)
        logs = gammaln(k + 1) - gammaln(c + 1) - _log_factorials(left, k)
        logs = np.where(k >= c, logs + c * np.log(self.share) + left * np.log1p(-self.share), -np.inf)
        largest = logs.max(axis=1, initial=-1e300)
        return np.exp(logs - largest[:, None]), largest


def _most(share: float) -> float:
    """A frequency that hardly ever has a count below `EXACT_FROM`."""
    return (EXACT_FROM + _REACH * float(np.sqrt(EXACT_FROM))) / share


def _log_factorials(left: Vector, k: Vector) -> Vector:
    """The logarithms of the factorials of a matrix; looked up where a column belongs to a small whole number k."""
    whole = (k == np.floor(k)) & (k < _LONGEST_TABLE)
    if not whole.any():
        return np.asarray(gammaln(left + 1))
    table = gammaln(np.arange(k[whole].max() + 1) + 1)
    found = np.empty(left.shape)
    found[:, whole] = table[left[:, whole].astype(np.intp)]
    found[:, ~whole] = gammaln(left[:, ~whole] + 1)
    return found
