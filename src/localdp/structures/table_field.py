r"""The ground of a table with rows and columns, without a list of its cells' coefficients.

The coefficients are a level, an effect for each row and one for each column. With the precisions W of the cells as a
matrix, Q has the sums of W in its first row, its row sums and column sums on the diagonal, and W itself where rows
meet columns. The variance of g in a cell is a sum of entries of Q^-1, which broadcasting adds up for all cells at once.
"""

from __future__ import annotations

import numpy as np

from localdp.structures.base import Ground
from localdp.structures.field import DenseFactor, Factor, Field
from localdp.types import Vector


class TableField(Field):
    """The ground of a table with two questions, ready to be fitted many times."""

    def __init__(self, ground: Ground, shape: tuple[int, int]) -> None:
        self.ground, self.shape = ground, shape
        m = ground.coefficients
        self._rows, self._columns = slice(1, 1 + shape[0]), slice(1 + shape[0], m)
        self._penalties = tuple(penalty.diagonal() for penalty in ground.penalties)
        self._ridge = ground.ridge
        self._place = np.arange(m, dtype=np.intp)

    def factor(self, prior: Vector, weights: Vector | None = None) -> Factor:
        q = np.diag(prior)
        if weights is not None:
            table = weights.reshape(self.shape)
            by_row, by_column = table.sum(axis=1), table.sum(axis=0)
            q[0, 0] += by_row.sum()
            q[0, self._rows], q[0, self._columns] = by_row, by_column
            q[self._rows, self._columns] = table
            every = np.arange(1, q.shape[0])
            q[every, every] += np.concatenate([by_row, by_column])
        return DenseFactor(q)

    def gathered(self, cells: Vector) -> Vector:
        table = cells.reshape(self.shape)
        by_row = table.sum(axis=1)
        return np.concatenate([[by_row.sum()], by_row, table.sum(axis=0)])

    def spread(self, coefficients: Vector) -> Vector:
        found = coefficients[0] + coefficients[self._rows, None] + coefficients[self._columns]
        return np.asarray(found.ravel())

    def variances(self, factor: Factor) -> Vector:
        assert isinstance(factor, DenseFactor)  # noqa: S101 (for the type checker)
        inverse = factor.upper_inverse()
        own = np.diag(inverse) + 2 * inverse[0]
        found = 2 * inverse[self._rows, self._columns]
        found += own[self._rows, None] + inverse[0, 0]
        found += own[self._columns]
        return np.asarray(found.ravel())
