"""The Walsh-Hadamard transform, in place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localdp.kernels.dispatch import accelerated


@accelerated("walsh_hadamard.walsh_hadamard")
def walsh_hadamard(values: NDArray[np.integer], axis: int = 0) -> None:
    """Transform in place along one axis: out[x] = sum_y (-1)^|x & y| in[y], where |.| counts the bits that are set.

    The length of the axis is a power of two.

    >>> values = np.array([5, 1, 0, 2])
    >>> walsh_hadamard(values)
    >>> values.tolist()
    [8, 2, 4, 6]
    """
    length = values.shape[axis]
    lead, tail = values.shape[:axis], values.shape[axis + 1 :]
    half = 1
    while half < length:
        pairs = values.reshape(*lead, length // (2 * half), 2, half, *tail)
        first, second = (pairs[(slice(None),) * (axis + 1) + (side,)] for side in (0, 1))
        first += second
        second *= -2  # first - 2 second is the old first minus second, without a temporary array
        second += first
        half *= 2
