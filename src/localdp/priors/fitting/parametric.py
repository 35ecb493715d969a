"""Families with a formula, as the paper's four: a smooth mass function with a few parameters theta, and its fit.

    maximize   sum_i log sum_k p_f(k | theta) p_s(fhat_i - k)                                     (Eq. 16)

The maximum is found by L-BFGS with the analytic gradient: the gradient of log p_f, averaged over the posterior of each
item, less its mean under p_f.

The mean-variance method needs E(f). Every user holds one item, so it is known to be n/d. The paper estimates it by the
mean of the estimates instead (Eq. 19); `mean="estimates"` does the same.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from localdp.errors import InvalidInputError
from localdp.kernels.quadrature import EXACT_UP_TO, Quadrature, logarithmic, panels, whole_numbers
from localdp.priors.base import FittedPrior, Prior, frozen_parameters
from localdp.priors.fitting.observations import Observations, Scale
from localdp.types import Vector
from localdp.validation import shown

MEANS = ("known", "estimates")
"""Where the mean-variance method takes E(f) from: n/d, or the mean of the estimates as in the paper."""

FEATURE_REACH = 40.0
"""A prior with a `feature` is covered up to this many widths from its centre."""

_RUNS = 5  # searches for the maximum of the likelihood, each from where the one before ended
_LEAST_GAIN = 1e-7  # a search that gains less for each item was the last one
_EXACT_AROUND = EXACT_UP_TO // 2
_DIFFERENCE = 1e-5  # of a parameter, for derivatives: about the cube root of the rounding error


class ParametricFamily(Prior):
    """A family with a smooth mass function and a parameter vector `theta`, such as a mean and a log deviation.

    A family of your own sets `name`, `parameter_count` and, if frequency 0 has no mass, `first = 1`. It writes
    `log_shape` and `from_moments`. If maximum likelihood must stay within limits, it sets `limits`. The rest has
    defaults: derivatives by differences, parameters without names. The family is fitted by both methods of the paper.

    >>> class Geometric(ParametricFamily):
    ...     name, parameter_count, limits = "geometric", 1, [(1e-6, 20.0)]
    ...
    ...     def log_shape(self, k, theta):
    ...         return -theta[0] * k
    ...
    ...     def from_moments(self, observations):
    ...         return np.array([np.log1p(1 / observations.mean)]), ()
    >>> Geometric().member(np.array([0.5]), n=1000)
    <geometric prior on 0..1000: theta0=0.5; given>
    """

    methods = ("mean-variance", "mle")
    constant_noise = True
    first: ClassVar[int] = 0
    """The smallest frequency that has mass."""
    parameter_count: ClassVar[int]
    """The number of entries of theta."""
    limits: ClassVar[Sequence[tuple[float, float]] | None] = None
    """The smallest and the largest value of each entry of theta in maximum likelihood; None if there are none."""

    def __init__(self, mean: str = "known") -> None:
        if mean not in MEANS:
            raise InvalidInputError(
                f"the mean of the mean-variance method is 'known' (users divided by items) or that of the 'estimates', "
                f"not {shown(mean)}"
            )
        self.mean = mean

    @abstractmethod
    def log_shape(self, k: Vector, theta: Vector) -> Vector:
        """log p_f(k | theta) up to a constant."""

    def gradient(self, k: Vector, theta: Vector) -> Vector:
        """The derivatives of `log_shape`, a column for each parameter. This default takes differences."""
        steps = np.diag(_DIFFERENCE * np.maximum(1.0, np.abs(theta)))
        changes = [self.log_shape(k, theta + step) - self.log_shape(k, theta - step) for step in steps]
        return np.asarray(np.stack(changes, axis=1) / (2 * steps.sum(axis=0)))

    @abstractmethod
    def from_moments(self, observations: Observations) -> tuple[Vector, tuple[str, ...]]:
        """theta by the mean-variance method (Eq. 17 to 20), and notes about what had to be decided.

        `observations.mean` is the mean of the true frequencies, and `observations.spread` their variance, which may be
        0. Maximum likelihood starts its search here.
        """

    def describe(self, theta: Vector) -> dict[str, float]:
        """The parameters under their usual names."""
        return {f"theta{place}": value for place, value in enumerate(theta.tolist())}

    def feature(self, theta: Vector) -> tuple[float, float] | None:  # noqa: ARG002 (families with heavy tails have none)
        """The centre and width of the bulk, if the tails are light; see `FittedPrior.feature`."""
        return None

    def search(self, observations: Observations) -> Search:  # noqa: ARG002 (others depend on them)
        """The coordinates in which maximum likelihood searches, and their limits: theta itself within `limits`."""
        nowhere = (-np.inf, np.inf)
        limits = [nowhere] * self.parameter_count if self.limits is None else list(self.limits)
        return Search(limits, np.ones(self.parameter_count))

    def mean_of(self, observations: Observations) -> tuple[float, tuple[str, ...]]:
        """E(f) for the mean-variance method, and notes about what had to be decided.

        No mean frequency can be below 1/d, one user in all, or above n/2, since there are two items or more.
        """
        if self.mean == "known":
            return observations.mean, ()
        mean = float(observations.estimates.mean())
        possible = float(np.clip(mean, 1 / observations.d, observations.n / 2))
        notes = [
            f"the mean of the estimates, {mean:.6g}, is used as in Eq. 19; the known mean is {observations.mean:.6g}"
        ]
        if mean != possible:
            notes.append(
                f"no frequencies have the mean {mean:.6g}, so the nearest possible one, {possible:.6g}, is used"
            )
        return possible, tuple(notes)

    def fit_observations(self, observations: Observations, method: str) -> FittedPrior:
        theta, notes = self.from_moments(observations)
        if method == "mle" and np.isfinite(observations.noise.variance):
            # What had to be decided about the moments matters no longer: they only say where the search starts.
            theta, notes = self._most_likely(observations, theta), ()
        return self.member(theta, observations.n, method, notes)

    def member(self, theta: Vector, n: int, method: str = "given", notes: tuple[str, ...] = ()) -> ParametricPrior:
        """The distribution with these parameters on 0..n."""
        parameters = frozen_parameters(**self.describe(theta))
        normalizer = log_total(self, theta, n)
        return ParametricPrior(self.name, n, parameters, method, notes, self, theta, normalizer)

    def _most_likely(self, observations: Observations, start: Vector) -> Vector:
        """theta by maximum likelihood, searched from `start` within `limits`; `start` if the search cannot be done."""
        sums = None if self.feature(start) else self._fixed_sums(observations)

        search = self.search(observations)
        clipped = np.clip(search.place(start), [low for low, _ in search.limits], [high for _, high in search.limits])

        def loss(place: Vector) -> tuple[float, Vector]:
            theta = search.theta(place)
            value, gradient = self._log_likelihood(observations, theta, sums or self._moving_sums(observations, theta))
            return -value / observations.d, -(gradient @ search.slopes(place)) / observations.d

        place, least = clipped, np.inf
        for _ in range(_RUNS):  # a run that reaches a limit may stop early, and a second one from there goes on
            found = minimize(loss, place, jac=True, method="L-BFGS-B", bounds=search.limits)
            if not (observations.binned[0].size and found.fun < least - _LEAST_GAIN):
                break
            place, least = np.asarray(found.x), float(found.fun)
        return search.theta(place)

    def _log_likelihood(self, observations: Observations, theta: Vector, sums: _Sums) -> tuple[float, Vector]:
        """The log-likelihood of all estimates (Eq. 16) and its gradient in theta."""
        data_nodes, whole, counts = sums.data_nodes, sums.whole, observations.binned[1]
        shape = self.log_shape(whole.nodes, theta) + np.log(whole.weights)
        normalizer = float(logsumexp(shape))
        mean = np.exp(shape - normalizer) @ self.gradient(whole.nodes, theta)
        joint = sums.likelihood * (np.exp(self.log_shape(data_nodes.nodes, theta) - normalizer) * data_nodes.weights)
        density = joint.sum(axis=1) + 1e-300
        expected = (joint @ self.gradient(data_nodes.nodes, theta)) / density[:, None]
        value = float(counts @ (np.log(density) + sums.row_logs))
        value += float((self.log_shape(observations.tail, theta) - normalizer).sum())
        slope = counts @ expected + self.gradient(observations.tail, theta).sum(axis=0) - observations.d * mean
        return value, slope

    def _fixed_sums(self, observations: Observations) -> _Sums:
        """For heavy tails, nodes that serve every theta."""
        data_nodes = observations.quadrature(self.first)
        return _Sums(data_nodes, *observations.likelihood(data_nodes.nodes), logarithmic(self.first, observations.n))

    def _moving_sums(self, observations: Observations, theta: Vector) -> _Sums:
        """For a narrow bulk, nodes that move with it."""
        data_nodes = mass_quadrature(self, theta, observations.n, observations.panel_scales)
        return _Sums(data_nodes, *observations.likelihood(data_nodes.nodes), data_nodes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.mean == 'known' else f'mean={self.mean!r}'})"


@dataclass(frozen=True, eq=False)
class Search:
    """The coordinates in which maximum likelihood searches: theta divided by its `units`.

    A family for which other coordinates are better overrides the three methods.
    """

    limits: list[tuple[float, float]]
    units: Vector

    def place(self, theta: Vector) -> Vector:
        """The coordinates of theta."""
        return theta / self.units

    def theta(self, place: Vector) -> Vector:
        """theta at these coordinates."""
        return place * self.units

    def slopes(self, place: Vector) -> Vector:  # noqa: ARG002 (they are the same everywhere)
        """The derivatives of theta, a row for each of its entries and a column for each coordinate."""
        return np.diag(self.units)


@dataclass(frozen=True, eq=False)
class _Sums:
    """The nodes and likelihoods that enter the sums of the log-likelihood.

    Sums over the posterior of the binned estimates use `data_nodes`, and the likelihood of each bin there (see
    `Observations.likelihood`). Sums over the prior use the nodes `whole`.
    """

    data_nodes: Quadrature
    likelihood: Vector
    row_logs: Vector
    whole: Quadrature


@dataclass(frozen=True, eq=False, repr=False)
class ParametricPrior(FittedPrior):
    """A member of a parametric family."""

    family: ParametricFamily = field(kw_only=False, default=None)  # type: ignore[assignment]
    theta: Vector = field(default_factory=lambda: np.zeros(0))
    normalizer: float = 0.0

    def log_mass(self, k: Vector) -> Vector:
        return self.family.log_shape(np.asarray(k, np.float64), self.theta) - self.normalizer

    @property
    def first(self) -> int:
        return self.family.first

    @property
    def constant_noise(self) -> bool:
        return self.family.constant_noise

    @property
    def feature(self) -> tuple[float, float] | None:
        return self.family.feature(self.theta)

    @property
    def edges(self) -> Vector:
        return np.array([] if self.feature is None else [self.feature[0]], np.float64)


def mass_quadrature(family: ParametricFamily, theta: Vector, n: int, scales: tuple[Scale, ...] = ()) -> Quadrature:
    """A quadrature for the sum of the mass function over all frequencies.

    A narrow bulk is covered by panels no wider than its width. `scales` are those of the noise, if the summand is the
    mass times the likelihood of an estimate in the core. Panels are then no wider than these deviations either, and
    cover what lies between the bulk and the estimates too: outliers may pull the summand far out of the bulk.
    """
    feature = family.feature(theta)
    if feature is None:
        return logarithmic(family.first, n)
    centre, width = feature
    low, high = (int(np.clip(round(centre + side * FEATURE_REACH * width), family.first, n)) for side in (-1, 1))
    parts = _bulk(low, high, centre, min(width, scales[0][0] if scales else np.inf))
    if scales:
        top = max(high, int(min(scales[-1][1], n)))
        parts += [*_in_scales(family.first, low - 1, scales), *_in_scales(high + 1, top, scales)]
    return Quadrature.join(*parts)


def _in_scales(low: int, high: int, scales: tuple[Scale, ...]) -> list[Quadrature]:
    """Panels for the whole numbers from low to high, of the width of each scale up to where it reaches."""
    parts = []
    for deviation, reach in scales[:-1]:
        stop = int(min(high, reach))
        parts += _covered(low, stop, deviation)
        low = max(low, stop + 1)
    return [*parts, *_covered(low, high, scales[-1][0])]


def _bulk(low: int, high: int, centre: float, widest: float) -> list[Quadrature]:
    """Nodes for the whole numbers from low to high around a centre, in panels of at most this width."""
    if high - low <= 4 * EXACT_UP_TO:
        return [whole_numbers(low, high)]
    # Whole numbers around the centre, where a Laplace distribution has a kink and a geometric one begins.
    middle = round(float(np.clip(centre, low, high)))
    first, last = max(low, middle - _EXACT_AROUND), min(high, middle + _EXACT_AROUND)
    step = max(widest, (high - low) / 2000)
    return [whole_numbers(first, last), *_covered(low, first - 1, step), *_covered(last + 1, high, step)]


def _covered(low: int, high: int, step: float) -> list[Quadrature]:
    """Panels of about this width that stand for the whole numbers from low to high; none if there are no such."""
    if high < low:
        return []
    return [panels(np.linspace(low - 0.5, high + 0.5, 2 + int((high - low + 1) / max(step, 2.0))), 8)]


def log_total(family: ParametricFamily, theta: Vector, n: int) -> float:
    """The logarithm of the sum of the shape over all frequencies: the normalizer of the mass function."""
    everything = mass_quadrature(family, theta, n)
    return float(logsumexp(family.log_shape(everything.nodes, theta) + np.log(everything.weights)))
