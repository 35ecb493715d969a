"""Cubics through values and slopes on an even grid, evaluated in blocks that stay in the cache."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

_BLOCK = 1 << 15
_WORTH_THREADS = 1 << 20


@dataclass(frozen=True, eq=False)
class CubicTable:
    """Values, and slopes times the step, at start + step * 0, 1, 2, ..; `poor` marks cells not to be used."""

    start: float
    step: float
    values: Vector
    slopes: Vector
    poor: NDArray[np.bool_]

    def interpolate(self, x: Vector, within: bool = False) -> tuple[Vector, NDArray[np.intp]]:
        """The value at each x, and the places, outside the grid or in poor cells, where there is none.

        `within` promises that all lie on the grid.
        """
        left, right = self.slopes[:-1], self.slopes[1:]
        rise = np.diff(self.values)
        cells = np.stack([self.values[:-1], left, 3 * rise - 2 * left - right, left + right - 2 * rise])
        cells[0, self.poor] = np.nan
        cells = np.pad(cells, ((0, 0), (1, 1)), constant_values=np.nan)  # one cell for all below, one for all above
        last = rise.size + 1.0
        found = np.empty(x.size)

        def fill(begin: int, end: int) -> NDArray[np.intp]:
            missed = [np.zeros(0, np.intp)]
            place, value, term = (np.empty(_BLOCK) for _ in range(3))
            cell = np.empty(_BLOCK, np.intp)
            for first in range(begin, end, _BLOCK):
                size = min(_BLOCK, end - first)
                place, value, term, cell = place[:size], value[:size], term[:size], cell[:size]
                np.subtract(x[first : first + size], self.start - self.step, out=place)
                np.multiply(place, 1 / self.step, out=place)
                if not within:
                    np.clip(place, 0.0, last, out=place)
                np.copyto(cell, place, casting="unsafe")
                np.subtract(place, cell, out=place)
                cells[3].take(cell, out=value, mode="clip")
                for power in (2, 1, 0):
                    cells[power].take(cell, out=term, mode="clip")
                    np.multiply(value, place, out=value)
                    np.add(value, term, out=value if power else found[first : first + size])
                if np.isnan(np.add.reduce(found[first : first + size])):
                    missed.append(np.flatnonzero(np.isnan(found[first : first + size])) + first)
            return np.concatenate(missed)

        if x.size < _WORTH_THREADS:
            return found, fill(0, x.size)
        edges = np.linspace(0, x.size, 1 + min(4, os.cpu_count() or 1)).astype(int).tolist()
        with ThreadPoolExecutor() as pool:  # NumPy lets go of the lock inside each step
            return found, np.concatenate(list(pool.map(fill, edges[:-1], edges[1:])))
