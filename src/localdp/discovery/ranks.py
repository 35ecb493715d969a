r"""The chance of each value that was found to belong to the true top k: from simulated worlds.

In a world, every value has a share that is drawn from its posterior. But a value may also be beaten by others that the
rounds have missed. What is known of those follows from the values that were found and from the reach of the discovery:
if a value of share x that is as long is found with probability r(x), then beside one that was found there are

    G ~ Geometric(r(x)),      G = 0, 1, 2, ..      with mean (1 - r) / r,

others of about this share that were missed. (With m values of this share, it is the negative binomial law of the
misses before the m-th find.) They are limited by the users that are left, since all shares add up to 1. The missed
values that come with one of larger share are above a value, those of smaller share below it, and of its own every
second one is above it. Values that were known beforehand are counted by everybody, and none of them is missed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from localdp.discovery.belief import Matrix
from localdp.discovery.posteriors import Posterior
from localdp.discovery.reach import Reach
from localdp.types import Indices, Vector

_WORLDS = 2_000
_CONTENDERS = 400  # values that take part in the simulated worlds
_RAREST = 1e-3  # chances to be found: smaller ones count as this
_SHARES = np.geomspace(1e-7, 1.0, 400)


def in_top(posterior: Posterior, k: int, reach: Reach, rounds: Indices) -> Vector:
    """For each value, the probability that it is among the k largest shares.

    `rounds` says after how many rounds it was whole; 0 for values that were known beforehand.
    """
    rng = np.random.default_rng(0)  # seeded, because the same question must have the same answer
    order = np.argsort(-posterior.means, kind="stable")[:_CONTENDERS]
    cumulative = np.cumsum(posterior.masses[order], axis=1)
    drawn = np.empty((order.size, _WORLDS))
    for row, levels in enumerate(rng.random((order.size, _WORLDS))):
        place = np.minimum(np.searchsorted(cumulative[row], levels), posterior.points.shape[1] - 1)
        drawn[row] = posterior.points[order[row], place]
    missed = _missed(drawn, reach, rounds[order], rng)
    ranks = np.argsort(-drawn, axis=0, kind="stable")
    above = np.cumsum(1 + np.take_along_axis(missed, ranks, axis=0), axis=0)
    before = np.zeros_like(missed)
    np.put_along_axis(before, ranks[1:], above[:-1], axis=0)
    before += rng.binomial(missed, 0.5)
    chances = np.zeros(len(posterior.points))
    chances[order] = ((before < k) & (drawn > 0)).mean(axis=1)
    return chances


def _missed(drawn: Matrix, reach: Reach, rounds: Indices, rng: np.random.Generator) -> Any:
    """How many values of about each of these shares were missed, in each world (column)."""
    found = np.ones_like(drawn)
    for number in np.unique(rounds[rounds > 0]).tolist():
        some = rounds == number
        found[some] = np.interp(drawn[some], _SHARES, reach.chances(_SHARES, number))
    left = np.maximum(1 - drawn.sum(axis=0), 0.0)
    most = np.floor(left / np.maximum(drawn, _SHARES[0])).astype(np.int64)
    missed = np.minimum(rng.geometric(np.clip(found, _RAREST, 1.0)) - 1, most)
    return np.where(drawn > 0, missed, 0)
