r"""Whether two questions have to do with each other: how strongly, and a test of independence.

**How strongly**: Cramer's V, from 0 (independent) to 1 (one answer tells the other). With shares x_ab of the people who
answered both questions, and the margins r_a and c_b of this table,

    V^2 = sum over a, b of (x_ab - r_a c_b)^2 / (r_a c_b)  divided by  min(rows, columns) - 1.

**The test** looks at the reports of the part that asked both questions, and at nothing that was shrunk. Let y be the
unbiased estimates of the table among those who answered both, and s their sum. The statistic is

    S = sum over a, b of (y_ab - y_a. y_.b / s)^2 / v_ab,

with the variance v_ab of y_ab if the questions are independent. Its law under independence is simulated: a table with
the estimated margins and no interaction, as many people as there were, drawn from it, and the noise of their reports
(`localdp.changes.sides`, `localdp.kernels.simulated_null`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localdp.calibrate.base import Quantity
from localdp.changes.sides import Side
from localdp.kernels.simulated_null import simulated_p_value
from localdp.plan import Aggregate
from localdp.questionnaires.posterior import DrawnPosterior
from localdp.types import Vector


@dataclass(frozen=True)
class Association(Quantity):
    """Cramer's V with its interval, and the p-value of "the two questions are independent"."""

    p_value: float


def cramers_v(tables: Vector) -> Vector:
    """V of each table; the last two axes are rows and columns.

    >>> cramers_v(np.array([[[0.5, 0.0], [0.0, 0.5]], [[0.25, 0.25], [0.25, 0.25]]])).tolist()
    [1.0, 0.0]
    """
    x = tables / np.maximum(tables.sum(axis=(-2, -1), keepdims=True), 1e-300)
    product = x.sum(axis=-1, keepdims=True) * x.sum(axis=-2, keepdims=True)
    squares = np.where(product > 1e-15, (x - product) ** 2 / np.maximum(product, 1e-15), 0.0).sum(axis=(-2, -1))
    return np.asarray(np.sqrt(np.clip(squares / (min(x.shape[-2:]) - 1), 0.0, 1.0)))


def association(best: Vector, draws: Vector, counted: Aggregate, shape: tuple[int, int], level: float) -> Association:
    """How strongly two questions have to do with each other.

    `best` is the table with all cells, also those for no answer, and `draws` has draws of it; `shape` is the number of
    declared answers to each question. `counted` are the reports of the part that asked both.
    """
    rows, columns = shape
    value, drawn = cramers_v(best[:rows, :columns]), cramers_v(draws[:, :rows, :columns])
    # A share too lies between 0 and 1, so V gets the interval that a share with such draws would have.
    low, high = DrawnPosterior(value.reshape(1), drawn[:, None], 1.0).shortest_intervals(level)
    return Association(float(value), float(low[0]), float(high[0]), level, p_value(best, counted, shape))


def p_value(best: Vector, counted: Aggregate, shape: tuple[int, int]) -> float:
    """The p-value of independence, from reports of the part that asked both questions; NaN if there are none."""
    if not counted.n:
        return float("nan")
    rows, columns = shape
    side = Side.of(counted)
    block = best[:rows, :columns]
    null = best.copy()
    null[:rows, :columns] = np.outer(block.sum(axis=1), block.sum(axis=0)) / block.sum()
    shares = null.ravel() / null.sum()
    variances = np.maximum(side.variances(shares), 1e-300).reshape(null.shape)[:rows, :columns]

    def statistic(tables: Vector) -> Vector:
        y = tables.reshape(-1, *null.shape)[:, :rows, :columns]
        whole = np.maximum(y.sum(axis=(1, 2), keepdims=True), 0.1)
        away = y - y.sum(axis=2, keepdims=True) * y.sum(axis=1, keepdims=True) / whole
        return np.asarray((np.square(away) / variances).sum(axis=(1, 2)))

    def draw(times: int, rng: np.random.Generator) -> Vector:
        return statistic(side.redraw(shares, times, rng))

    return simulated_p_value(float(statistic(side.shares)[0]), draw, size=best.size)
