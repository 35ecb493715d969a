"""Nonparametric maximum likelihood of mixing weights (Kiefer & Wolfowitz, 1956).

    maximize   sum_i count_i log( sum_j L_ij w_j )    over weights w >= 0 that sum to 1

by the constrained Newton method of Wang (JRSS B, 2007): components whose gradient peaks join the support, a nonnegative
least-squares problem gives the Newton step on it, and a line search keeps it honest. Steps of
expectation-maximization before and between keep it from stalling.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from localdp.types import Places, Vector

_WARM_UP = 30
_ROUNDS = 40


def mixing_weights(likelihood: Vector, counts: Vector) -> Vector:
    """The most likely weights of the columns."""
    total = counts.sum()
    weights = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(_WARM_UP):
        weights = _expectation_step(likelihood, counts, weights)
    reached = _log_likelihood(likelihood, counts, weights)
    for _ in range(_ROUNDS):
        density = likelihood @ weights + 1e-300
        gradient = likelihood.T @ (counts / density) - total
        if gradient.max() < 1e-4 * total:
            padded = np.concatenate([[-np.inf], gradient, [-np.inf]])
            peaks = (gradient >= padded[:-2]) & (gradient >= padded[2:]) & (gradient > 0)
        else:
            peaks = gradient > 0.1 * gradient.max()
        support = np.flatnonzero(peaks | (weights > 1e-4 / total))
        candidate = _newton(likelihood[:, support] / density[:, None], counts, support, weights)
        moved = _improve(likelihood, counts, weights, candidate, reached)
        moved = _expectation_step(likelihood, counts, _expectation_step(likelihood, counts, moved))
        gained = _log_likelihood(likelihood, counts, moved) - reached
        weights, reached = moved, reached + gained
        if gained < 1e-3:
            break
    weights[weights < 1e-9] = 0.0
    return np.asarray(weights / weights.sum())


def _expectation_step(likelihood: Vector, counts: Vector, weights: Vector) -> Vector:
    updated = weights * (likelihood.T @ (counts / (likelihood @ weights + 1e-300)))
    return np.asarray(updated / updated.sum())


def _newton(scaled: Vector, counts: Vector, support: Places, weights: Vector) -> Vector:
    """The maximum over the support of the quadratic approximation to the log-likelihood."""
    roots = np.sqrt(counts)
    strong = 1e3 * np.sqrt(counts.sum())  # holds the sum at 1
    rows = np.vstack([roots[:, None] * scaled, np.full((1, support.size), strong)])
    target = np.append(2 * roots, strong)
    candidate = np.zeros_like(weights)
    try:
        candidate[support] = nnls(rows, target, maxiter=30 * support.size)[0]
    except RuntimeError:  # no convergence: leave the weights to the other steps
        return weights
    return candidate / candidate.sum() if candidate.sum() > 0 else weights


def _improve(likelihood: Vector, counts: Vector, weights: Vector, candidate: Vector, reached: float) -> Vector:
    length = 1.0
    while length > 1e-4:
        moved = weights + length * (candidate - weights)
        if _log_likelihood(likelihood, counts, moved) > reached:
            return moved
        length /= 2
    return weights


def _log_likelihood(likelihood: Vector, counts: Vector, weights: Vector) -> float:
    return float(counts @ np.log(likelihood @ weights + 1e-300))
