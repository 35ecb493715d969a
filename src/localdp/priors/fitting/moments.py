r"""Solve the mean-variance equations (Eq. 17 and 18) for a location and a scale, on whole numbers from 0 to n.

    sum_k k p(k | theta) = mean,      sum_k (k - mean)^2 p(k | theta) = variance,      theta = (location, log scale)

The paper's Gaussian and Laplace distributions have mass on the frequencies 0..n alone. Cutting off what lies below 0
raises the mean and lowers the variance, so the location and the scale are not simply the mean and the deviation: they
have to be solved for. Newton's method does it: the derivatives of the two moments are covariances,

    d E[g] / d theta_j = Cov(g, d log p / d theta_j).

Should its steps not converge, two nested one-dimensional searches find the solution more slowly: for a fixed scale the
mean increases with the location, and along the members with the right mean the variance increases with the scale.

There is not always a solution. Both families are log-concave, and among the log-concave distributions on 0..n with a
given mean of at most n/2 the one with the largest variance is geometric, p(k) proportional to exp(-k/g); its variance
is mean + mean^2 where n is much larger than the mean. It is a Laplace distribution at location 0, and the limit of
Gaussians with locations far below 0. Frequencies that vary more get this member. A scale below `NARROWEST` is not used
either, except where only a smaller one has the right mean.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from localdp.priors.fitting.observations import Observations
from localdp.priors.fitting.parametric import ParametricFamily, Search, mass_quadrature
from localdp.types import Vector

NARROWEST = 0.5
"""The smallest scale: a narrower distribution has all its mass on one or two whole numbers."""

WIDEST = 1000.0
"""The largest scale of a Gaussian, in scales of the geometric distribution with the same mean.

Its variance is then within 1e-5 of that of the geometric distribution.
"""

_NARROW = 1.0  # a smaller variance may be less than that of the narrowest member
_STEPS = 60  # of Newton's method at most
_SHORTEST = 1e-6  # the shortest part of a step that is tried
_CONVERGED = 1e-11  # the relative error of the moments where Newton's method stops
_GOOD_ENOUGH = 1e-9  # .. and where rounding stops it


def moments(family: ParametricFamily, theta: Vector, n: int) -> tuple[float, float]:
    """The mean and the variance of the member of the family with these parameters."""
    k, mass = _masses(family, theta, n)
    mean = float(mass @ k)
    return mean, float(mass @ (k - mean) ** 2)


def match_moments(
    family: ParametricFamily,
    search: Search,
    geometric: Callable[[float], Vector],
    mean: float,
    variance: float,
    n: int,
) -> tuple[Vector, tuple[str, ...]]:
    """theta of the member with this mean and variance, or of the nearest one, and a note if it is not the wanted one.

    The mean must be positive and at most n/2.

    `search` has coordinates in which Newton's method does well. `geometric(g)` is theta of the member that is geometric
    with scale g, or nearly so.
    """
    widest = geometric(geometric_scale(family, geometric, mean, n))
    largest = moments(family, widest, n)[1]
    if variance >= largest:
        note = (
            f"the frequencies vary more than any {family.name} distribution on 0..n with the mean {mean:.4g} does "
            f"(their variance is {variance:.4g}, the largest possible one {largest:.4g}), so the one with the largest "
            "variance is used, which falls geometrically from 0"
        )
        return widest, (note,)
    if widest[1] <= np.log(NARROWEST):
        return widest, ()
    if variance < _NARROW:
        narrowest = _member(family, float(np.log(NARROWEST)), mean, n)
        if variance <= moments(family, narrowest, n)[1]:
            note = "the estimates vary no more than their noise, so the frequencies are taken to be equal"
            return narrowest, (note,)
    found = _newton(family, search, mean, variance, n)
    return _bisected(family, mean, variance, n, float(widest[1])) if found is None else found, ()


def narrowest_visible(observations: Observations) -> float:
    """The smallest scale that maximum likelihood tries: a fiftieth of the noise, since a smaller one looks the same.

    It is no larger than the mean, because distributions on 0..n with a larger scale have a larger mean too.
    """
    return max(NARROWEST, min(0.02 * observations.noise.deviation, observations.mean))


def geometric_scale(family: ParametricFamily, geometric: Callable[[float], Vector], mean: float, n: int) -> float:
    """The scale g of the geometric distribution on 0..n with this mean."""

    def off(log_scale: float) -> float:
        return moments(family, geometric(float(np.exp(log_scale))), n)[0] / mean - 1

    low = -float(np.log(np.log1p(1 / mean)))  # the scale if n were infinite
    high = max(low, 0.0) + 1.0
    # A mean of n/2 is that of the uniform distribution, where g would be infinite.
    while off(high) < 0 and high < np.log(n) + 14:
        high += 2.0
    if off(low) >= 0:
        return float(np.exp(low))
    return float(np.exp(brentq(off, low, high, xtol=1e-12) if off(high) > 0 else high))


def _masses(family: ParametricFamily, theta: Vector, n: int) -> tuple[Vector, Vector]:
    """Frequencies and the mass that each stands for."""
    everything = mass_quadrature(family, theta, n)
    logs = family.log_shape(everything.nodes, theta) + np.log(everything.weights)
    mass = np.exp(logs - logs.max())
    return everything.nodes, mass / mass.sum()


def _newton(family: ParametricFamily, search: Search, mean: float, variance: float, n: int) -> Vector | None:
    """theta with these moments by Newton's method from the location `mean`; None if the steps do not converge."""
    deviation = float(np.sqrt(variance))

    def equations(theta: Vector) -> tuple[Vector, Vector]:
        """By how much the moments are wrong, and the derivatives of that."""
        k, mass = _masses(family, theta, n)
        found = float(mass @ k)
        squares = (k - found) ** 2
        spread = max(float(mass @ squares), 1e-300)
        slopes = family.gradient(k, theta)
        slopes = (slopes - mass @ slopes) * mass[:, None]
        wrong = np.array([(found - mean) / deviation, np.log(spread / variance)])
        return wrong, np.stack([(k - found) @ slopes / deviation, (squares - spread) @ slopes / spread])

    def allowed(place: Vector) -> bool:
        return all(low <= entry <= high for entry, (low, high) in zip(place, search.limits, strict=True))

    place = search.place(np.array([mean, np.log(max(deviation, NARROWEST))]))
    wrong, derivatives = equations(search.theta(place))
    for _ in range(_STEPS):
        try:
            step = np.linalg.solve(derivatives @ search.slopes(place), wrong)
        except np.linalg.LinAlgError:
            return None
        length = 1.0
        while length > _SHORTEST:
            candidate = place - length * step
            if allowed(candidate):
                after, after_derivatives = equations(search.theta(candidate))
                if np.abs(after).max() < np.abs(wrong).max():
                    break
            length /= 2
        else:
            return search.theta(place) if np.abs(wrong).max() < _GOOD_ENOUGH else None
        place, wrong, derivatives = candidate, after, after_derivatives
        if np.abs(wrong).max() < _CONVERGED:
            return search.theta(place)
    return None


def _bisected(family: ParametricFamily, mean: float, variance: float, n: int, widest: float) -> Vector:
    """theta with these moments by two nested searches."""

    def log_ratio(log_scale: float) -> float:
        """log( variance of the member with this scale and the right mean / wanted variance )."""
        return float(np.log(moments(family, _member(family, log_scale, mean, n), n)[1] / variance))

    scales = float(np.log(NARROWEST)), widest
    if log_ratio(widest) <= 0:  # the variance is as good as the largest one
        return _member(family, widest, mean, n)
    return _member(family, float(brentq(log_ratio, *scales, xtol=1e-10)), mean, n)


def _member(family: ParametricFamily, log_scale: float, mean: float, n: int) -> Vector:
    """theta of the member with this scale that has this mean."""
    scale = float(np.exp(log_scale))

    def off(location: float) -> float:
        return moments(family, np.array([location, log_scale]), n)[0] - mean

    sides = []
    for direction in (-1, 1):
        step = 0.01 * scale
        while direction * off(mean + direction * step) < 0 and step < 1e12 * scale:
            step *= 8
        sides.append(mean + direction * step)
    low, high = sides
    if off(low) > 0 or off(high) < 0:
        return np.array([low if off(low) > 0 else high, log_scale])
    return np.array([brentq(off, low, high, xtol=1e-11 * scale, rtol=1e-15), log_scale])
