r"""The ground of a table with rows and columns, without a list of its cells' coefficients.

The coefficients are a level, an effect for each row and one for each column. With the precisions W of the cells as a
matrix, the row sums r of W and the rest in blocks,

    Q = [ D   K ]        D = diag(prior + r) for the rows,    K = [ r  W ],
        [ K'  M ]        M for the level and the columns: the sums of W in its first row, and otherwise diagonal.

Rows are eliminated first, which leaves S = M - K' D^-1 K, a matrix with a row for each column. With B = D^-1 K, Q^-1
has the blocks S^-1, -B S^-1 and D^-1 + B S^-1 B', and the variance of g in a cell is a sum of their entries.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from localdp.structures.base import Ground
from localdp.structures.field import Factor, Field, require_positive
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
        table = np.zeros(self.shape) if weights is None else weights.reshape(self.shape)
        return TableFactor(prior, table)

    def gathered(self, cells: Vector) -> Vector:
        table = cells.reshape(self.shape)
        by_row = table.sum(axis=1)
        return np.concatenate([[by_row.sum()], by_row, table.sum(axis=0)])

    def spread(self, coefficients: Vector) -> Vector:
        found = coefficients[0] + coefficients[self._rows, None] + coefficients[self._columns]
        return np.asarray(found.ravel())

    def variances(self, factor: Factor) -> Vector:
        assert isinstance(factor, TableFactor)  # noqa: S101 (for the type checker)
        return factor.cell_variances()


class TableFactor:
    """Q with the rows eliminated."""

    def __init__(self, prior: Vector, table: Vector) -> None:
        """`prior` is the diagonal of the prior's precision, and `table` has the precisions of the cells."""
        self._count = count = table.shape[0]
        by_row, by_column = table.sum(axis=1), table.sum(axis=0)
        self._diagonal = prior[1 : 1 + count] + by_row
        require_positive(bool((self._diagonal > 0).all()))
        crossing = np.column_stack([by_row, table])
        self._through = crossing / self._diagonal[:, None]
        rest = np.diag(np.concatenate([prior[:1], prior[1 + count :] + by_column]))
        rest[0, 0] += by_row.sum()
        rest[0, 1:] = rest[1:, 0] = by_column
        self._rest, failed = dpotrf(rest - crossing.T @ self._through, lower=0)
        require_positive(not failed)

    @property
    def log_det(self) -> float:
        return float(np.log(self._diagonal).sum() + 2 * np.log(np.diag(self._rest)).sum())

    def solve(self, right: Vector) -> Vector:
        rows, rest = right[1 : 1 + self._count], np.delete(right, slice(1, 1 + self._count))
        found = dpotrs(self._rest, rest - self._through.T @ rows, lower=0)[0]
        by_row = rows / self._diagonal - self._through @ found
        return np.concatenate([found[:1], by_row, found[1:]])

    def cell_variances(self) -> Vector:
        """The variance of level plus row plus column, for every cell."""
        inverse = self._inverse()
        crossing = self._through @ inverse  # minus the covariance of rows with the level and the columns
        rows = 1 / self._diagonal + np.einsum("ij,ij->i", crossing, self._through)
        found = -2 * crossing[:, 1:]
        found += (rows - 2 * crossing[:, 0] + inverse[0, 0])[:, None]
        found += np.diag(inverse)[1:] + 2 * inverse[0, 1:]
        return np.asarray(found.ravel())

    def _inverse(self) -> Vector:
        upper, failed = dpotri(self._rest, lower=0)
        require_positive(not failed)
        return np.asarray(np.triu(upper) + np.triu(upper, 1).T)
