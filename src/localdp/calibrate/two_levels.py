r"""The two-level prior: items belong to classes, and every class has a level of popularity of its own.

The exchangeable prior p knows how many items are how frequent, but not which. If items are sorted into classes (the
members of a group and all others), frequent items may be more common in one class than in another. The chance that an
item of frequency k belongs to class c is then a function of k:

    Pr(class c | k)  =  s_c exp(a_c b.phi(k)) / sum_c' s_c' exp(a_c' b.phi(k))
    p_c(k)  proportional to  p(k) Pr(class c | k)

s_c is the share of the items in class c, a_c runs from 0 for the first class to 1 for the last, and phi has two
functions of log(k + sigma/4): itself and its square, both standardized under p. With b = 0 no class differs from
another; for two classes this is a logistic regression of the class on the frequency. The estimates of every class say
what b is:

    log p(estimates | b)  =  sum over classes c and items i of c  log sum_k p_c(k) p_s(fhat_i - k)

b is Gaussian beforehand, with deviation 0 (the classes are alike), 1/2 or 2, and the three are averaged by their
marginal likelihoods (Laplace's approximation). Given b, frequencies are independent. The doubt about b adds the square
of the slope of a sum in b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from localdp.priors.fitting.noise import Noise
from localdp.priors.fitting.observations import NOISE_REACH, Grid
from localdp.types import Flags, Places, Vector

SCALES, SCALE_WEIGHTS = (0.0, 0.5, 2.0), (0.4, 0.3, 0.3)
"""The deviations that b may have, and their weights before anything is seen."""

_HIDDEN = 0.25  # deviations of the noise that are added to a frequency before its logarithm is taken
_FARTHEST_SQUARE = 3.0  # deviations; limits the second function of phi, which a heavy tail would make huge
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Block:
    """Items that have the same noise: their estimates, classes and weights in the sum, and the nodes of their prior."""

    noise: Noise
    estimates: Vector
    classes: Places
    weights: Vector
    k: Vector
    log_weights: Vector

    @cached_property
    def variances(self) -> Vector:
        """The variance of the noise of every item, if its frequency is what it is estimated to be."""
        return self.noise.variance_at(np.maximum(self.estimates, 0.0))

    @cached_property
    def far(self) -> Flags:
        """Which items stand so far out of the noise that no prior matters to them."""
        return self.estimates > self.noise.core


@dataclass(frozen=True, eq=False)
class Sums:
    """The mean and the covariance of two sums: of weight times frequency, and of all frequencies."""

    mean: Vector
    covariance: Vector

    def given(self, total: float, farthest: float) -> tuple[float, float]:
        """The mean and the variance of the weighted sum, once the sum of all frequencies is known."""
        (own, shared), everything = self.covariance[0], max(float(self.covariance[1, 1]), _TINY)
        limit = farthest * np.sqrt(everything)
        missing = float(np.clip(total - self.mean[1], -limit, limit))
        return float(self.mean[0] + shared / everything * missing), float(own - shared**2 / everything)


@dataclass(frozen=True, eq=False)
class _Cell:
    """The core items of one class and block: the likelihood of their binned estimates, and what is summed over them."""

    number: int
    likelihood: Vector
    counts: Vector
    weighted: Vector
    squared: Vector


class TwoLevels:
    """The two-level prior of items in these blocks, and what it says about a weighted sum of their frequencies."""

    def __init__(self, blocks: Sequence[Block], classes: int) -> None:
        self._blocks = blocks
        numbers = np.concatenate([block.classes for block in blocks])
        self._log_shares = np.log(np.bincount(numbers, minlength=classes) / numbers.size)
        self._tilts = np.arange(classes) / max(classes - 1, 1)
        self._priors, self._phis, self._nodes = [], [], []
        finest = min(block.noise.deviation for block in blocks)
        standardize = _Standard.of(blocks[0], finest)
        for block in blocks:
            reach = float(np.max(block.estimates[~block.far], initial=0.0))
            used = block.k <= max(reach, 0.0) + NOISE_REACH * block.noise.deviation_at(reach) + 1
            log_prior = block.log_weights[used] - logsumexp(block.log_weights[used])
            self._priors.append(np.exp(log_prior))
            self._nodes.append(block.k[used])
            self._phis.append(standardize(block.k[used]))
        self._cells = [_cells(block, k, classes) for block, k in zip(blocks, self._nodes, strict=True)]

    def sums(self) -> tuple[Vector, list[Sums]]:
        """The two sums under each of `SCALES`, and the probabilities of the scales."""
        logs, found, start = [], [], np.zeros(2)
        for scale, weight in zip(SCALES, SCALE_WEIGHTS, strict=True):
            if scale == 0 or self._tilts.size == 1:
                logs.append(np.log(weight) + self._value(np.zeros(2), np.inf)[0])
                found.append(Sums(*self._sums_at(np.zeros(2))))
                continue
            start, log_evidence, axes = self._mode(start, scale)
            mean, covariance = self._sums_at(start)
            slopes = np.array([(self._sums_at(start + axis)[0] - self._sums_at(start - axis)[0]) / 2 for axis in axes])
            logs.append(np.log(weight) + log_evidence)
            found.append(Sums(mean, covariance + slopes.T @ slopes))
        return np.exp(np.array(logs) - logsumexp(logs)), found

    def _mode(self, start: Vector, scale: float) -> tuple[Vector, float, Vector]:
        """The most likely b, the logarithm of the marginal likelihood, and the axes of the doubt about b."""

        def loss(b: Vector) -> tuple[float, Vector]:
            value, slope = self._value(b, scale)
            return -value, -slope

        found = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-2, "maxiter": 40})
        b, step = np.asarray(found.x), 1e-3
        turned = [loss(b + step * axis)[1] - loss(b - step * axis)[1] for axis in np.eye(2)]
        curvature = np.array(turned) / (2 * step)
        values, directions = np.linalg.eigh((curvature + curvature.T) / 2)
        values = np.maximum(values, scale**-2)  # the prior of b alone has this curvature
        # The prior of the two parts of b has the density 1 / (2 pi scale^2) at 0; Laplace's 2 pi cancels that one.
        log_evidence = -float(found.fun) - 0.5 * float(np.log(values).sum()) - 2 * np.log(scale)
        return b, log_evidence, (directions / np.sqrt(values)).T

    def _chances(self, phi: Vector, b: Vector) -> Vector:
        """Pr(class | k), a row for each class and a column for each k."""
        logs = self._log_shares[:, None] + self._tilts[:, None] * (phi @ b)
        return np.asarray(np.exp(logs - logsumexp(logs, axis=0)))

    def _value(self, b: Vector, scale: float) -> tuple[float, Vector]:
        """log p(estimates, b) and its slope in b."""
        value, slope = -0.5 * float(b @ b) / scale**2, -b / scale**2
        for prior, phi, cells in zip(self._priors, self._phis, self._cells, strict=True):
            chances = self._chances(phi, b)
            usual = self._tilts @ chances
            for cell in cells:
                masses = prior * chances[cell.number]
                whole, items = masses.sum(), cell.counts.sum()
                density = cell.likelihood @ masses + _TINY
                value += float(cell.counts @ np.log(density) - items * np.log(whole))
                held = (cell.counts / density) @ cell.likelihood * masses - items * masses / whole
                slope = slope + (held * (self._tilts[cell.number] - usual)) @ phi
        return value, slope

    def _sums_at(self, b: Vector) -> tuple[Vector, Vector]:
        """The mean and the covariance of the two sums, if b is known."""
        mean, covariance = np.zeros(2), np.zeros((2, 2))
        for block, k, prior, phi, cells in zip(
            self._blocks, self._nodes, self._priors, self._phis, self._cells, strict=True
        ):
            chances = self._chances(phi, b)
            for cell in cells:
                masses = prior * chances[cell.number]
                density = cell.likelihood @ masses + _TINY
                means = cell.likelihood @ (masses * k) / density
                variances = np.maximum(cell.likelihood @ (masses * k**2) / density - means**2, 0.0)
                mean += [cell.weighted @ means, cell.counts @ means]
                shared = cell.weighted @ variances
                covariance += [[cell.squared @ variances, shared], [shared, cell.counts @ variances]]
            far, own = block.weights[block.far], block.variances[block.far]
            mean += [far @ block.estimates[block.far], block.estimates[block.far].sum()]
            covariance += [[far**2 @ own, far @ own], [far @ own, own.sum()]]
        return mean, covariance


@dataclass(frozen=True)
class _Standard:
    """phi: two functions of log(k + shift), standardized."""

    shift: float
    mean: float
    deviation: float
    slope: float
    spread: float

    @classmethod
    def of(cls, block: Block, deviation: float) -> _Standard:
        prior = np.exp(block.log_weights - logsumexp(block.log_weights))
        shift = max(_HIDDEN * deviation, 0.5)
        logs = np.log(block.k + shift)
        mean = float(prior @ logs)
        scale = max(float(np.sqrt(prior @ (logs - mean) ** 2)), 1e-6)
        u = (logs - mean) / scale
        slope = float(prior @ u**3)
        square = u**2 - 1 - slope * u
        return cls(shift, mean, scale, slope, max(float(np.sqrt(prior @ square**2)), 1e-6))

    def __call__(self, k: Vector) -> Vector:
        u = (np.log(k + self.shift) - self.mean) / self.deviation
        square = (u**2 - 1 - self.slope * u) / self.spread
        return np.column_stack([u, np.clip(square, -_FARTHEST_SQUARE, _FARTHEST_SQUARE)])


def _cells(block: Block, k: Vector, classes: int) -> list[_Cell]:
    """The core of a block by class; classes without core items are left out."""
    found = []
    for number in range(classes):
        chosen = (block.classes == number) & ~block.far
        if not chosen.any():
            continue
        weights, grid = block.weights[chosen], Grid.of(block.estimates[chosen], block.noise)
        logs = block.noise.log_likelihood(grid.points, k)
        likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
        sums = (grid.counts(values) for values in (np.ones(weights.size), weights, weights**2))
        found.append(_Cell(number, likelihood, *sums))
    return found
