r"""Changes along a scale, as the sum of a few curves whose amplitudes are seen independently of each other.

A report of `wave` is a sign of many neighbouring cells, so single cells have no estimates that could be compared. What
can be compared are curves. Let the shares of the cells be x = m + sum_k c_k u_k with a level m, and

    u_k = the columns of F W,     F_ij = g_i cos(pi j (i + 1/2) / d) / j - m_i sum_l g_l cos(pi j (l + 1/2) / d) / j,

so that every column adds up to 0. Here g_i = (m_i + 1/d) / 2 makes changes of popular cells larger, and the division by
j makes them smooth: slow waves are stronger than fast ones. A cell apart ("no answer") has a column of its own. Of n
reports, the share r_o with outcome o has the mean pi_o + (A (x - m))_o with pi = A m, and (r - pi) / sqrt(pi) has the
covariance 1/n in all directions in which it can move. With the singular values H F = V S W' of H = diag(pi)^(-1/2) A,

    y_k  =  sum_o V_ok (r_o - pi_o) / sqrt(pi_o) / S_k   ~   N(c_k, 1 / (n S_k^2)),     independently for all k.

So the amplitudes y_k are to a difference or a history what the shares of items are: unbiased, with known variances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localdp.types import Vector

MOST_WAVES = 48
"""Faster waves cannot be seen through a channel that mixes neighbours."""

_LEAST = 1e-7  # of the largest S: slower curves than this say nothing


@dataclass(frozen=True, eq=False)
class Curves:
    """The curves around a level; `cells` has u_k as columns, and `variances` the variance of y_k among one person."""

    level: Vector
    expected: Vector
    cells: Vector
    reading: Vector
    variances: Vector

    @classmethod
    def around(cls, level: Vector, matrix: Vector, ordered: int) -> Curves:
        """The curves around this level; `matrix` has the probability of each outcome (a row) for each cell."""
        size = level.size
        place, waves = np.arange(ordered), np.arange(1, min(ordered - 1, MOST_WAVES) + 1)
        columns = np.zeros((size, waves.size + size - ordered))
        columns[:ordered, : waves.size] = np.cos(np.pi * waves * (place[:, None] + 0.5) / ordered) / waves
        columns[range(ordered, size), range(waves.size, columns.shape[1])] = 1.0
        columns *= (level + 1 / size)[:, None] / 2
        columns -= level[:, None] * columns.sum(axis=0)
        expected = np.maximum(matrix @ level, 1e-300)
        root = np.sqrt(expected)[:, None]
        left, sizes, right = np.linalg.svd(matrix @ columns / root, full_matrices=False)
        seen = sizes > _LEAST * sizes[0]
        sizes = sizes[seen]
        return cls(level, expected, columns @ right[seen].T, left[:, seen] / root / sizes, 1 / np.square(sizes))

    def amplitudes(self, outcomes: Vector) -> Vector:
        """y_k from the shares of the outcomes; the last axis is that of the outcomes."""
        return np.asarray((outcomes - self.expected) @ self.reading)
