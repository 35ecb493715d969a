r"""The law of a sum of n independent steps, with a bound on every error of its computation.

The steps X_1, .., X_n are whole numbers with the same law, which is given as exact fractions. Write M(t) = E[e^(tX)].
For any theta, the *tilted* law of the sum S has a probability proportional to e^(theta s) f(s), so that

    f(s) = M(theta)^n e^(-theta s) f_theta(s).

theta is chosen so that the tilted sum has mean `centre`. A probability near it, however small, is then computed
from one that is not small. The tilted law is that of a sum again, so its Fourier transform is phi(k)^n, with phi that
of one tilted step, and a transform of length N gives f_theta on a window of N numbers.

**Errors.** u = 2^-53 is half the distance of 1.0 from the next float.

- *The tilt.* The weights of the tilted step are floats w. The law of their sum is taken as it is, and the factors
  p e^(theta x) / w, which would all be M(theta), are computed with 50 digits. They differ by about u, so M(theta)^n
  lies between the n-th powers of the least and the largest. (For n = 10^8 these differ by about 10^-8.) Weights below
  10^-200 are raised to that: it takes nothing away, and adds less than n 10^-200 for each of them.
- *The transform.* phi(k) is a sum of K terms, off by at most eta = (32 + 2 K) u, so phi(k)^n is off by at most
  n eta (|phi(k)| + eta)^(n-1), and as much again for its computation. The mean of that over k bounds the error in every
  place of the window. Powers below e^-80 are left out and counted as errors. The inverse transform is off by at most
  16 u log2(N) times the Euclidean norm of its result (Higham, "Accuracy and stability of numerical algorithms", 2002,
  section 24.1, with room to spare).
- *The window.* What lies outside is added to a place inside, so the window holds no less than it should. Chernoff's
  bound, M(theta + t)^n / M(theta)^n e^(-tw) for every t > 0, limits what lies beyond w.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.types import Vector

UNIT = 2.0**-53
OUTSIDE = 1e-17
"""The probability that a tilted sum lies outside its window is at most this, on each side."""

_CHERNOFF = math.log(1 / OUTSIDE)
_EXACT = Context(prec=50)
_LEAST_WEIGHT = 1e-200  # a tilted step that is less likely than this is given this weight
_FAINT = 80.0  # powers of the transform below e^-80 are not computed
_SLICE = 1 << 16  # frequencies at a time, which bounds the memory
_BLOCK = 32  # frequencies that are left out together

Atoms = Mapping[int, Fraction]
"""The probability of each value of a step. They add up to 1."""


@dataclass(frozen=True)
class Tilt:
    """The law of one step, tilted by `theta`: its places, probabilities and log M(theta)."""

    places: Vector
    weights: Vector
    theta: float
    log_scales: tuple[float, float]
    """Two numbers with log M(theta) between them: the rounded weights are the exact ones up to such a factor."""

    @classmethod
    def centred(cls, atoms: Mapping[int, Fraction] | Mapping[Fraction, Fraction], mean: float) -> Tilt:
        """The tilt under which one step has this mean, which must lie strictly between the smallest and largest."""
        places = np.array([float(place) for place in atoms])
        logs = np.array([math.log(float(chance)) for chance in atoms.values()])
        theta = _root(places, logs, mean)
        exponents = logs + theta * places
        weights = np.exp(exponents - exponents.max())
        weights = np.maximum(weights / weights.sum(), _LEAST_WEIGHT)
        return cls(places, weights, theta, _scales(atoms, theta, weights))

    def reach(self, n: int, sign: int) -> float:
        """How far from its mean the tilted sum of n steps gets on one side, but for a probability of `OUTSIDE`."""
        centred = sign * (self.places - float(self.weights @ self.places))
        rates, growth = growths(centred, self.weights)
        return float(np.min((n * growth + _CHERNOFF) / rates)) * (1 + 1e-9)


def growths(places: Vector, weights: Vector) -> tuple[Vector, Vector]:
    """Many rates t > 0, and log E[e^(tX)] of one step at each of them, for Chernoff's bound."""
    rates = np.geomspace(1e-10, 1.0, 400) * (600 / float(places.max()))
    return rates, np.log(np.exp(np.outer(rates, places)) @ weights)


def _scales(atoms: Mapping[Any, Fraction], theta: float, weights: Vector) -> tuple[float, float]:
    """The least and the largest of log(p e^(theta x) / w) over the places x with probability p and weight w."""
    with localcontext(_EXACT):
        logs = [
            _decimal(chance).ln() + Decimal(theta) * _decimal(Fraction(place)) - Decimal(weight).ln()
            for (place, chance), weight in zip(atoms.items(), weights.tolist(), strict=True)
            if weight > _LEAST_WEIGHT
        ]
    return math.nextafter(float(min(logs)), -math.inf), math.nextafter(float(max(logs)), math.inf)


def _decimal(fraction: Fraction) -> Decimal:
    return Decimal(fraction.numerator) / Decimal(fraction.denominator)


def _root(places: Vector, logs: Vector, mean: float) -> float:
    """The theta that gives one tilted step this mean, by bisection."""
    span = float(places.max() - places.min())
    low, high = -1.0 / span, 1.0 / span

    def above(theta: float) -> bool:
        exponents = logs + theta * places
        weights = np.exp(exponents - exponents.max())
        return float(weights @ (places - mean)) > 0

    while above(low):
        low *= 2
    while not above(high):
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if above(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class Sum:
    """The tilted law of the sum: `chances[i]` is that of `first + i`, off by at most `additive`."""

    first: int
    chances: Vector
    tilt: Tilt
    n: int
    additive: float

    @property
    def log_scale(self) -> float:
        """log M(theta)^n, or just above."""
        return self.n * self.tilt.log_scales[1] * (1 + math.copysign(4 * UNIT, self.tilt.log_scales[1]))

    @property
    def rounding(self) -> float:
        """How much less than `log_scale` says a probability may be, as a share."""
        low, high = self.tilt.log_scales
        return -math.expm1(-(self.n * (high - low + 16 * UNIT * abs(high)))) + 1e-12

    @property
    def places(self) -> Vector:
        return np.arange(self.first, self.first + self.chances.size, dtype=np.float64)


def sum_of(atoms: Atoms, n: int, centre: float) -> Sum:
    """The tilted law of the sum of n steps, on a window around `centre`, which must be a possible mean of the sum."""
    if n == 0:
        return Sum(0, np.ones(1), Tilt(np.zeros(1), np.ones(1), 0.0, (0.0, 0.0)), n, 0.0)
    tilt = Tilt.centred(atoms, centre / n)
    mean = n * float(tilt.weights @ tilt.places)
    first, last = math.floor(mean - tilt.reach(n, -1)), math.ceil(mean + tilt.reach(n, 1))
    size = 1 << max(4, (last - first + 2).bit_length())
    powers, error = _powers(tilt, n, size)
    chances = np.roll(np.fft.irfft(powers, size), -first % size)
    norm = float(np.linalg.norm(chances))
    additive = error + 2 * OUTSIDE + 2 * n * len(atoms) * _LEAST_WEIGHT + 16 * UNIT * math.log2(size) * norm
    return Sum(first, np.maximum(chances, 0.0), tilt, n, additive)


def _powers(tilt: Tilt, n: int, size: int) -> tuple[NDArray[np.complex128], float]:
    """phi(k)^n for k = 0 .. size/2, and the mean of the bound on their errors."""
    count, eta = size // 2 + 1, _eta(tilt)
    powers = np.zeros(count, np.complex128)
    error = count * math.exp(-_FAINT)
    for k in np.split(_bright(tilt, n, size), range(_SLICE, count, _SLICE)):
        phi = _transform(tilt, k, size)
        sizes = np.minimum(np.abs(phi) + eta, 1.0)
        error += 2 * n * eta * float(np.exp((n - 1) * np.log(sizes)).sum())
        turned = n * np.angle(phi)
        with np.errstate(divide="ignore", under="ignore"):
            powers[k] = np.exp(n * np.log(np.abs(phi))) * (np.cos(turned) + 1j * np.sin(turned))
    return powers, 2 * error / size


def _bright(tilt: Tilt, n: int, size: int) -> NDArray[np.int64]:
    """The frequencies up to size/2 at which |phi|^n may exceed e^-80.

    From one frequency to the next, |phi| changes by at most 2 pi / size times the mean distance of a step from its
    mean. So most blocks of frequencies can be left out after a look at their middle.
    """
    mean = float(tilt.weights @ tilt.places)
    slope = 2 * math.pi / size * float(tilt.weights @ np.abs(tilt.places - mean))
    middles = np.arange(_BLOCK // 2, size // 2 + _BLOCK, _BLOCK)
    largest = np.abs(_transform(tilt, middles, size)) + _eta(tilt) + slope * _BLOCK
    kept = middles[n * np.log(np.minimum(largest, 1.0)) > -_FAINT]
    bright = (kept[:, None] + np.arange(-_BLOCK // 2, _BLOCK // 2)).ravel()
    return bright[bright <= size // 2]


def _eta(tilt: Tilt) -> float:
    """A bound on the error of phi: the angles, at most 2 pi, are off by 20 u, and so are the sums of the terms."""
    return (32 + 2 * tilt.weights.size) * UNIT


def _transform(tilt: Tilt, k: NDArray[np.int64], size: int) -> NDArray[np.complex128]:
    """phi at these frequencies. The angles are reduced as whole numbers, so that no precision is lost."""
    phi = np.zeros(k.size, np.complex128)
    for place, weight in zip((tilt.places.astype(np.int64) % size).tolist(), tilt.weights.tolist(), strict=True):
        angle = (-2 * np.pi / size) * (place * k % size)
        phi.real += weight * np.cos(angle)
        phi.imag += weight * np.sin(angle)
    return phi
