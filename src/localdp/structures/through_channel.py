r"""The posterior of a table whose counts come through a channel that mixes the cells.

    f_i = x_i (1 + u_i) + m_(i-1) - m_i,        x = T softmax(g),        g = start + E c,

    c ~ N(0, diag(1/(lambda e + 1))),           m_i = h sqrt(x_i x_(i+1)) z_i,        z_i ~ N(0, 1).

The ground g is as everywhere (`base`); E has the slowest eigenvectors of its penalty as columns, and e their
eigenvalues. The rest is what the ground does not explain, in two ways.

**People who moved.** m_i people of cell i are counted in cell i + 1: they said 30 and not 29, or only whole ages are
known. Prices in fives, ages on fine cells and heaped minutes are like this. Cells then differ from the ground by much
(a variance of 2 h^2, relative to the cell), but the distribution function only by a few cells, however long the range.
Independent deviations of the cells would add up over a long range. Combs do not do that, so the fit would take them
for smooth, and intervals of ranges would be too short.

**Cells that stand out** have a u_i with a variance k_i of their own; for most cells, u_i is 0. For a single cell with
the information s = a' S^-1 a and the score q = a' S^-1 r (a its column of A, S without its own k), the variance that
explains the data best is (q^2 - s)/s^2, as in sparse Bayesian learning (Tipping & Faul, 2003). Cells for which that
raises the evidence by more than a price get it.

Both enter as sums and not as exp(u): the channel adds up many cells, and of such a sum only the mean and the variance
of the deviations matter, so that they can be integrated out. What was observed (`compressed`) is o = U f + noise. With
A = U (diag(x) - x x'/T), and B for what z does to the cells, for g near the mode,

    o - U x + A (g - start)  ~  N(0, S),   S = A (E diag(1/(lambda e + 1)) E' + diag(k + 1/x)) A' + U B B' U' + noise.

Gauss-Newton steps find the mode: g = start + E diag(..) E' A' v with v = S^-1 (o - U x + A (g - start)), u is
(k + 1/x) A' v and z is B' U' v. The log-density of o at the mode is the evidence. S has a row for each number that was
observed, not for each cell.

1/x is the relative variance of who happened to report: the ground is that of a population, and f counts people.
Without it, intervals would be too short, and the fit would take the scatter of people for a rough ground.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.optimize import isotonic_regression
from scipy.sparse import csc_array, diags_array
from scipy.sparse.linalg import eigsh
from scipy.special import ndtri

from localdp.structures.base import Ground
from localdp.structures.compressed import Compressed
from localdp.structures.likelihood import Rows
from localdp.structures.parts import Part
from localdp.types import Vector

SLOWEST = 128
"""The most eigenvectors of a ground; what changes faster is the cells' own."""

PRICE = 6.0
"""The log-evidence that a cell must gain to stand out."""

MOVING = 3.0
"""h for a tau of 1: how many cells people move, in deviations."""

SELDOM = 0.5
"""The prior of h is proportional to (1 + 10 h)^-SELDOM. Where the counts do not tell whether people moved, moves of a
cell still have a fifth of the weight of none; without the prior, smooth shapes are blurred for a comb nobody sees."""

MORE_DOUBT = 1.1**2
"""The variance of a sum of several cells is larger than computed by this: measured, not derived."""

_SMALL = 320  # coefficients of which all eigenvectors are computed
_STEPS, _LONGEST_STEP, _SETTLED, _NEARLY = 30, 3.0, 1e-3, 0.1
_ROUNDS, _AT_ONCE = 6, 5  # of looking for cells that stand out, and how many are added in one
_LEAST_OWN, _LEAST_PEOPLE, _LEAST_DAMPING = 1e-6, 1e-6, 0.1
_NODES = ndtri((np.arange(80) + 0.5) / 80)


@dataclass(frozen=True, eq=False)
class SlowGround:
    """The ground of a table by its slowest eigenvectors: `vectors` has a row for each cell.

    The first `in_order` cells are neighbours, between which people move.
    """

    eigenvalues: Vector
    vectors: Vector
    in_order: int

    @classmethod
    def of(cls, ground: Ground, in_order: int) -> SlowGround:
        """A ground that has one penalty."""
        scale = 1 / np.sqrt(ground.ridge)
        size, kept = ground.coefficients, min(ground.coefficients, SLOWEST)
        penalty = csc_array(diags_array(scale) @ csc_array(ground.penalties[0]) @ diags_array(scale))
        if size <= _SMALL:
            found, vectors = eigh(penalty.toarray(), subset_by_index=(0, kept - 1))
        else:
            begin = np.sin(1.0 + np.arange(size))  # any start will do, as long as it is always the same
            found, vectors = eigsh(penalty, k=kept, sigma=-1.0, v0=begin)
        coefficients = vectors * scale[:, None]
        spread = (ground.values[:, :, None] * coefficients[ground.columns]).sum(axis=1)
        return cls(np.maximum(found, 0.0), np.asarray(spread), in_order)


class ChannelPart(Part):
    """The posterior for one strength, h = `moving`, and variances `own` of what the cells have of their own."""

    def __init__(
        self,
        seen: Compressed,
        ground: SlowGround,
        start: Vector,
        strength: float,
        moving: float,
        own: Vector,
        near: Vector,
    ) -> None:
        """`near` has the logarithms of frequencies at which the search begins."""
        self.seen, self.start, self.own, self.vectors = seen, start, own, ground.vectors
        self.standing_out = np.zeros(start.size, np.bool_)
        self.moving, self.in_order = moving, ground.in_order
        self.spread = 1 / (strength * ground.eigenvalues + 1)
        self.strengths = (strength,)
        eta, longest, step, damping = near, np.inf, np.zeros(start.size), 1.0
        for _ in range(_STEPS):
            self.ground = self._table(eta)
            self.slopes = self._by_logs(seen.directions)
            self.all_own = own + 1 / np.maximum(self.ground, _LEAST_PEOPLE)
            through, moves = self.slopes @ self.vectors, self._by_moves(seen.directions)
            deviations = self._by_logs(self.slopes * self.all_own) + self._moved(moves)
            covariance = (through * self.spread) @ through.T + deviations @ seen.directions.T + seen.noise
            self.factor = cholesky(covariance, lower=True, check_finite=False)
            away = seen.values - seen.directions @ self.ground + self.slopes @ (eta - start)
            self.scaled = solve_triangular(self.factor, away, lower=True, check_finite=False)
            weights = solve_triangular(self.factor, self.scaled, lower=True, trans=1, check_finite=False)
            before, step = step, start + self.vectors @ (self.spread * (through.T @ weights)) - eta
            # The table adds up to the total whatever the level of eta is, so steps are taken without theirs.
            step -= float(self.ground @ step) / seen.total
            longest = float(np.abs(step).max())
            if float(self.ground @ (before * step)) < 0:  # back to where it came from
                damping = max(0.5 * damping, _LEAST_DAMPING)
            step *= min(damping, _LONGEST_STEP / max(longest, 1e-300))
            eta = eta + step
            if float(np.sqrt(self.ground @ step**2 / seen.total)) < _SETTLED:
                break
        self.eta = eta
        self.settled = bool(longest < _NEARLY or np.sqrt(self.ground @ step**2 / seen.total) < _NEARLY)
        self.evidence = -0.5 * float(self.scaled @ self.scaled) - float(np.log(np.diag(self.factor)).sum())
        logs = step + self.all_own * (self.slopes.T @ weights)
        self.unbounded = self.ground + self._by_logs(logs) + self._moved(moves.T @ weights)

    def _table(self, eta: Vector) -> Vector:
        f = np.exp(eta - eta.max())
        return np.asarray(f * (self.seen.total / f.sum()))

    def _by_logs(self, weights: Vector) -> Vector:
        """How weighted sums of cells move with the logarithms of the cells; each row has the weights of one sum.

        Logarithms as a row give how the cells move with them: the matrix is symmetric.
        """
        x = self.ground
        return np.asarray(weights * x - (weights @ x)[..., None] * (x / self.seen.total))

    @property
    def _reach(self) -> Vector:
        """The deviation of how many people move between two neighbours."""
        x = self.ground[: self.in_order]
        return np.asarray(self.moving * np.sqrt(x[1:] * x[:-1]))

    def _by_moves(self, weights: Vector) -> Vector:
        """How weighted sums of cells change with each z: a row for each sum."""
        return np.asarray(self._reach * np.diff(weights[..., : self.in_order]))

    def _moved(self, z: Vector) -> Vector:
        """How the cells change with z, or with each row of z."""
        found = np.zeros((*z.shape[:-1], self.ground.size))
        found[..., 1 : self.in_order] = self._reach * z
        found[..., : max(self.in_order - 1, 0)] -= self._reach * z
        return found

    def _prior(self, weights: Vector) -> float:
        """The variance of a weighted sum of cells before anything is observed."""
        logs, moves = self._by_logs(weights), self._by_moves(weights)
        return float(self.spread @ (self.vectors.T @ logs) ** 2 + self.all_own @ logs**2 + moves @ moves)

    @cached_property
    def _told(self) -> Vector:
        """The covariance of what was observed, in units of its own deviations, with the cells."""
        columns = solve_triangular(self.factor, self.seen.directions, lower=True, check_finite=False)
        logs = self._by_logs(columns)
        logs = ((logs @ self.vectors) * self.spread) @ self.vectors.T + logs * self.all_own
        return np.asarray(self._by_logs(logs) + self._moved(self._by_moves(columns)))

    @cached_property
    def standing(self) -> tuple[Vector, Vector]:
        """What the data say about each cell's own part, without its own variance: information s and score q."""
        columns = solve_triangular(self.factor, self.slopes, lower=True, check_finite=False)
        information, score = (columns**2).sum(axis=0), self.scaled @ columns
        rest = np.maximum(1 - self.own * information, 1e-6)
        return information / rest, score / rest

    @cached_property
    def moments(self) -> tuple[Vector, Vector]:
        x, total = self.ground, self.seen.total
        # No cell is negative: the nearest distribution function that never falls.
        sums = np.clip(isotonic_regression(np.cumsum(self.unbounded)).x, 0.0, total)
        sums[-1] = total
        means = np.diff(sums, prepend=0.0)
        with_all = self.vectors @ (self.spread * (self.vectors.T @ x)) + self.all_own * x
        logs = (self.vectors**2) @ self.spread + self.all_own
        variance = x**2 * (logs - 2 * with_all / total + float(x @ with_all) / total**2)
        variance[1 : self.in_order] += self._reach**2
        variance[: max(self.in_order - 1, 0)] += self._reach**2
        variance -= (self._told**2).sum(axis=0)
        return means, np.maximum(variance, 1e-12 * total)

    def points(self, rows: Rows) -> tuple[Vector, Vector]:
        mean, variance = (side[rows] for side in self.moments)
        mean = np.maximum(mean, 1e-9)
        spread = np.log1p(variance / mean**2)[:, None]
        f = mean[:, None] * np.exp(np.sqrt(spread) * _NODES - spread / 2)
        return f, np.full(f.shape, 1 / _NODES.size)

    def sum_moments(self, weights: Vector) -> tuple[float, float]:
        known = self._told @ weights
        several = 1.0 if np.count_nonzero(weights) < 2 else MORE_DOUBT
        return float(weights @ self.moments[0]), several * max(self._prior(weights) - float(known @ known), 0.0)


def channel_fit(
    seen: Compressed, ground: SlowGround, start: Vector, strength: float, tau: float, near: Part | None = None
) -> ChannelPart:
    """The posterior for this strength and tau: which cells stand out is learnt in a few rounds, beginning `near` by."""
    moving = MOVING * tau
    # Of cells in order, people move; a cell apart has nobody to exchange with, and deviates by tau alone.
    usual = np.where(np.arange(start.size) < ground.in_order, 0.0, np.expm1(tau**2) + _LEAST_OWN)
    own, eta, best = usual, start, None
    if isinstance(near, ChannelPart):
        own, eta = np.where(near.standing_out, near.own, usual), near.eta
    for _ in range(_ROUNDS):
        part = ChannelPart(seen, ground, start, strength, moving, own, eta)
        part.standing_out = own > usual
        part.evidence -= PRICE * np.count_nonzero(part.standing_out) + SELDOM * float(np.log1p(10 * moving))
        if best is not None and not part.evidence > best.evidence:
            break
        best, eta = part, part.eta
        more = _standing_out(part, usual)
        if (more == own).all():
            break
        own = more
    assert best is not None  # noqa: S101 (for the type checker)
    best.tau = float(np.log1p(np.sqrt(2) * moving)) if ground.in_order else tau
    best.rho = float(best.standing_out.mean())
    return best


def _standing_out(part: ChannelPart, usual: Vector) -> Vector:
    """The variances of the cells: a few more stand out, and those that are not worth their price no longer do."""
    s, q = part.standing
    own, out = part.own, part.standing_out
    variance = np.maximum(q**2 - s, 0.0) / np.maximum(s, 1e-300) ** 2

    def explained(k: Vector) -> Vector:
        return np.asarray(0.5 * (q**2 * k / (1 + k * s) - np.log1p(k * s)))

    gain = explained(variance) - explained(usual)
    needless = out & (gain < PRICE)
    others = usual + part.all_own - own + 2 * part.moving**2  # what the cell has like any other
    gain[(variance < np.maximum(4 * others, 1.0)) | (q < 0) | out] = 0.0
    peak = (gain >= np.append(gain[1:], 0.0)) & (gain >= np.append(0.0, gain[:-1]))
    found = np.flatnonzero((gain > PRICE) & peak)
    if not found.size and not needless.any():
        return own
    chosen = found[np.argsort(-gain[found])][:_AT_ONCE]
    more = np.where(out, np.where(needless, usual, np.maximum(variance, usual + _LEAST_OWN)), own)
    more[chosen] = variance[chosen]
    return np.asarray(more)
