"""The Walsh-Hadamard transform, in place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localdp.kernels.dispatch import accelerated


@accelerated("walsh_hadamard.walsh_hadamard")
def walsh_hadamard(values: NDArray[np.integer], axis: int = 0) -> None:
    """Transform in place along one axis, whose length is a power of two: out[x] = sum_y (-1)^|x & y| in[y]."""
    length = values.shape[axis]
    lead, tail = values.shape[:axis], values.shape[axis + 1 :]
    half = 1
    while half < length:
        pairs = values.reshape(*lead, length // (2 * half), 2, half, *tail)
        first, second = (pairs[(slice(None),) * (axis + 1) + (side,)] for side in (0, 1))
        first += second
        second *= -2
        second += first
        half *= 2
