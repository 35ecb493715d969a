"""Posteriors of a few cells by a sum over a fine grid: slow, short, and independent of the library."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp


class Grid:
    """All tables f = total softmax(eta) on a grid of the differences of eta, with their posterior probabilities."""

    def __init__(self, log_likelihood, total, start, covariance, points, reach=5.0, rounds=3):
        d = start.size
        basis = np.linalg.svd(np.ones((1, d)))[2][1:].T
        mean, inner = basis.T @ start, basis.T @ covariance @ basis
        prior_precision = np.linalg.inv(inner)
        centre, widths, axes = mean, np.sqrt(np.linalg.eigvalsh(inner)), np.linalg.eigh(inner)[1]
        for _ in range(rounds):  # the grid follows the posterior: its centre, its axes and its widths
            ticks = [np.linspace(-reach, reach, points)] * (d - 1)
            unit = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1).reshape(-1, d - 1)
            inside = centre + (unit * widths) @ axes.T
            eta = inside @ basis.T
            f = np.exp(eta - eta.max(axis=1, keepdims=True))
            f *= total / f.sum(axis=1, keepdims=True)
            away = inside - mean
            logs = log_likelihood(f) - 0.5 * np.einsum("ij,jk,ik->i", away, prior_precision, away)
            weights = np.exp(logs - logs.max())
            weights /= weights.sum()
            spread = np.cov(inside.T, aweights=weights) if d > 2 else np.atleast_2d(np.cov(inside.T, aweights=weights))
            volume = np.prod(2 * reach * widths / (points - 1))
            normal = 0.5 * np.linalg.slogdet(2 * np.pi * inner)[1]
            self.log_evidence = float(logsumexp(logs) + np.log(volume) - normal)
            centre, (values, axes) = weights @ inside, np.linalg.eigh(spread)
            widths = np.sqrt(np.maximum(values, 1e-12))
        self.tables, self.weights = f, weights

    def mean(self):
        return self.weights @ self.tables

    def deviation(self):
        return np.sqrt(self.weights @ (self.tables - self.mean()) ** 2)

    def quantile(self, cell, level):
        return quantile(self.tables[:, cell], self.weights, level)


def quantile(values, weights, level):
    order = np.argsort(values)
    below = np.cumsum(weights[order]) - weights[order] / 2
    return float(np.interp(level, below, values[order]))
