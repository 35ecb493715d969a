"""Cubics through values and slopes on an even grid, evaluated in blocks that stay in the cache."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localdp.kernels import dispatch, threads
from localdp.kernels.dispatch import accelerated
from localdp.types import Flags, Places, Vector

_BLOCK = 1 << 15
_PART = 1 << 19


@dataclass(frozen=True, eq=False)
class CubicTable:
    """Values, and slopes times the step, at start + step * 0, 1, 2, ..; `poor` marks cells not to be used."""

    start: float
    step: float
    values: Vector
    slopes: Vector
    poor: Flags

    def interpolate(self, x: Vector, within: bool = False) -> tuple[Vector, Places]:
        """The value at each x, and the places, outside the grid or in poor cells, where there is none.

        `within` promises that all lie on the grid.
        """
        left, right = self.slopes[:-1], self.slopes[1:]
        rise = np.diff(self.values)
        cells = np.stack([self.values[:-1], left, 3 * rise - 2 * left - right, left + right - 2 * rise])
        cells[0, self.poor] = np.nan
        cells = np.pad(cells, ((0, 0), (1, 1)), constant_values=np.nan)  # one cell for all below, one for all above
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


@accelerated("cubics.evaluate_cubics")
def evaluate_cubics(x: Vector, cells: Vector, origin: float, scale: float, within: bool, found: Vector) -> None:
    """Write the cubic of the cell that holds each x. Cells are even from the origin on, a row for each power."""
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
