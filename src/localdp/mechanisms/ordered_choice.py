r"""Which mechanism "auto" takes for answers that have an order: the one whose distribution function is known best.

Means, percentiles and ranges are read off the distribution function, so mechanisms are compared by its expected error.
Let the shares be x = (1 + g + u)/k on k coarse cells. g is a smooth curve, Gaussian with small second differences, and
u is a little that each cell has of its own: the prior of `localdp.structures`, linear around equal shares. Reports
tell about x with the information J, and leave the covariance (C^-1 + J)^-1. J is

- of a pure mechanism, n/v for each cell, where v is the variance for one user, added up over the cells that a coarse
  one stands for;
- through a channel A, that of multinomial counts, n A' diag(1/(A x)) A, with the channel of the coarse cells.

The error is the root of the mean variance of the sums x_1 + .. + x_i. Each byte of a report counts as 0.1% more
variance, as everywhere (`choice`).
"""

from __future__ import annotations

import math

import numpy as np

from localdp.mechanisms.base import Mechanism
from localdp.mechanisms.choice import PRICE_OF_A_BYTE, Choice, Make, offered_by
from localdp.mechanisms.wave import MOST_CELLS, SquareWave
from localdp.types import Vector
from localdp.validation import checked_epsilon

USERS = 100_000
"""For how many people mechanisms are compared. With more of them, the differences become smaller, not others."""

_COARSE = 48
_BEND = 22.0  # the second differences of g, for curves over the range from 0 to 1: hills of a third of the range
_OWN = 0.1  # the variance of u
_LEVEL = 9.0  # the variance of the level of g


def choose_ordered(kinds: tuple[Make, ...], size: int, epsilon: float, ordered: int) -> Choice:
    """The mechanism of the least expected error, of these kinds and `wave`. The first of the list wins a tie."""
    checked_epsilon(epsilon)
    candidates, _ = offered_by(kinds, size, epsilon, {})
    if size <= MOST_CELLS:
        candidates.append(SquareWave(size, epsilon, ordered=ordered))
    price = {one: _price(one, ordered) for one in candidates}
    chosen = min(candidates, key=price.__getitem__)
    pure = min((one for one in candidates if one.pure), key=price.__getitem__)
    where = f"for {ordered:,} ordered cells at epsilon {epsilon:g} and {USERS:,} people"
    best = f"{chosen.name}: shares of ranges, means and percentiles are expected to be most accurate with it {where}"
    if not chosen.pure:
        times = distribution_error(pure, ordered) / distribution_error(chosen, ordered)
        best += f" ({pure.name}, the best that looks at single cells, has {times:.1f} times the error)"
    return Choice(chosen, tuple(sorted(candidates, key=price.__getitem__)), best)


def distribution_error(mechanism: Mechanism, ordered: int) -> float:
    """The expected error of the distribution function: the root of its mean squared deviation, as a share.

    >>> from localdp.mechanisms.unary import OptimizedUnary
    >>> [round(distribution_error(kind(100, 1.0), 100), 4) for kind in (OptimizedUnary, SquareWave)]
    [0.023, 0.0079]
    """
    cells = min(ordered, _COARSE)
    sums = np.tril(np.ones((cells, cells)))
    return math.sqrt(float(np.trace(sums @ left_over(mechanism, ordered, USERS) @ sums.T)) / cells)


def left_over(mechanism: Mechanism, ordered: int, users: int) -> Vector:
    """The covariance of the shares of the coarse cells, given the reports of so many users."""
    cells = min(ordered, _COARSE)
    # People who are counted fix the sum of the shares: deviations that change it are taken out.
    centred = np.eye(cells) - 1 / cells
    spread = centred @ _prior(cells) @ centred / cells**2
    if mechanism.pure:
        variance = (mechanism.variance(1) + mechanism.excess_variance / ordered) * ordered / cells
        noise = centred * (variance / users)
    else:
        law = SquareWave(cells, mechanism.requested_epsilon)._outcome_law
        information = users * (law / law.mean(axis=0)) @ law.T
        noise = centred @ np.linalg.inv(information) @ centred
    return np.asarray(spread - spread @ np.linalg.pinv(spread + noise) @ spread)


def _prior(cells: int) -> Vector:
    """The covariance of g + u."""
    differences = np.diff(np.eye(cells), min(2, cells - 1), axis=0)
    precision = differences.T @ differences * (cells**3 / _BEND) + np.eye(cells) / (_LEVEL * cells)
    return np.asarray(np.linalg.inv(precision) + _OWN * np.eye(cells))


def _price(mechanism: Mechanism, ordered: int) -> float:
    return distribution_error(mechanism, ordered) ** 2 * (1 + PRICE_OF_A_BYTE * mechanism.report_bytes)
