r"""The last estimates: what all rounds together say about the values that are left.

Several groups have counted a whole value, each other users, so their estimates are independent and unbiased. They
are combined with weights 1/V (the variances are in `belief`). The belief from before the first of these rounds, which
holds what the prefixes of the value told, is the prior; its posterior gives the frequency (its mean), the
intervals and the chance to belong to the true top k, from simulated worlds.

Of texts, the prefixes tell only whether a value is held at all; if it is, every order of magnitude of its share is as
likely as any other. That a prefix has more users than the value would otherwise pull the estimates of those values down
behind whose prefixes there is nobody else, by half a standard error.

The list holds at most k values: those with the largest chances p_1, p_2, .. to belong to the true top k, as many as
give the largest expected F-score, which for m of them is 2 (p_1 + .. + p_m) / (m + k). Where nothing stands out, that
alone would list whatever is left, since a small chance is better than none. So a value is listed only if it is held
with probability `HELD`: if its share is not just that of the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from localdp.discovery.belief import RATIO, Grid, Matrix
from localdp.discovery.history import History
from localdp.result import Result
from localdp.table import Table
from localdp.types import Places, Vector
from localdp.validation import checked_level

HELD = 0.75
"""How probable it must be that somebody holds a value that is listed."""
_REACH = 8.0  # standard errors on either side that a posterior covers
_POINTS = 241
_WORLDS = 2_000
_CONTENDERS = 400  # values that take part in the simulated worlds


@dataclass(frozen=True, eq=False)
class Posterior:
    """The law of the share of each value: masses at points, both with a row for each value."""

    points: Matrix
    masses: Matrix

    @property
    def held(self) -> Vector:
        """The probability that each share is not 0, or so small that it cannot be told from 0."""
        return 1 - self.masses[:, 0]

    @property
    def means(self) -> Vector:
        """The expected shares."""
        return np.asarray((self.points * self.masses).sum(axis=1))

    def quantiles(self, level: float) -> Vector:
        """For each value, the smallest point that its share does not exceed with this probability."""
        place = np.minimum((np.cumsum(self.masses, axis=1) < level).sum(axis=1), self.points.shape[1] - 1)
        return np.asarray(self.points[np.arange(len(self.points)), place])

    def take(self, places: Places) -> Posterior:
        """Those of some of the values."""
        return Posterior(self.points[places], self.masses[places])

    def in_top(self, k: int) -> Vector:
        """For each value, the probability that it is among the k largest shares of these values."""
        rng = np.random.default_rng(0)  # seeded, because the same question must have the same answer
        order = np.argsort(-self.means, kind="stable")[:_CONTENDERS]
        cumulative = np.cumsum(self.masses[order], axis=1)
        drawn = np.empty((order.size, _WORLDS))
        for row, levels in enumerate(rng.random((order.size, _WORLDS))):
            place = np.minimum(np.searchsorted(cumulative[row], levels), self.points.shape[1] - 1)
            drawn[row] = self.points[order[row], place]
        limit = np.partition(drawn, -k, axis=0)[-k] if order.size > k else np.zeros(_WORLDS)
        chances = np.zeros(len(self.points))
        chances[order] = ((drawn >= limit) & (drawn > 0)).mean(axis=1)
        return chances


def posterior_of(history: History, grid: Grid, *, alike: bool) -> Posterior:
    """What is known about the share of each candidate; all of them must be finished. `alike` is that of the code."""
    centre, variance = _pooled(history)
    deviation = np.sqrt(variance)
    steps = np.linspace(-_REACH, _REACH, _POINTS)
    points = np.clip(centre[:, None] + deviation[:, None] * steps, 0.0, 1.0)
    priors = history.beliefs_before_whole(grid)
    if alike:
        priors[:, 1:] = (1 - priors[:, :1]) / (grid.size - 1)
    log_weights = _log_density(grid, priors, points) - steps**2 / 2
    log_weights[(points <= grid.edges[0]) | (points >= 1.0)] = -np.inf
    # What lies below the grid is one atom at 0, and half of what the grid has at 1 is an atom there, because everybody
    # may hold the same value. Their masses are compared with the density times the distance of points.
    distance = np.log(deviation * (steps[1] - steps[0]))
    with np.errstate(divide="ignore"):
        nobody = np.log(priors[:, 0]) - centre**2 / (2 * variance) - distance
        everybody = np.log(priors[:, -1] / 2) - (1 - centre) ** 2 / (2 * variance) - distance
    logs = np.column_stack([nobody, log_weights, everybody])
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    ends = np.zeros(len(points)), np.ones(len(points))
    return Posterior(np.column_stack([ends[0], points, ends[1]]), weights / weights.sum(axis=1, keepdims=True))


def listed(chances: Vector, held: Vector, means: Vector, k: int) -> Places:
    """The places of the values that are listed, the largest mean first; `held` says how surely anybody holds them."""
    likeliest = np.lexsort((-means, -chances))[:k]
    likeliest = likeliest[held[likeliest] >= HELD]
    count = np.arange(1, likeliest.size + 1)
    scores = np.cumsum(chances[likeliest]) / (count + k)
    chosen = likeliest[: int(np.argmax(scores)) + 1] if likeliest.size else likeliest
    return chosen[np.argsort(-means[chosen], kind="stable")]


def _pooled(history: History) -> tuple[Vector, Vector]:
    """The combined estimate of each candidate over the rounds that counted the whole value, and its variance."""
    numbers = np.arange(len(history.rounds))
    counted = numbers >= history.since[:, None]
    users = np.array([measured.noise.users for measured in history.rounds], np.float64)
    rough = np.clip((history.estimates * counted * users).sum(axis=1) / (counted * users).sum(axis=1), 0, 1)
    precision = counted / np.column_stack([measured.noise.at(rough) for measured in history.rounds])
    total = precision.sum(axis=1)
    return np.asarray((history.estimates * precision).sum(axis=1) / total), np.asarray(1 / total)


def _log_density(grid: Grid, priors: Matrix, points: Matrix) -> Matrix:
    """The log-density of beliefs at any shares: linear between the shares of the grid, on both logarithmic scales."""
    widths = np.diff(grid.edges)
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(priors[:, 1:] / widths), -700.0)
        place = np.clip(np.log(np.maximum(points, 1e-300) / grid.shares[1]) / math.log(RATIO), 0, widths.size - 1.001)
    left = place.astype(np.int64)
    weight = place - left
    row = np.arange(len(points))[:, None]
    return np.asarray(logs[row, left] * (1 - weight) + logs[row, left + 1] * weight)


@dataclass(frozen=True, eq=False, repr=False)
class Found(Result):
    """The values that were found, the most frequent first. It prints as a table and iterates over the values.

    `frequencies` are numbers of users among all n, `probabilities` the chances to belong to the true top k.
    `interval(level)` gives (low, high): the true frequency lies between them with this probability. `notes` says what
    else there is to know, such as prefixes of texts that were too long to be finished.
    """

    items: list[str | int]
    frequencies: Vector
    probabilities: Vector
    n: int
    epsilon: float
    notes: tuple[str, ...] = ()
    posterior: Posterior = field(kw_only=True)

    def interval(self, level: float = 0.9) -> tuple[Vector, Vector]:
        """For every value, the range (low, high) that contains the true frequency with this probability."""
        outside = (1 - checked_level(level)) / 2
        return self.posterior.quantiles(outside) * self.n, self.posterior.quantiles(1 - outside) * self.n

    def table(self) -> Table:
        """Values, frequencies, intervals of 90% and chances to belong to the true top, as a table."""
        low, high = self.interval()
        columns = {
            "item": self.items,
            "frequency": self.frequencies,
            "share": self.frequencies / self.n,
            "low": low,
            "high": high,
            "probability": self.probabilities,
        }
        count = f"{len(self):,} value{'' if len(self) == 1 else 's'}"
        title = f"{count} found among {self.n:,} users, epsilon {self.epsilon:.6g}, intervals of 90%"
        return Table(columns, title, {"share": ".2%", "probability": ".3f"})
