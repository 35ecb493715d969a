r"""What a prior and the noise predict of the estimates: their distribution, and simulated surveys.

    F(x) = Pr(fhat <= x) = sum_k p_f(k) Phi((x - k) / sqrt(Var_k))                               (from Eq. 21)

The frequencies 0..n are divided into cells: a single whole number each where the prior is narrow or the frequency is
small, and about 2% of the frequency wide beyond. Within a cell all whole numbers count as equally likely. Over a cell
from a to b, the average of Phi((x - k)/s) is then (G((x-a)/s) - G((x-b)/s)) s/(b-a), with G(z) = z Phi(z) + phi(z).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from localdp.kernels.quadrature import EXACT_UP_TO, panels
from localdp.priors.base import FittedPrior
from localdp.priors.fitting.noise import Noise
from localdp.priors.fitting.noise_by_item import NoiseByItem
from localdp.priors.fitting.observations_by_item import MOST_CLASSES
from localdp.priors.fitting.parametric import FEATURE_REACH
from localdp.types import Vector

_EXACT = EXACT_UP_TO // 4  # frequencies up to this one are cells of their own
_GROWTH = 0.02  # the width of a cell, as a share of its frequency
_ENTRIES = 1 << 22  # of the matrix of estimates and cells that is held at a time
_CELLS_IN_WIDTH = 32  # cells in the width of a narrow bulk


@dataclass(frozen=True, eq=False)
class Predictive:
    """The distribution of the estimates under a prior and a noise.

    The frequencies `first[j]` to `last[j]` have together the probability `mass[j]`.

    >>> from localdp.priors import Fixed, Observations
    >>> noise = Noise(16.0)
    >>> prior = Fixed([10, 20]).fit(Observations(np.array([9.0, 14.0]), noise, n=30, known_total=None))
    >>> Predictive.of(prior, noise).cdf(np.array([15.0, 30.0])).round(3).tolist()
    [0.5, 0.997]
    """

    first: Vector
    last: Vector
    mass: Vector
    noise: Noise | NoiseByItem

    @classmethod
    def of(cls, prior: FittedPrior, noise: Noise | NoiseByItem) -> Predictive:
        """The distribution under this prior and noise."""
        if prior.atoms is not None:
            k, logs = prior.atoms
            return cls(k, k, np.exp(logs) / np.exp(logs).sum(), noise)
        edges = _edges(prior)
        first, last = edges[:-1] + 0.5, edges[1:] - 0.5
        inside = panels(edges, 2)
        wide = np.exp(prior.log_mass(inside.nodes)) * inside.weights
        mass = np.where(first == last, np.exp(prior.log_mass(first)), wide.reshape(-1, 2).sum(axis=1))
        if prior.first > 0 and np.isfinite(prior.zero):
            first, last, mass = np.append(0.0, first), np.append(0.0, last), np.append(np.exp(prior.zero), mass)
        return cls(first, last, mass / mass.sum(), noise)

    def cdf(self, x: Vector) -> Vector:
        """Pr(fhat <= x) for each x, where an item is chosen at random if their noise differs."""
        return self._averaged(self._cdf_under, x)

    def _cdf_under(self, noise: Noise, x: Vector) -> Vector:
        deviation = np.sqrt(noise.variance_at((self.first + self.last) / 2))
        wide = self.last > self.first
        single = ndtr((x[:, None] - self.first[~wide]) / deviation[~wide]) @ self.mass[~wide]
        a, b, s = self.first[wide] - 0.5, self.last[wide] + 0.5, deviation[wide]
        spread = _integral((x[:, None] - a) / s) - _integral((x[:, None] - b) / s)
        return np.asarray(single + spread @ (self.mass[wide] * s / (b - a)))

    def density(self, x: Vector) -> Vector:
        """p_fhat(x), the density of the estimates at each x (Eq. 21): that of a frequency plus Gaussian noise.

        >>> from localdp.priors import Fixed, Observations
        >>> noise = Noise(16.0)
        >>> prior = Fixed([10]).fit(Observations(np.array([9.0, 14.0]), noise, n=30, known_total=None))
        >>> Predictive.of(prior, noise).density(np.array([10.0])).round(6).tolist()
        [0.099736]
        """
        rows = max(1, _ENTRIES // self.mass.size)
        parts = [self._averaged(self._density_under, x[start : start + rows]) for start in range(0, x.size, rows)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _density_under(self, noise: Noise, x: Vector) -> Vector:
        deviation = np.sqrt(noise.variance_at((self.first + self.last) / 2))
        wide = self.last > self.first
        away = (x[:, None] - self.first[~wide]) / deviation[~wide]
        single = np.exp(-0.5 * away * away) @ (self.mass[~wide] / (deviation[~wide] * np.sqrt(2 * np.pi)))
        a, b, s = self.first[wide] - 0.5, self.last[wide] + 0.5, deviation[wide]
        spread = ndtr((x[:, None] - a) / s) - ndtr((x[:, None] - b) / s)
        return np.asarray(single + spread @ (self.mass[wide] / (b - a)))

    def _averaged(self, function: Callable[[Noise, Vector], Vector], x: Vector) -> Vector:
        """A function of the noise and of x, averaged over all items if their noise differs."""
        if isinstance(self.noise, Noise):
            return function(self.noise, x)
        classes = self.noise.classes(MOST_CLASSES)
        shares = np.array([part.items.size for part in classes]) / self.noise.variances.size
        return np.asarray(shares @ [function(part.noise, x) for part in classes])

    def draw(self, size: int, generator: np.random.Generator) -> tuple[Vector, Vector]:
        """True frequencies of so many items, and their estimates.

        If the noise differs by item and there are as many items as it is given for, each has its own. If there are
        others, they are drawn at random among them.
        """
        total = np.cumsum(self.mass)
        cell = np.minimum(np.searchsorted(total, generator.random(size) * total[-1], side="right"), total.size - 1)
        width = self.last[cell] - self.first[cell] + 1
        frequencies = self.first[cell] + np.floor(generator.random(size) * width)
        if isinstance(self.noise, Noise):
            variances = self.noise.variance_at(frequencies)
        else:
            every = self.noise.variances.size
            items = np.arange(every) if size == every else generator.integers(0, every, size)
            variances = self.noise.variance_of(items, frequencies)
        noise = generator.standard_normal(size) * np.sqrt(variances)
        return frequencies, frequencies + noise


def _edges(prior: FittedPrior) -> Vector:
    """The edges of the cells, halfway between two whole numbers each."""
    low, high = float(prior.first), float(min(prior.largest, prior.n))
    if prior.feature is None:
        small = np.arange(low, min(high, _EXACT) + 1)
        count = 2 + int(np.log(high / _EXACT) / _GROWTH) if high > _EXACT else 0
        growing = np.geomspace(_EXACT, high + 1, count)
        starts = np.concatenate([small, growing, np.floor(prior.edges + 0.5)])
    else:
        centre, width = prior.feature
        low, high = (float(np.clip(round(centre + side * FEATURE_REACH * width), low, high)) for side in (-1, 1))
        even = np.arange(low, high + 1, max(1.0, np.floor(width / _CELLS_IN_WIDTH)))
        starts = np.concatenate([even, np.arange(low, min(high, _EXACT) + 1)])
    starts = np.unique(np.round(starts))
    return np.append(starts[(starts >= low) & (starts <= high)], high + 1) - 0.5


def _integral(z: Vector) -> Vector:
    """The integral of the normal distribution function up to z."""
    return np.asarray(z * ndtr(z) + np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi))
