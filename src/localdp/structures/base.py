r"""What a structure says about the cells of a table, in the form that every fit uses.

    f_i = exp(g_i + u_i),        g = start + design c,        c ~ N(0, (sum_k lambda_k P_k + ridge)^-1)

g is the *ground*, which the cells share: a smooth curve, the effects of rows and columns, an earlier release. u_i is
what a cell has of its own: mostly little, sometimes a lot (`localdp.structures.deviations`). The strengths lambda_k are
learnt. A structure says what the ground is; everything else is the same for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from localdp.errors import InvalidInputError
from localdp.types import Vector

FREE = 3.0
"""The deviation, as a logarithm, of what a structure leaves free: the level, and the null space of its precision."""

Matrix = Any
"""A SciPy sparse matrix, or a NumPy array with two axes."""


@dataclass(frozen=True, eq=False)
class Ground:
    """The ground of a table: g_i = start_i + sum over j of values[i, j] * c[columns[i, j]].

    `penalties` are the matrices P_k, and `strengths` where the search for their lambda_k begins. `ridge` is added to
    the diagonal: it keeps what no penalty holds within a few multiples of where it starts. `doubts` are the variances
    of the starts themselves, 0 where they are certain. `unseen` are variances that intervals allow for besides, where
    the structure may be wrong in cells that say little themselves. `table` says that the coefficients are a level and
    the effects of so many rows and columns, whose penalties are diagonal: that is solved faster.
    """

    columns: NDArray[np.intp]
    values: Vector
    penalties: tuple[Matrix, ...]
    strengths: tuple[float, ...]
    ridge: Vector
    start: Vector
    doubts: Vector
    unseen: Vector | None = None
    table: tuple[int, int] | None = None

    @property
    def coefficients(self) -> int:
        """How many coefficients the ground has."""
        return self.ridge.size

    @property
    def cells(self) -> int:
        """How many cells the table has."""
        return self.start.size


class Structure(ABC):
    """What is known about how the cells of a table belong together: `estimate.calibrate(structure=...)`.

    A structure of your own sets `name` and writes `precision`; `localdp.checks.check_structure` checks it. See the page
    "Structures of your own".
    """

    name: ClassVar[str]
    """What notes call it, in small letters."""

    @abstractmethod
    def precision(self, cells: int) -> Matrix:
        """P: c' P c is small for logarithms c of frequencies that fit the structure well.

        A symmetric matrix with a row and a column for each cell, without negative eigenvalues, sparse where possible.
        What it says nothing about (c with P c = 0) is left free; the level must be among that, so rows add up to 0.
        """

    def start(self, cells: int) -> Vector:
        """The logarithms of the frequencies that the ground begins from, up to a constant; all the same by default."""
        return np.zeros(cells)

    def strength(self, cells: int) -> float:
        """Where the search for lambda begins; any number of about the right size will do."""
        del cells
        return 1.0

    def ground(self, cells: int) -> Ground:
        """The ground of a table with so many cells."""
        every = np.arange(cells, dtype=np.intp)[:, None]
        return Ground(
            columns=every,
            values=np.ones((cells, 1)),
            penalties=(self.precision(cells),),
            strengths=(self.strength(cells),),
            ridge=np.full(cells, 1 / (FREE**2 * cells)),
            start=np.asarray(self.start(cells), np.float64),
            doubts=np.zeros(cells),
        )

    def grounds(self, cells: int) -> tuple[Ground, ...]:
        """The grounds that are averaged by evidence: one, unless a structure knows several kinds."""
        return (self.ground(cells),)

    def grounds_of(self, estimates: Vector, variances: Vector) -> tuple[Ground, ...]:
        """The same, once estimates of the cells with noise of these variances are known."""
        del variances
        return self.grounds(estimates.size)

    def channel_grounds(self, cells: int) -> tuple[Ground, ...]:
        """The grounds that are averaged where counts come through a channel that mixes the cells."""
        return self.grounds(cells)

    def in_order(self, cells: int) -> int:
        """How many of the first cells have an order."""
        del cells
        return 0

    def check(self, cells: int) -> None:
        """Raise `InvalidInputError` if a table with so many cells cannot have this structure."""
        if cells < 2:
            raise InvalidInputError(f"a structure says how cells belong together, and there is only {cells}")

    def check_release(self, release: object) -> None:
        """Raise `InvalidInputError` if this structure was made from the same reports as this release."""
        del release

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
