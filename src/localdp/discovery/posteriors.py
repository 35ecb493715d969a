r"""What all rounds together say about the values that are left, about known ones, and about beginnings.

Several groups have counted a whole value, each other users, so their estimates are unbiased. They are combined with
weights that are proportional to 1/V_g(s), where

    V_g(s) = ( v + s x + s (1 - s) ) / n_g        (see `belief`),

and the combined estimate of the share among all n users has the variance

    V = 1 / (sum of 1/V_g)  -  s (1 - s) / n.

The last part is there because the groups are disjoint parts of the n users: if one of them has too many holders by
chance, the others have too few. The belief from before the first of these rounds, which
holds what the prefixes of the value told, is the prior; its posterior gives the frequency (its mean), the
intervals and, by `ranks`, the chance to belong to the true top k.

Of texts, the prefixes tell only whether a value is held at all; if it is, every order of magnitude of its share is as
likely as any other. That a prefix has more users than the value would otherwise pull the estimates of those values down
behind whose prefixes there is nobody else, by half a standard error. The same holds for beginnings of values.
But where all rounds have shown that hardly two texts begin alike, as with hexadecimal digits (theta is at most
`_ALONE`), the estimates of the prefixes tell which values are the largest, as they do with keys. Which values are
listed is decided by that; all of them are pulled down alike.

Values that were known beforehand are counted by all rounds. If they are many, Calibrate learns from all their estimates
how their shares are distributed (the `smooth` prior).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from localdp.discovery.belief import RATIO, Grid, Matrix
from localdp.discovery.history import History
from localdp.estimate import Estimate
from localdp.types import Places, Vector

_REACH = 8.0  # standard errors on either side that a posterior covers
_POINTS = 241
_ALONE = 0.1  # theta, up to which a prefix stands for one value
_MANY = 50  # known values from which on their prior is learnt


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

    @property
    def variances(self) -> Vector:
        """The variances of the shares."""
        return np.asarray(((self.points - self.means[:, None]) ** 2 * self.masses).sum(axis=1))

    def quantiles(self, level: float) -> Vector:
        """For each value, the smallest point that its share does not exceed with this probability."""
        place = np.minimum((np.cumsum(self.masses, axis=1) < level).sum(axis=1), self.points.shape[1] - 1)
        return np.asarray(self.points[np.arange(len(self.points)), place])

    def take(self, places: Places) -> Posterior:
        """Those of some of the values."""
        return Posterior(self.points[places], self.masses[places])


NOTHING = Posterior(np.zeros((0, 1)), np.zeros((0, 1)))
"""The posterior of no values."""


@dataclass(frozen=True)
class Beginning:
    """The beginning of values that were not found whole: its text, the estimate of its share, and the variance."""

    text: str
    estimate: float
    variance: float

    @property
    def is_measured(self) -> bool:
        """Whether there is an estimate: states that were saved by early versions have none."""
        return not math.isnan(self.estimate)

    def with_more(self, other: Beginning | None) -> Beginning:
        """This and another one, of other users, whose texts are equal."""
        if other is None:
            return self
        return Beginning(self.text, self.estimate + other.estimate, self.variance + other.variance)

    def document(self) -> Any:
        """It as a JSON value."""
        return [self.text, self.estimate, self.variance] if self.is_measured else self.text

    @classmethod
    def from_document(cls, document: Any) -> Beginning:
        """What such a JSON value describes."""
        return cls(document, math.nan, math.nan) if isinstance(document, str) else cls(*document)


def posterior_of(history: History, grid: Grid, *, alike: bool, ranks: bool = False) -> Posterior:
    """What is known about the share of each candidate; all of them must be finished. `alike` is that of the code.

    For `ranks`, the prefixes of values that stand alone count as the values.
    """
    centre, variance = _pooled(history)
    priors = history.beliefs_before_whole(grid)
    if alike:
        shared = ~history.alone(_ALONE) if ranks else np.ones(len(priors), np.bool_)
        priors[shared] = _any_size(priors[shared, 0], grid)
    return _posterior(centre, variance, priors, grid)


def posterior_of_known(history: History, grid: Grid) -> Posterior:
    """What is known about the share of each value that was known beforehand."""
    centre, variance = history.known, _of_all(history, np.clip(history.known, 0, 1))
    if centre.size < _MANY:
        priors = _any_size(np.full(centre.size, 0.5), grid)
    else:
        users = history.users
        estimate = Estimate(centre * users, n=users, variance=variance * users**2, total=None)
        priors = np.tile(grid.prior(estimate.calibrate("smooth").prior, users), (centre.size, 1))
    return _posterior(centre, variance, priors, grid)


def posterior_of_beginnings(beginnings: tuple[Beginning, ...], grid: Grid) -> Posterior:
    """What is known about the share of each beginning. All of them are surely held."""
    centre = np.array([one.estimate for one in beginnings], np.float64)
    variance = np.array([one.variance for one in beginnings], np.float64)
    return _posterior(centre, variance, _any_size(np.full(centre.size, 1e-9), grid), grid)


def together(parts: list[Posterior]) -> Posterior:
    """The posteriors of several lists of values, one after the other."""
    points, masses = (np.concatenate([getattr(one, name) for one in parts]) for name in ("points", "masses"))
    return Posterior(points, masses)


def _any_size(nobody: Vector, grid: Grid) -> Matrix:
    """Priors under which every order of magnitude is as likely as any other, and nobody holds a value so probably."""
    held = np.tile(((1 - nobody) / (grid.size - 1))[:, None], (1, grid.size - 1))
    return np.column_stack([nobody, held])


def _posterior(centre: Vector, variance: Vector, priors: Matrix, grid: Grid) -> Posterior:
    deviation = np.sqrt(variance)
    steps = np.linspace(-_REACH, _REACH, _POINTS)
    points = np.clip(centre[:, None] + deviation[:, None] * steps, 0.0, 1.0)
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


def _pooled(history: History) -> tuple[Vector, Vector]:
    """The combined estimate of each candidate over the rounds that counted the whole value, and its variance."""
    numbers = np.arange(len(history.rounds))
    counted = numbers >= history.since[:, None]
    users = np.array([measured.noise.users for measured in history.rounds], np.float64)
    rough = np.clip((history.estimates * counted * users).sum(axis=1) / (counted * users).sum(axis=1), 0, 1)
    precision = counted / np.column_stack([measured.noise.at(rough) for measured in history.rounds])
    weights = precision / precision.sum(axis=1, keepdims=True)
    variance = 1 / precision.sum(axis=1) - rough * (1 - rough) / users.sum()
    return np.asarray((history.estimates * weights).sum(axis=1)), np.asarray(variance)


def _of_all(history: History, shares: Vector) -> Vector:
    """The variance of estimates that weigh all rounds by their users."""
    noises = [measured.noise for measured in history.rounds]
    return np.asarray(sum(noise.users**2 * noise.of_reports(shares) for noise in noises) / history.users**2)


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
