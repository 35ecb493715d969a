"""Interpolate with cubics through values and slopes on an even grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localdp.kernels import dispatch, threads
from localdp.kernels.dispatch import accelerated
from localdp.types import Flags, Places, Vector

_BLOCK = 1 << 15  # numbers that stay in the cache with what is computed from them
_PART = 1 << 19  # numbers for one thread


@dataclass(frozen=True, eq=False)
class CubicTable:
    """Values and slopes at start, start + step, start + 2 step and so on; the slopes are multiplied by the step.

    `poor` marks the cells between two grid points where the cubic is not accurate enough to be used.

    >>> table = CubicTable(0.0, 1.0, np.array([0.0, 1.0, 8.0]), np.array([0.0, 3.0, 12.0]), np.array([False, False]))
    >>> found, missing = table.interpolate(np.array([0.5, 1.5, 3.0]))  # x cubed
    >>> found.tolist(), missing.tolist()
    ([0.125, 3.375, nan], [2])
    """

    start: float
    step: float
    values: Vector
    slopes: Vector
    poor: Flags

    @classmethod
    def through(cls, start: float, step: float, values: Vector) -> CubicTable:
        """A table with slopes that are read off five neighbouring values: exact for polynomials of degree four."""
        slopes = np.gradient(values)
        if values.size >= 5:
            slopes[2:-2] = (8 * (values[3:-1] - values[1:-3]) - (values[4:] - values[:-4])) / 12
            one_sided = np.array([[-25, 48, -36, 16, -3], [-3, -10, 18, -6, 1]]) / 12
            slopes[:2] = one_sided @ values[:5]
            slopes[-2:] = -(one_sided @ values[:-6:-1])[::-1]
        return cls(start, step, values, slopes, np.zeros(values.size - 1, bool))

    def interpolate(self, x: Vector, within: bool = False) -> tuple[Vector, Places]:
        """The value at each x, and the indices of the x without a value, which are outside the grid or in a poor cell.

        With `within`, the caller promises that all x are inside the grid.
        """
        cells = self._coefficients()
        cells[0, self.poor] = np.nan
        # One more cell at each end, for every x outside the grid.
        cells = np.pad(cells, ((0, 0), (1, 1)), constant_values=np.nan)
        found = np.empty(x.size)
        missed = [np.zeros(0, np.intp)]
        dispatch.expect_work(x.size)

        def fill(first: int) -> int:
            part = slice(first, min(first + _PART, x.size))
            evaluate_cubics(x[part], cells, self.start - self.step, 1 / self.step, within, found[part])
            if np.isnan(np.add.reduce(found[part])):
                missed.append(np.flatnonzero(np.isnan(found[part])) + first)
            return part.stop - first

        threads.each(fill, range(0, x.size, _PART), x.size)
        return found, np.sort(np.concatenate(missed))

    def _coefficients(self) -> Vector:
        """The coefficients of t^0 to t^3 of each cell, a row for each power, with t from 0 to 1 in the cell."""
        left, right = self.slopes[:-1], self.slopes[1:]
        rise = np.diff(self.values)
        return np.stack([self.values[:-1], left, 3 * rise - 2 * left - right, left + right - 2 * rise])


def summed(tables: Sequence[CubicTable], x: Vector) -> tuple[list[float], Places]:
    """The sum over all x of each table's value, and the indices of the x outside the grid, which are left out.

    All tables have the same grid. The sums of t^0 to t^3 in every cell are what any cubic needs, so the x are read
    once, however many tables there are.
    """
    table = tables[0]
    cells = table.values.size + 1
    starts = range(0, x.size, _PART)
    sums = np.empty((len(starts), cells, 4))
    dispatch.expect_work(x.size)

    def fill(first: int) -> int:
        part = x[first : first + _PART]
        powers_in_cells(part, table.start - table.step, 1 / table.step, sums[first // _PART])
        return part.size

    threads.each(fill, starts, x.size)
    powers = sums.sum(axis=0)
    outside = np.zeros(0, np.intp)
    for cell, compare, limit in ((0, np.less, 1), (cells - 1, np.greater, cells - 3)):
        if powers[cell, 0]:
            maybe = np.flatnonzero(compare(x, table.start + limit * table.step))
            place = np.clip((x[maybe] - (table.start - table.step)) * (1 / table.step), 0.0, cells - 1.0)
            outside = np.append(outside, maybe[place.astype(np.intp) == cell])
    return [float((one._coefficients() * powers[1:-1].T).sum()) for one in tables], outside


@accelerated("cubics.powers_in_cells")
def powers_in_cells(x: Vector, origin: float, scale: float, sums: Vector) -> None:
    """Write the sums of t^0 to t^3 over the x of each cell into the rows of `sums`, with t from 0 to 1 in the cell.

    Cell k begins at origin + k / scale; everything below belongs to the first cell and everything above to the last.
    """
    place = np.clip((x - origin) * scale, 0.0, sums.shape[0] - 1.0)
    cell = place.astype(np.intp)
    place -= cell
    power = np.ones(x.size)
    for column in range(4):
        sums[:, column] = np.bincount(cell, power, sums.shape[0])
        power *= place


@accelerated("cubics.evaluate_cubics")
def evaluate_cubics(x: Vector, cells: Vector, origin: float, scale: float, within: bool, found: Vector) -> None:
    """Write the value of the cubic at each x into `found`.

    Cell k begins at origin + k / scale, and cells[j, k] is the coefficient of t^j, with t from 0 to 1 in the cell.
    """
    place, value, term = (np.empty(_BLOCK) for _ in range(3))
    cell = np.empty(_BLOCK, np.intp)
    for first in range(0, x.size, _BLOCK):
        size = min(_BLOCK, x.size - first)
        place, value, term, cell = place[:size], value[:size], term[:size], cell[:size]
        np.subtract(x[first : first + size], origin, out=place)
        np.multiply(place, scale, out=place)
        if not within:
            np.clip(place, 0.0, cells.shape[1] - 1.0, out=place)
        np.copyto(cell, place, casting="unsafe")
        np.subtract(place, cell, out=place)
        cells[3].take(cell, out=value, mode="clip")
        for power in (2, 1, 0):
            cells[power].take(cell, out=term, mode="clip")
            np.multiply(value, place, out=value)
            np.add(value, term, out=value if power else found[first : first + size])
