"""Find the weights of a mixture that make the data most likely.

    maximize   sum_i count_i log( sum_j L_ij w_j )    over weights w >= 0 that sum to 1

J. Kiefer and J. Wolfowitz (1956) showed that few weights of the solution are positive. Y. Wang (JRSS B, 2007) finds
them by a constrained Newton method: components at the peaks of the gradient become active, a nonnegative least-squares
problem gives the Newton step of the active ones, and a line search makes sure that the likelihood grows. Steps of
expectation-maximization before and in between keep it from stalling.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from localdp.types import Places, Vector

_WARM_UP = 30  # steps of expectation-maximization, after which most components are near 0
_ROUNDS = 40  # Newton steps at most


def mixing_weights(likelihood: Vector, counts: Vector) -> Vector:
    """The most likely weights of the columns.

    `likelihood` has a row for each point and a column for each component; row i counts `counts[i]` times.
    """
    total = counts.sum()
    weights = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(_WARM_UP):
        weights = _expectation_step(likelihood, counts, weights)
    reached = _log_likelihood(likelihood, counts, weights)
    for _ in range(_ROUNDS):
        density = likelihood @ weights + 1e-300
        gradient = likelihood.T @ (counts / density) - total
        if gradient.max() < 1e-4 * total:  # near the maximum only the peaks can gain; far from it, many columns do
            padded = np.concatenate([[-np.inf], gradient, [-np.inf]])
            peaks = (gradient >= padded[:-2]) & (gradient >= padded[2:]) & (gradient > 0)
        else:
            peaks = gradient > 0.1 * gradient.max()
        active = np.flatnonzero(peaks | (weights > 1e-4 / total))
        candidate = _newton(likelihood[:, active] / density[:, None], counts, active, weights)
        moved = _improve(likelihood, counts, weights, candidate, reached)
        moved = _expectation_step(likelihood, counts, _expectation_step(likelihood, counts, moved))
        gained = _log_likelihood(likelihood, counts, moved) - reached
        weights, reached = moved, reached + gained
        if gained < 1e-3:
            break
    weights[weights < 1e-9] = 0.0
    return np.asarray(weights / weights.sum())


def _expectation_step(likelihood: Vector, counts: Vector, weights: Vector) -> Vector:
    """One step of expectation-maximization."""
    updated = weights * (likelihood.T @ (counts / (likelihood @ weights + 1e-300)))
    return np.asarray(updated / updated.sum())


def _newton(scaled: Vector, counts: Vector, active: Places, weights: Vector) -> Vector:
    """The weights of the active components that maximize the quadratic approximation of the log-likelihood.

    `scaled` is the likelihood of the active components, each row divided by the density of the present weights.
    """
    roots = np.sqrt(counts)
    strong = 1e3 * np.sqrt(counts.sum())  # holds the sum at 1
    rows = np.vstack([roots[:, None] * scaled, np.full((1, active.size), strong)])
    target = np.append(2 * roots, strong)
    candidate = np.zeros_like(weights)
    try:
        candidate[active] = nnls(rows, target, maxiter=30 * active.size)[0]
    except RuntimeError:  # no convergence: leave the weights to the other steps
        return weights
    return candidate / candidate.sum() if candidate.sum() > 0 else weights


def _improve(likelihood: Vector, counts: Vector, weights: Vector, candidate: Vector, reached: float) -> Vector:
    """A point between the weights and the candidate that has a larger likelihood; the weights if none is found.

    It is the first such point among 1, 1/2, 1/4, .. of the way to the candidate.
    """
    length = 1.0
    while length > 1e-4:
        moved = weights + length * (candidate - weights)
        if _log_likelihood(likelihood, counts, moved) > reached:
            return moved
        length /= 2
    return weights


def _log_likelihood(likelihood: Vector, counts: Vector, weights: Vector) -> float:
    return float(counts @ np.log(likelihood @ weights + 1e-300))
