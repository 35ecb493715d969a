r"""The posterior of a table for given strengths, by expectation propagation.

Each cell tells the ground something: a Gaussian N(g_i; b_i/w_i, 1/w_i) in the place of its own, exact term

    L_i(g) = integral of p(estimate_i | exp(g + u)) p(u) du.

Take the ground that all other cells agree on, N(m, s), tilt it by L_i, and choose w_i and b_i so that mean and variance
come out right; repeat for all cells until nothing moves (T. Minka, Expectation Propagation for Approximate Bayesian
Inference, 2001). The tilted distributions are the posteriors of the cells, and the masses give the evidence:

    log p(estimates) = Phi(posterior) - Phi(prior) + sum_i [ log Z_i + Phi(without i) - Phi(with i) ],

where Phi is the logarithm of a Gaussian's normalising constant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localdp.structures.cell_integrals import FEWER, SIDE, Nodes, Tilted, all_told, joined, placed, tilted, told
from localdp.structures.deviations import Deviations
from localdp.structures.field import Factor, Field, NotPositiveError
from localdp.structures.likelihood import CellLikelihood
from localdp.types import Vector

MOST_ROUNDS, FEWER_ROUNDS = 40, 8
"""Rounds at most, and where very many cells begin from a fit nearby."""

SETTLED, SETTLED_MANY = 2e-3, 2e-2
"""Rounds end once the means of the ground move by no more than this share of their deviations, on average; the second
is for very many cells."""

NEARLY = 0.05
"""If something still moves by more than this at the end, the fit is not used."""

MOST_OUT = 0.25
"""The share of cells that stand out is at most this: otherwise they are the ground."""

MANY = 20_000
"""More cells than this are handled some at a time, with fewer nodes and a shorter search."""

AT_ONCE = 3_000
"""So many of them: their nodes fit into the processor's cache."""

_PLACED_ANEW: tuple[int, ...] = (0, 1, 3, 6, 10, 15, 22, 30)  # rounds in which the nodes of the cells are placed anew
_PLACED_LESS_OFTEN = (0, 2, 5, 10, 20, 30)  # the same where there are very many cells
_LEAST_STEP, _HALVINGS = 0.2, 8
_LEAST_WITHOUT = 0.02  # a cell that says more than 98% of what is known about its ground begins anew
_LEAST = 1e-9  # the least precision that a cell tells the ground
_EXPECTED_OUT = 0.02  # the share of cells that stand out, before any is seen; it counts as much as 10 cells
_PRIOR_CELLS = 10.0


@dataclass(frozen=True, eq=False)
class Sites:
    """What every cell tells the ground: precisions w and w times means."""

    precision: Vector
    shifted: Vector


@dataclass(frozen=True, eq=False)
class Fit:
    """The posterior for given strengths: the ground without each cell, N(mean, variance), and the cells."""

    strengths: tuple[float, ...]
    deviations: Deviations
    evidence: float
    settled: bool
    sites: Sites
    factor: Factor
    ground_mean: Vector
    """m and s: what all other cells say about the ground of each cell."""
    ground_variance: Vector
    cells: Tilted


def first_sites(likelihood: CellLikelihood, start: Vector) -> Sites:
    """Sites to begin with: every estimate as if the frequency were near the start."""
    y, v = likelihood.gaussian()
    f = np.exp(start)
    # Where noise is larger than the frequency, only many cells together say anything, and none may be cut short.
    farthest = 1.5 * np.maximum(1.0, np.sqrt(v) / f)
    near = np.clip((y - f) / f, -farthest, farthest)
    precision = np.maximum(f * f / (v + f * f), _LEAST)
    return Sites(precision, precision * near)


def _possible(field: Field, prior: Vector, sites: Sites) -> tuple[Vector, Vector, Factor]:
    """Sites from another fit, without negative precisions if those are too much for this prior."""
    try:
        return sites.precision, sites.shifted, field.factor(prior, sites.precision)
    except NotPositiveError:
        w = np.maximum(sites.precision, _LEAST)
        return w, np.where(sites.precision > 0, sites.shifted, 0.0), field.factor(prior, w)


def _moved(
    field: Field, prior: Vector, here: tuple[Vector, Vector], there: tuple[Vector, Vector], step: float
) -> tuple[Vector, Vector, Factor]:
    """The sites on the way from here to there, as far as the ground keeps a positive precision, and its factor."""
    for _ in range(_HALVINGS):
        w, b = (one + step * (other - one) for one, other in zip(here, there, strict=True))
        try:
            return w, b, field.factor(prior, w)
        except NotPositiveError:
            step /= 2
    return *here, field.factor(prior, here[0])


def _share_out(rho: float, out: Vector) -> float:
    """The share of cells that stand out that explains best what the cells say, if each does so with these chances.

    The chances say how much likelier a cell is if it stands out, whatever rho is; a Newton step finds a better rho.
    (The mean of the chances, as in expectation maximisation, moves too slowly where cells say little.)
    """
    likelier = (out - rho) / (rho * (1 - rho))
    expected, other = _EXPECTED_OUT * _PRIOR_CELLS, (1 - _EXPECTED_OUT) * _PRIOR_CELLS
    slope = float(likelier.sum()) + expected / rho - other / (1 - rho)
    bend = float(likelier @ likelier) + expected / rho**2 + other / (1 - rho) ** 2
    return float(np.clip(rho + slope / bend, rho / 4, min(4 * rho, MOST_OUT)))


def fit(
    field: Field,
    likelihood: CellLikelihood,
    start: Vector,
    strengths: tuple[float, ...],
    deviations: Deviations,
    sites: Sites,
    most: int = MOST_ROUNDS,
) -> Fit:
    """The posterior for these strengths and tau; rho is learnt, starting from that of `deviations`.

    `start` has the logarithms of frequencies around which the ground is N(0, prior). There are at most so many rounds.
    """
    at_once, side, anew, close = MANY, SIDE, _PLACED_ANEW, SETTLED
    if likelihood.cells > MANY:
        at_once, side, anew, close = AT_ONCE, FEWER, _PLACED_LESS_OFTEN, SETTLED_MANY
    pieces = [slice(begin, begin + at_once) for begin in range(0, likelihood.cells, at_once)]
    prior = field.prior(strengths)
    prior_log_det = field.factor(prior).log_det
    rho, law = deviations.rho, deviations
    nodes: list[Nodes | None] = [None] * len(pieces)
    w, b, factor = _possible(field, prior, sites)
    last, step, moved = None, 1.0, np.inf
    for number in range(most):
        coefficients = factor.solve(field.gathered(b))
        mean, variance = field.spread(coefficients), np.maximum(field.variances(factor), 1e-14)
        without = 1 - w * variance
        usable = without > _LEAST_WITHOUT
        precision = np.where(usable, without, 1.0) / variance
        m, s = np.where(usable, (mean / variance - b) / precision, mean), 1 / precision
        law = Deviations(deviations.tau, rho)
        own, centre = law.variances(field.ground.doubts), start + m
        if number in anew:
            nodes = [
                placed(likelihood, rows, centre[rows], s[rows, None] + own[rows], side, old)
                for rows, old in zip(pieces, nodes, strict=True)
            ]
        at = [
            (some, law.log_shares, centre[rows], s[rows], own[rows])
            for some, rows in zip(nodes, pieces, strict=True)
            if some is not None
        ]
        if last is not None:
            before, moved = moved, float(np.sqrt(np.mean((mean - last) ** 2 / variance)))
            if moved < close and number > 2:
                break
            # Cells that agree with each other move together, and farther than each of them meant to.
            step = max(0.6 * step, _LEAST_STEP) if number > 2 and moved > 0.7 * before else step
        if number + 1 == most:  # everything that is returned belongs to the same sites
            break
        last = mean
        ground = all_told([told(*one) for one in at])
        rho = _share_out(rho, ground.part_shares[:, 1])
        sure = np.where(usable, 1 / ground.ground_variance - precision, 0.0)
        shifted = np.where(usable, (ground.ground_mean - start) / ground.ground_variance - m * precision, 0.0)
        w, b, factor = _moved(field, prior, (w, b), (sure, shifted), step)
    cells = joined([tilted(*one) for one in at])
    evidence = 0.5 * (prior_log_det - factor.log_det + float(field.gathered(b) @ coefficients))
    evidence += float(
        (cells.log_mass + 0.5 * (m * m / s + np.log(s)) - 0.5 * (mean * mean / variance + np.log(variance))).sum()
    )
    largest = float(cells.likely.sum())
    settled = bool(moved < NEARLY and usable.all() and evidence < largest)
    return Fit(strengths, law, evidence, settled, Sites(w, b), factor, m, s, cells)
