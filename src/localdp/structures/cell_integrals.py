r"""Integrals over one cell's logarithm, for all cells at once.

The other cells say that the ground g of a cell is N(m, s), and u has the two parts of `localdp.structures.deviations`
with variances t_k. So eta = g + u is a mixture of N(m, s + t_k), times the likelihood of the cell's own estimate. The
integral over eta is a sum over nodes that are placed for each cell and part: equally spaced to both sides of the mode,
as far as the density falls to each side. (Half a sum to each side is accurate because the slope is 0 at the mode.)

Given eta and the part, g is Gaussian with the mean m + s/(s + t_k) (eta - m) and the variance s t_k/(s + t_k); this
gives the moments of g that the fit needs, and of f = exp(eta).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from localdp.structures.likelihood import CellLikelihood, Rows
from localdp.types import Vector

_REACH = 4.8  # nodes go this many widths to each side
SIDE, FEWER = 6, 4
"""Nodes on each side of the mode; fewer where there are very many cells."""

_STEPS = 8  # of Newton's method for the mode
_LONGEST, _CLOSE = 1.5, 1e-3  # of one step; the mode need not be exact
_SEEN = 3.0  # deviations of its noise from which on the estimate of a cell has a peak of its own


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes for every cell and part (cells x parts x nodes), with the logarithm of likelihood times spacing."""

    eta: Vector
    logs: Vector
    likely: Vector
    """The largest log-likelihood of every cell at its nodes."""


@dataclass(frozen=True, eq=False)
class Tilted:
    """The distribution of every cell, given its own estimate and what the others say.

    `shares` are the probabilities of the nodes, which are not kept if there are very many cells; `log_mass` is the
    logarithm of what they summed to before, and `likely` the largest log-likelihood of each cell.
    """

    nodes: Nodes | None
    shares: Vector | None
    log_mass: Vector
    likely: Vector
    ground_mean: Vector
    ground_variance: Vector
    part_shares: Vector
    mean: Vector
    variance: Vector
    slope: Vector
    """How f moves with the ground: Cov(f, g)/Var(g), corrected for the bend of the exponential function."""


def placed(
    likelihood: CellLikelihood, rows: Rows, m: Vector, variances: Vector, side: int = SIDE, near: Nodes | None = None
) -> Nodes:
    """Nodes for cells whose eta is N(m, variance) under each part, before their own estimate is seen.

    The search for the mode begins in the middle of the nodes `near`, if there are any.
    """
    y, v = likelihood.gaussian(rows)
    y, v, centre = y[:, None], v[:, None], m[:, None]
    if near is None:
        mode, fewest = np.minimum(centre, np.log(np.maximum(y, 0.0) + 3 * np.sqrt(v))), 3
    else:
        mode, fewest = near.eta[..., near.eta.shape[2] // 2], 0
    sure, precise = 1 / variances, 1 / v

    def search(mode: Vector) -> tuple[Vector, Vector]:
        for step in range(_STEPS):
            f = np.exp(mode)
            slope = (centre - mode) * sure + f * (y - f) * precise
            bend = sure + f * f * precise
            move = np.clip(slope / bend, -_LONGEST, _LONGEST)
            mode = mode + move
            if step >= fewest and np.mean(move * move) < _CLOSE**2:
                break
        return mode, bend

    def height(at: Vector) -> Vector:
        f = np.exp(at)
        return np.asarray(-0.5 * ((at - centre) ** 2 * sure + (y - f) ** 2 * precise))

    mode, bend = search(mode)
    top = height(mode)
    # An estimate that is far from what others say has a narrow peak, which the search may not have reached.
    peak = np.log(np.maximum(y, 1e-300))
    lost = (y * y * precise > _SEEN**2) & (y > 0) & (-0.5 * (peak - centre) ** 2 * sure > top + 0.5)
    if lost.any():
        mode, bend = (
            np.where(lost, *pair) for pair in zip(search(np.where(lost, peak, mode)), (mode, bend), strict=True)
        )
        top = height(mode)
    # A Gaussian falls by 1/2 within a deviation. Two corrections find where this density has fallen by as much.
    first = 1 / np.sqrt(bend)
    widths = []
    for direction in (-1.0, 1.0):
        width = first
        for _ in range(2):
            fall = np.maximum(top - height(mode + direction * width), 1e-3)
            width = np.minimum(width * np.clip(np.sqrt(0.5 / fall), 0.3, 4.0), 1.3 * np.sqrt(variances))
        widths.append(width)
    positions = np.linspace(-_REACH, _REACH, 2 * side + 1)
    left, right = widths
    eta = np.empty((*mode.shape, positions.size))
    spacing = np.empty(eta.shape)
    for nodes, width in (
        (slice(0, side), left),
        (slice(side, side + 1), (left + right) / 2),
        (slice(side + 1, None), right),
    ):
        np.multiply(width[..., None], positions[nodes], out=eta[..., nodes])
        spacing[..., nodes] = np.log(width * (_REACH / side))[..., None]
    eta += mode[..., None]
    cells = eta.shape[0]
    logs = likelihood.log(np.exp(eta).reshape(cells, -1), rows)
    return Nodes(eta, logs.reshape(eta.shape) + spacing, largest(logs))


def largest(rows: Vector) -> Vector:
    """The largest number of each row: column by column, because rows are many and short."""
    found = rows[:, 0].copy()
    for column in range(1, rows.shape[1]):
        np.maximum(found, rows[:, column], out=found)
    return found


@dataclass(frozen=True, eq=False)
class Told:
    """What every cell says about its ground: mean and variance, and the shares of the parts of u."""

    ground_mean: Vector
    ground_variance: Vector
    part_shares: Vector


@dataclass(frozen=True, eq=False)
class _Weighed:
    """The nodes of every cell in a row: their probabilities, and how far they are from m; `parts` adds up by part."""

    shares: Vector
    away: Vector
    parts: Vector
    log_mass: Vector

    @classmethod
    def of(cls, nodes: Nodes, log_shares: Vector, m: Vector, variances: Vector) -> _Weighed:
        cells, parts, size = nodes.eta.shape
        away = nodes.eta - m[:, None, None]
        logs = away * away
        logs *= (-0.5 / variances)[..., None]
        logs += nodes.logs
        logs += (log_shares - 0.5 * np.log(2 * np.pi * variances))[..., None]
        shares = logs.reshape(cells, -1)
        top = largest(shares)
        shares -= top[:, None]
        np.exp(shares, out=shares)
        # Sums over a few nodes are products with a matrix of ones: many times as fast as sums along a short axis.
        by_part = np.repeat(np.eye(parts), size, axis=0)
        mass = shares @ np.ones(parts * size)
        shares /= mass[:, None]
        return cls(shares, away.reshape(cells, -1), by_part, np.log(mass) + top)

    def told(self, m: Vector, s: Vector, own: Vector) -> Told:
        """The moments of the ground."""
        part_shares = self.shares @ self.parts
        weighted = self.shares * self.away
        pull = s[:, None] / (s[:, None] + own)
        shift = ((weighted @ self.parts) * pull).sum(axis=1)
        weighted *= self.away
        spread = ((weighted @ self.parts) * pull**2 + part_shares * pull * own).sum(axis=1) - shift**2
        return Told(m + shift, np.maximum(spread, 1e-12 * s), part_shares)


def told(nodes: Nodes, log_shares: Vector, m: Vector, s: Vector, own: Vector) -> Told:
    """What cells say about their ground, which is N(m, s) by what others say; u has the variances `own`."""
    return _Weighed.of(nodes, log_shares, m, s[:, None] + own).told(m, s, own)


def tilted(nodes: Nodes, log_shares: Vector, m: Vector, s: Vector, own: Vector) -> Tilted:
    """The distribution of cells whose ground is N(m, s) and whose u has the variances `own` in its parts."""
    weighed = _Weighed.of(nodes, log_shares, m, s[:, None] + own)
    ground = weighed.told(m, s, own)
    shares, away, every = weighed.shares, weighed.away, np.ones(weighed.shares.shape[1])
    shift, spread, pull = ground.ground_mean - m, ground.ground_variance, s[:, None] / (s[:, None] + own)
    f = np.exp(nodes.eta).reshape(shares.shape)
    weighted = shares * f
    mean = weighted @ every
    variance = (shares * (f - mean[:, None]) ** 2) @ every
    weighted *= away
    covariance = ((weighted @ weighed.parts) * pull).sum(axis=1) - mean * shift
    # f is exp(eta), which is not a straight line: the share of its variance that a line explains is no measure of what
    # the ground explains, but that of eta corrects it.
    whole = (shares * away) @ every
    around = np.maximum((shares * away**2) @ every - whole**2, 0.0)
    straight = (weighted @ every - mean * whole) ** 2 / np.maximum(around * variance, 1e-300)
    bent = np.sqrt(np.clip(straight, 0.05, 1.0))
    return Tilted(
        nodes,
        shares.reshape(nodes.eta.shape),
        weighed.log_mass,
        nodes.likely,
        ground.ground_mean,
        spread,
        ground.part_shares,
        mean,
        variance,
        covariance / spread / bent,
    )


def joined(pieces: Sequence[Tilted]) -> Tilted:
    """Several pieces of a table as one, without their nodes; a single piece as it is."""
    if len(pieces) == 1:
        return pieces[0]
    return Tilted(nodes=None, shares=None, **_concatenated(pieces, Tilted))


def all_told(pieces: Sequence[Told]) -> Told:
    """What several pieces of a table say about the ground, as one."""
    return pieces[0] if len(pieces) == 1 else Told(**_concatenated(pieces, Told))


def _concatenated(pieces: Sequence[Any], kind: Any) -> dict[str, Vector]:
    columns = [entry.name for entry in fields(kind) if entry.name not in ("nodes", "shares")]
    return {name: np.concatenate([getattr(piece, name) for piece in pieces]) for name in columns}
