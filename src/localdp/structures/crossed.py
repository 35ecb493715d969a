"""Cells of a table with rows and columns, and perhaps layers: two or three questions answered together."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, kron

from localdp.errors import InvalidInputError
from localdp.structures.base import FREE, Ground, Matrix, Structure
from localdp.types import Vector

MOST_PAIRS = 1500
"""A table of three questions has effects of pairs of answers if there are no more of them than this."""

UNSEEN = 1.0
"""The deviation, as a logarithm, that intervals allow for in cells that are much rarer than the noise."""


class Crossed(Structure):
    """A table of several questions, row after row: how often answers go together is mostly a product.

    The ground is the effect of the row plus that of the column, as logarithms. Cells deviate from it, most of them a
    little, and a few may stand out. With three questions, pairs of answers have effects as well.

    >>> Crossed((5, 8)).shape
    (5, 8)
    """

    name = "crossed"

    def __init__(self, shape: Any) -> None:
        try:
            self.shape = tuple(int(size) for size in shape)
            whole = all(size == given for size, given in zip(self.shape, shape, strict=True))
        except (TypeError, ValueError):
            self.shape, whole = (), False
        if not whole or len(self.shape) not in (2, 3) or min(self.shape) < 2:
            raise InvalidInputError(
                f"the shape of a table is 2 or 3 whole numbers of at least 2, such as (5, 8), not {shape!r:.40}"
            )

    def check(self, cells: int) -> None:
        """The table must have as many cells as there are items."""
        if prod(self.shape) != cells:
            sizes = " x ".join(map(str, self.shape))
            raise InvalidInputError(
                f"a table of {sizes} has {prod(self.shape):,} cells, but there are {cells:,} items: give the number of "
                "answers of each question, in the order in which they were crossed"
            )

    def precision(self, cells: int) -> Matrix:
        """Interactions, squared: what the sums of the effects of rows and columns do not explain."""
        self.check(cells)
        found: Matrix = csr_array(np.ones((1, 1)))
        for size in self.shape:
            found = kron(found, np.eye(size) - 1 / size)
        return csr_array(found)

    def ground(self, cells: int) -> Ground:
        """A level, an effect for each answer of each question and, of three questions, for each pair of answers."""
        self.check(cells)
        places = np.indices(self.shape).reshape(len(self.shape), -1)
        groups = [(axis,) for axis in range(len(self.shape))]
        pairs = list(combinations(range(len(self.shape)), 2)) if len(self.shape) > 2 else []
        if sum(self.shape[one] * self.shape[other] for one, other in pairs) > MOST_PAIRS:
            pairs = []
        columns, kinds, used = [np.zeros(cells, np.intp)], [np.array([-1])], 1
        for kind, group in enumerate([*groups, *pairs]):
            sizes = [self.shape[axis] for axis in group]
            columns.append(used + np.ravel_multi_index([places[axis] for axis in group], sizes))
            kinds.append(np.full(prod(sizes), min(kind, len(groups)) // len(groups)))
            used += prod(sizes)
        kind_of = np.concatenate(kinds)
        penalties = tuple(diags_array((kind_of == kind).astype(float)) for kind in range(2 if pairs else 1))
        return Ground(
            columns=np.stack(columns, axis=1),
            values=np.ones((cells, len(columns))),
            penalties=penalties,
            strengths=(1.0, 16.0)[: len(penalties)],
            ridge=np.where(kind_of < 0, 1 / FREE**2, 1e-6),
            start=np.zeros(cells),
            doubts=np.zeros(cells),
            table=(self.shape[0], self.shape[1]) if len(self.shape) == 2 else None,
        )

    def grounds_of(self, estimates: Vector, variances: Vector) -> tuple[Ground, ...]:
        """The same ground; intervals of cells that are rarer than the noise allow for interactions nobody has seen.

        How much cells deviate is learnt from frequent ones, whose interactions the effects explain in part. Where rows
        and columns interact systematically, rare cells deviate more than that.
        """
        table, total = estimates.reshape(self.shape), max(float(estimates.sum()), 1.0)
        expected = np.full(self.shape, total)
        for axis in range(len(self.shape)):
            others = tuple(other for other in range(len(self.shape)) if other != axis)
            expected *= np.maximum(table.sum(axis=others, keepdims=True), 0.0) / total
        f = expected.ravel()
        return (replace(self.ground(estimates.size), unseen=UNSEEN**2 * variances / (variances + f * f)),)

    def __repr__(self) -> str:
        return f"Crossed({self.shape})"
