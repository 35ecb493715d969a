"""Published methods for ordered answers, as baselines: written from their papers, for comparison only.

- `square_wave`: Square Wave with its published width, decoded by EM or by EM with smoothing (Li et al., SIGMOD 2020).
- `hierarchy`: a tree of histograms, one level a person, made consistent (Hay et al., VLDB 2010; Cormode et al., 2019).
- `duchi`, `piecewise`, `hybrid`: the mean alone (Duchi et al., 2018; Wang et al., ICDE 2019).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def published_width(cells: int, epsilon: float) -> int:
    """The width that maximises mutual information, on each side, in cells."""
    e = np.exp(epsilon)
    return int(cells * (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon)))


def wave_law(cells: int, epsilon: float, band: int) -> Array:
    """Pr(output | cell): a row for each output."""
    e, outputs = np.exp(epsilon), cells + 2 * band
    law = np.ones((outputs, cells))
    for cell in range(cells):
        law[cell : cell + 2 * band + 1, cell] = e
    return law / law.sum(axis=0)


def counts_of(law: Array, held: NDArray[np.int64], rng: np.random.Generator) -> Array:
    """How many reports there are of each output."""
    return rng.multinomial(held, law.T).sum(axis=0).astype(float)


def expectation_maximisation(law: Array, counts: Array, epsilon: float, smooth: bool) -> Array:
    """Shares by EM, smoothed after every step or not, until the likelihood gains less than the paper's limit."""
    shares, before = np.full(law.shape[1], 1 / law.shape[1]), -np.inf
    limit = 1e-3 * np.exp(epsilon) if smooth else 1e-3
    for step in range(10_000):
        shares = shares * (law.T @ (counts / (law @ shares)))
        shares /= shares.sum()
        if smooth:
            padded = np.r_[shares[0], shares, shares[-1]]
            shares = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
            shares /= shares.sum()
        likelihood = float(counts @ np.log(law @ shares))
        if likelihood - before < limit and step > 5:
            break
        before = likelihood
    return shares


def square_wave(held: NDArray[np.int64], epsilon: float, rng: np.random.Generator, smooth: bool = True) -> Array:
    """Shares from Square Wave reports with the published width."""
    law = wave_law(held.size, epsilon, published_width(held.size, epsilon))
    return expectation_maximisation(law, counts_of(law, held, rng), epsilon, smooth)


def hierarchy(held: NDArray[np.int64], epsilon: float, rng: np.random.Generator, fan: int = 4) -> Array:
    """Shares of the cells of a consistent tree: every person reports one level by optimized unary encoding."""
    levels = int(np.ceil(np.log(held.size) / np.log(fan) - 1e-9))
    padded = np.zeros(fan**levels, np.int64)
    padded[: held.size] = held
    group = np.array([rng.multinomial(count, np.full(levels, 1 / levels)) for count in padded])
    p, q = 0.5, 1 / (1 + np.exp(epsilon))
    estimates, variances = [np.ones(1)], []
    for level in range(1, levels + 1):
        people = group[:, level - 1].reshape(fan**level, -1).sum(axis=1)
        n = int(people.sum())
        seen = rng.binomial(people, p) + rng.binomial(n - people, q)
        estimates.append((seen - n * q) / (p - q) / max(n, 1))
        variances.append(q * (1 - q) / (p - q) ** 2 / max(n, 1))
    # Upwards: each node is the weighted mean of its own estimate and of the sum of its children.
    best, known = estimates[-1], variances[-1]
    upwards = [best]
    for level in range(levels - 1, 0, -1):
        below, noise = best.reshape(-1, fan).sum(axis=1), known * fan
        weight = noise / (noise + variances[level - 1])
        best, known = weight * estimates[level] + (1 - weight) * below, weight * variances[level - 1]
        upwards.append(best)
    # Downwards: children share what their sum differs from their parent.
    shares = np.ones(1)
    for found in reversed(upwards):
        children = found.reshape(-1, fan)
        shares = (children + (shares - children.sum(axis=1))[:, None] / fan).ravel()
    return shares[: held.size]


def means_of(held: NDArray[np.int64], epsilon: float, rng: np.random.Generator) -> dict[str, float]:
    """The mean on the scale from 0 to 1, by mechanisms that are made for the mean alone."""
    places = np.repeat((np.arange(held.size) + 0.5) / held.size * 2 - 1, held)
    duchi, piecewise = _duchi(places, epsilon, rng), _piecewise(places, epsilon, rng)
    mixed = 1 - np.exp(-epsilon / 2) if epsilon > 0.61 else 0.0
    hybrid = np.where(rng.random(places.size) < mixed, piecewise, duchi)
    return {
        name: float(drawn.mean() + 1) / 2
        for name, drawn in (("duchi", duchi), ("piecewise", piecewise), ("hybrid", hybrid))
    }


def _duchi(places: Array, epsilon: float, rng: np.random.Generator) -> Array:
    e = np.exp(epsilon)
    up = rng.random(places.size) < 0.5 + places * (e - 1) / (2 * (e + 1))
    return np.where(up, 1.0, -1.0) * (e + 1) / (e - 1)


def _piecewise(places: Array, epsilon: float, rng: np.random.Generator) -> Array:
    e = np.exp(epsilon / 2)
    reach = (e + 1) / (e - 1)
    left = (reach + 1) / 2 * places - (reach - 1) / 2
    near = left + rng.random(places.size) * (reach - 1)
    # Outside of the near piece, uniformly: a draw from what is left of [-reach, reach].
    away = rng.random(places.size) * (reach + 1) - reach
    far = np.where(away < left, away, away + reach - 1)
    return np.where(rng.random(places.size) < e / (e + 1), near, far)
