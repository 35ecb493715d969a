"""The exact probability of every report under every value, for small domains."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.types import Rows


@dataclass(frozen=True)
class Channel:
    """The exact probabilities of all reports: `probabilities[value][k]` is Pr(reports[k] | value), a fraction.

    `numpy.asarray(channel)` gives the same numbers as floats, one row for each value.

    >>> from localdp.mechanisms import HadamardResponse
    >>> channel = HadamardResponse(size=3, epsilon=0.5).channel()
    >>> np.asarray(channel).round(3).tolist()
    [[0.311, 0.189, 0.311, 0.189], [0.311, 0.311, 0.189, 0.189], [0.311, 0.189, 0.189, 0.311]]
    """

    reports: Rows
    probabilities: tuple[tuple[Fraction, ...], ...]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array([[float(p) for p in row] for row in self.probabilities], dtype=dtype)

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of the probabilities of one report under two values.

        It equals e^epsilon for the realised epsilon.
        """
        columns: list[tuple[Fraction, ...]] = list(zip(*self.probabilities, strict=True))
        return max(max(column) / min(column) for column in columns)
