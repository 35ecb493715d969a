r"""The model of all tables together: people are of a few kinds, and within a kind, answers do not depend on each other.

    x_i(c)       = sum over kinds h of  w_h t_hi(c)                     the shares of question i
    x_ij(c, c')  = sum over kinds h of  w_h t_hi(c) t_hj(c')            the table of questions i and j
    t_hi         = softmax(a_i + b_hi),     w = softmax(l)

This is a latent class model (P. Lazarsfeld and N. Henry, Latent Structure Analysis, 1968; with noise and a prior, as in
D. Dunson and C. Xing, JASA 2009). All its tables have the same margins by construction, each table borrows from the
others, and with one kind it is the product of the margins. Before anything is observed,

    a_i ~ N(centre, F_i),     b_hi ~ t_2(0, G_i),     l_h ~ N(0, 1),

independently, where t_2 is Student's with two degrees of freedom. F_i and G_i are multiples of the identity, or smooth
along the answers of an ordered question.

The fit minimises half the weighted squares of what was observed (`localdp.questionnaires.observed`) minus the log-prior
of the effects, by L-BFGS. It works with effects z in units of their priors: a = centre + F^(1/2) z_a, b = G^(1/2) z_b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from localdp.questionnaires.observed import Layout, Observed
from localdp.types import Vector

KINDS = 6
"""How many kinds of people the model has."""

MAIN, WITHIN = 2.0, (1.0, 0.3, 4.0)
"""The deviations of a, and those of b that are tried, as logarithms: kinds of people may hardly differ, or a lot.

The first is taken unless another one clearly predicts better."""

FREEDOM = 2.0
"""The degrees of freedom of b: with heavier tails than a Gaussian, answers that some kind never gives cost little."""

ROUGH = 0.2
"""What a single answer of an ordered question has of its own, as a share of the deviation."""

FIRST, AGAIN = 400, 120
"""Steps of the first fits at most, and of those that begin near it."""

CLOSE = 1e-5
"""A fit ends when a step makes the loss smaller by less than this part of it."""

STARTS = 4
"""How many fits the best is taken of."""


@dataclass(frozen=True, eq=False)
class Tables:
    """The shares of all cells, and those of all pairs of cells (a matrix, whose diagonal blocks mean nothing)."""

    alone: Vector
    together: Vector


@dataclass(frozen=True, eq=False)
class Seen:
    """Observations in the form that the fit uses: outcomes of questions, and estimates of pairs with their weights."""

    matrices: tuple[tuple[slice, Vector, Vector, Vector], ...]
    """For each part with one question: its cells, its matrix, the shares of outcomes, and their weights."""
    estimates: Vector
    weights: Vector


class Model:
    """The model for a layout; `ordered` has, for each question, how many of its first answers have an order."""

    def __init__(
        self, layout: Layout, ordered: Sequence[int], centre: Vector, within: float = WITHIN[0], kinds: int = KINDS
    ) -> None:
        self.layout, self.within, self.kinds = layout, within, kinds
        self.centre = np.log(centre)
        self._roots = [
            (layout.of(question), _smooth_root(layout.sizes[question], length))
            for question, length in enumerate(ordered)
            if length > 2
        ]

    @property
    def effects(self) -> int:
        """How many effects there are."""
        return self.kinds + (self.kinds + 1) * self.layout.cells

    def seen(self, observed: Observed, at: Tables) -> Seen:
        """The observations with the weights that they have if the tables are these."""
        cells = self.layout.cells
        estimates, weights = np.zeros((cells, cells)), np.zeros((cells, cells))
        alone = []
        for one in observed.alone:
            place = self.layout.of(one.question)
            alone.append((place, one.matrix, one.shares, one.weights(at.alone[place])))
        for pair in observed.together:
            rows, columns = self.layout.of(pair.rows), self.layout.of(pair.columns)
            found = pair.weights(at.together[rows, columns])
            estimates[rows, columns], estimates[columns, rows] = pair.estimates, pair.estimates.T
            weights[rows, columns], weights[columns, rows] = found, found.T
        return Seen(tuple(alone), estimates, weights)

    def tables(self, z: Vector) -> Tables:
        """The tables for these effects."""
        w, t = self._kinds_at(z)
        return Tables(w @ t, (t * w[:, None]).T @ t)

    def product(self) -> Tables:
        """The tables if there were one kind and the shares were those of the centre."""
        alone = self._softmax(self.centre[None])[0]
        return Tables(alone, np.outer(alone, alone))

    def fit(self, seen: Seen, start: Vector, towards: Vector | float = 0.0, steps: int = FIRST) -> Vector:
        """The effects that fit best; `towards` are the means of their priors."""
        found = minimize(
            lambda z: self._loss(z, seen, towards),
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": steps, "maxfun": 2 * steps, "maxcor": 20, "ftol": CLOSE},
        )
        return np.asarray(found.x)

    def missed(self, z: Vector, seen: Seen) -> float:
        """Half the weighted squares by which the tables for these effects miss what was observed."""
        return self._loss(z, seen, 0.0)[0] - self._prior(z)[0]

    def _loss(self, z: Vector, seen: Seen, towards: Vector | float) -> tuple[float, Vector]:
        w, t = self._kinds_at(z)
        alone, together = w @ t, (t * w[:, None]).T @ t
        missing = together - seen.estimates
        pulled = seen.weights * missing
        loss = 0.25 * float((pulled * missing).sum())  # every pair of cells is there twice
        by_alone = np.zeros(self.layout.cells)
        for place, matrix, shares, weights in seen.matrices:
            missed = matrix @ alone[place] - shares
            loss += 0.5 * float(weights @ missed**2)
            by_alone[place] = matrix.T @ (weights * missed)
        through = t @ pulled
        by_t = w[:, None] * (through + by_alone)
        by_w = 0.5 * (through * t).sum(axis=1) + t @ by_alone
        slope = t * by_t
        slope -= t * np.add.reduceat(slope, self.layout.starts, axis=1)[:, self.layout.owner]
        away = z - towards
        price, pull = self._prior(away)
        gradient = np.concatenate(
            [
                w * (by_w - w @ by_w),
                self._back(slope.sum(axis=0)[None])[0] * MAIN,
                (self._back(slope) * self.within).ravel(),
            ]
        )
        return loss + price, gradient + pull

    def _prior(self, away: Vector) -> tuple[float, Vector]:
        """Minus the logarithm of the priors, and its gradient: Gaussian for l and a, Student's t for b."""
        begin = self.kinds + self.layout.cells
        pull = away.copy()
        tails = 1 + away[begin:] ** 2 / FREEDOM
        price = 0.5 * float(away[:begin] @ away[:begin]) + 0.5 * (FREEDOM + 1) * float(np.log(tails).sum())
        pull[begin:] *= (FREEDOM + 1) / FREEDOM / tails
        return price, pull

    def _kinds_at(self, z: Vector) -> tuple[Vector, Vector]:
        """w and t for these effects."""
        kinds, cells = self.kinds, self.layout.cells
        levels = z[:kinds]
        w = np.exp(levels - levels.max())
        a = self.centre + MAIN * self._spread(z[None, kinds : kinds + cells])[0]
        b = self.within * self._spread(z[kinds + cells :].reshape(kinds, cells))
        return w / w.sum(), self._softmax(a + b)

    def _softmax(self, effects: Vector) -> Vector:
        starts, owner = self.layout.starts, self.layout.owner
        found = np.exp(effects - np.maximum.reduceat(effects, starts, axis=1)[:, owner])
        return np.asarray(found / np.add.reduceat(found, starts, axis=1)[:, owner])

    def _spread(self, z: Vector) -> Vector:
        """Effects with the covariances of their priors, from independent ones."""
        if not self._roots:
            return z
        found = z.copy()
        for place, root in self._roots:
            found[:, place] = z[:, place] @ root.T
        return found

    def _back(self, slope: Vector) -> Vector:
        """The gradient by independent effects, from that by effects."""
        if not self._roots:
            return slope
        found = slope.copy()
        for place, root in self._roots:
            found[:, place] = slope[:, place] @ root
        return found

    def best_fit(self, seen: Seen, random: np.random.Generator) -> Vector:
        """The effects that fit best, of several fits: with little noise, there is more than one minimum.

        Each fit begins with kinds that differ a little, so that they can part.
        """
        found = []
        for _ in range(STARTS):
            start = np.zeros(self.effects)
            start[self.kinds :] = 0.5 * random.normal(size=self.effects - self.kinds)
            z = self.fit(seen, start)
            found.append((self._loss(z, seen, 0.0)[0], z))
        return min(found, key=lambda one: one[0])[1]


def _smooth_root(size: int, ordered: int) -> Vector:
    """A square root of the covariance of a question whose first answers have an order."""
    found = np.eye(size)
    away = np.subtract.outer(np.arange(ordered), np.arange(ordered)) / ordered
    smooth = 0.5 * np.exp(-0.5 * (away / 0.35) ** 2) + 0.5 * np.exp(-0.5 * (away / 0.1) ** 2)
    found[:ordered, :ordered] = np.linalg.cholesky((1 - ROUGH**2) * smooth + (ROUGH**2 + 1e-9) * np.eye(ordered))
    return found
