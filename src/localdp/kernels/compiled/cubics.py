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
