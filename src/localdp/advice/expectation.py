r"""The error to expect after Calibrate, computed in a millisecond: nobody is simulated and no prior is fitted.

Let p be the shape of the frequencies: a share p(k) of the d items is held by k users. An estimate is

    fhat = k + s,     s ~ N(0, sd_k^2),     sd_k^2 = n q*(1-q*)/(p*-q*)^2 + k (1-p*-q*)/(p*-q*).

Calibrate maps each estimate x to a posterior mean m(x). If Calibrate knew p, m(x) would be E[f | fhat = x], and the
mean squared error of the items with k holders would be

    bayes(k) = \int phi((x - k)/sd_k)/sd_k (m(x) - k)^2 dx.

Its mean over the items is the Bayes risk, the smallest error possible. But Calibrate has to learn p from the estimates.
A level of p at k is learnt from the N(k) items whose estimates are mixed up with those of the level, and so with a
variance of about sd_k^2 / N(k). The constant of proportionality is about 4, as measured, because a distribution is
learnt and not only a mean. Where nothing can be learnt, for example because there are few items, it is still known that
no frequency is negative. So no error is larger than that of the raw estimate with negative values set to 0,

    clipped(k) = sd_k^2 (Phi(t) - t phi(t) + t^2 Phi(-t)),     t = k / sd_k.

So the error to expect is

    error = sum_k p(k) max(bayes(k), min(clipped(k), bayes(k) + 4 sd_k^2 / N(k))),

    N(k) = d sum_j p(j) exp(-(j - k)^2 / (2 sd_k^2)),

or the mean of clipped(k), if that is less.

The second term matters where frequencies have few levels (all items are equally frequent, or an item stands alone):
there the Bayes risk is nearly 0. It does not matter that the noise of different items is
correlated, because expectations add. `python benchmarks/advice.py` compares it with simulations.
"""

from __future__ import annotations

import numpy as np

from localdp.advice.shapes import Shape
from localdp.priors import Noise
from localdp.types import Vector

LEARNING = 4.0
"""What learning costs, in variances of the noise for each item."""

_GROUP = 1 / 3  # frequencies that differ by less than this many deviations are computed as one
_NEIGHBOURS = 10.0  # deviations: of two frequencies farther apart, no estimate has both as plausible sources
_AWAY = np.arange(-4.0, 4.25, 0.5)  # the places of the integral over the noise, in deviations
_WEIGHTS = np.exp(-0.5 * _AWAY**2) / np.exp(-0.5 * _AWAY**2).sum()


def calibrated_error(shape: Shape, noise: Noise) -> float:
    """The expected mean squared error of `estimate.calibrate()` over all items.

    >>> from localdp.advice.shapes import shaped
    >>> round(calibrated_error(shaped("zipf", items=1_000, users=100_000), Noise(607.0**2)) ** 0.5)
    159
    """
    usable = noise.usable(shape.users)
    frequencies, masses, unresolved = _grouped(shape, usable)
    variances = np.maximum(usable.variance_at(frequencies), 1e-300)
    deviations = np.sqrt(variances)
    reach = _NEIGHBOURS * deviations
    first = np.searchsorted(frequencies, frequencies - reach)
    last = np.searchsorted(frequencies, frequencies + reach, side="right")
    near = first[:, None] + np.arange(int((last - first).max()))
    inside = near < last[:, None]
    near = np.minimum(near, frequencies.size - 1)

    candidates = frequencies[near]  # a row for each frequency: those that its estimates might be taken for
    weights = np.where(inside, masses[near], 0.0) / deviations[near]
    estimates = frequencies[:, None] + deviations[:, None] * _AWAY
    away = (estimates[:, :, None] - candidates[:, None, :]) / deviations[near][:, None, :]
    joint = weights[:, None, :] * np.exp(-0.5 * away**2)
    means = (joint * candidates[:, None, :]).sum(axis=2) / np.maximum(joint.sum(axis=2), 1e-300)
    bayes = unresolved + (means - frequencies[:, None]) ** 2 @ _WEIGHTS

    alike = np.exp(-0.5 * ((candidates - frequencies[:, None]) / deviations[:, None]) ** 2)
    mixed = shape.items * (np.where(inside, masses[near], 0.0) * alike).sum(axis=1)
    clipped = variances * _clipped(frequencies / deviations)
    learnt = np.minimum(clipped, bayes + LEARNING * variances / np.maximum(mixed, 1e-300))
    raw = shape.masses @ noise.variance_at(shape.frequencies)  # of little noise, less than is usable
    return float(min(masses @ np.maximum(bayes, learnt), masses @ clipped, raw))


def _clipped(t: Vector) -> Vector:
    """The mean squared error of max(t + s, 0) as an estimate of t, with s ~ N(0, 1)."""
    from scipy.special import ndtr

    density = np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi)
    clipped: Vector = ndtr(t) - t * density + t**2 * ndtr(-t)
    return clipped


def _grouped(shape: Shape, noise: Noise) -> tuple[Vector, Vector, Vector]:
    """The shape with similar frequencies as one: their mean, the share of the items, and the variance within."""
    k = shape.frequencies
    # The number of deviations between 0 and k, where the deviation grows with k: the integral of dk / sd_k.
    scale = 2 * k / (np.sqrt(noise.variance_at(k)) + noise.deviation)
    _, group = np.unique(np.floor(scale / _GROUP), return_inverse=True)
    masses = np.bincount(group, shape.masses).astype(np.float64)
    means = np.bincount(group, shape.masses * k) / masses
    within = np.bincount(group, shape.masses * (k - means[group]) ** 2) / masses
    return means, masses, within
