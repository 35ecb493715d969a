r"""Counts through a channel as a few numbers with Gaussian noise, each about a weighted sum of the cells.

Outcomes are counted as c, where E(c) = M f and M has a column of probabilities for each cell. Given the people, each of
whom draws an outcome, the counts have the covariance

    D - M diag(f) M',        D = diag(M f).

M f is a smoothed version of f, and well known long before f is: a few steps of expectation maximisation give f and M f
well enough for the covariance. The score z = M' D^-1 c then has the mean K f, with K = M' D^-1 M. Cells are measured in
units of their own scatter: with W = diag(sqrt(f + a little)), let V have the leading eigenvectors of W K W as columns,
and s their eigenvalues. What the counts say about f is, up to directions that they say next to nothing about,

    o = V' W z / s  =  V' W^-1 f + noise,        Cov(noise) = diag(1/s) - V' W^-1 diag(f) W^-1 V.

In people, and not in units of their scatter, the leading directions would be those of the emptiest cells.

A channel that mixes neighbours tells of slow changes only, so for many cells the eigenvectors are sought among the
slowest cosines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.fft import idct
from scipy.linalg import eigh

from localdp.structures.likelihood import ChannelLikelihood
from localdp.types import Vector

FEW_ENOUGH, WAVES = 256, 192
"""Of more cells than `FEW_ENOUGH`, directions are sought among so many of the slowest cosines."""

_STEPS = 60  # of expectation maximisation
_LEAST = 1e-3  # directions that tell less than this about a cell that may hold twice as many people are left out
_LEAST_NOISE = 1e-2  # of the smallest 1/s; without it, the total that every table has anyway would count as observed
_LITTLE = 0.1  # of the mean cell


@dataclass(frozen=True, eq=False)
class Compressed:
    """`values` = `directions` f + Gaussian noise with this `noise` covariance; the cells add up to `total`."""

    values: Vector
    directions: Vector
    noise: Vector
    total: float

    @classmethod
    def of(cls, seen: ChannelLikelihood) -> Compressed:
        """What these counts say."""
        counts, channel = np.asarray(seen.counts, np.float64), seen.channel
        f = seen.guess
        for _ in range(_STEPS):
            f = f * (channel.T @ (counts / np.maximum(channel @ f, 1e-300)))
        f = np.maximum(f, 1e-9 * seen.n / seen.cells)
        root, unit = np.sqrt(channel @ f), np.sqrt(f + _LITTLE * seen.n / seen.cells)
        waves = seen.cells if seen.cells <= FEW_ENOUGH else WAVES
        basis = np.asarray(idct(np.eye(seen.cells, waves), type=2, norm="ortho", axis=0))
        scaled = (channel @ (unit[:, None] * basis)) / root[:, None]
        known, vectors = eigh(scaled.T @ scaled)
        kept = np.flatnonzero(known > _LEAST * min(1.0, seen.cells / seen.n))
        known, vectors = known[kept], vectors[:, kept]
        weights = (scaled @ vectors / known).T / root
        values, directions = weights @ counts, weights @ channel
        noise = np.diag(1 / known) - (directions * f) @ directions.T
        sizes, axes = eigh(noise)
        noise = (axes * np.maximum(sizes, _LEAST_NOISE / known[-1])) @ axes.T
        return cls(values, directions, noise, seen.n)
