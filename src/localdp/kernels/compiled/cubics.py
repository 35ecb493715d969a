"""Evaluate cubics: the twin of `localdp.kernels.cubics`."""

from __future__ import annotations

import numpy as np

from localdp.kernels.compiled.jit import compiled, read_only
from localdp.types import Vector


def evaluate_cubics(x: Vector, cells: Vector, origin: float, scale: float, within: bool, found: Vector) -> None:  # noqa: ARG001
    _evaluate_cubics(read_only(x), cells, origin, scale, found)


@compiled
def _evaluate_cubics(x, cells, origin, scale, found):
    last = cells.shape[1] - 1
    for i in range(x.size):
        place = min(max((x[i] - origin) * scale, 0.0), float(last))
        cell = np.int64(place)
        t = place - cell
        found[i] = ((cells[3, cell] * t + cells[2, cell]) * t + cells[1, cell]) * t + cells[0, cell]


def powers_in_cells(x: Vector, origin: float, scale: float, sums: Vector) -> None:
    _powers_in_cells(read_only(x), origin, scale, sums)


@compiled
def _powers_in_cells(x, origin, scale, sums):
    last = sums.shape[0] - 1
    sums[:] = 0.0
    for i in range(x.size):
        place = min(max((x[i] - origin) * scale, 0.0), float(last))
        cell = np.int64(place)
        t = place - cell
        sums[cell, 0] += 1.0
        sums[cell, 1] += t
        sums[cell, 2] += t * t
        sums[cell, 3] += t * t * t
