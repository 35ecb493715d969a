"""Cells in an order: ages, prices, ratings, hours of the day."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, dia_array

from localdp.errors import InvalidInputError
from localdp.structures.base import FREE, Ground, Matrix, Structure
from localdp.types import Vector

MOST_KNOTS = 1024
"""The ground of more cells than twice this is a line between so many knots."""

_WIGGLE = 100.0  # where the search for the strength begins: the variance of the curve's second derivative


class Ordered(Structure):
    """Neighbouring cells have similar frequencies; single cells may stand out.

    The ground is a smooth curve through the logarithms of the frequencies: the sum of its squared second differences
    is small. With `circular`, the first cell is a neighbour of the last, as with hours of the day.

    >>> Ordered().precision(4).toarray()
    array([[ 1., -2.,  1.,  0.],
           [-2.,  5., -4.,  1.],
           [ 1., -4.,  5., -2.],
           [ 0.,  1., -2.,  1.]])
    """

    name = "ordered"

    def __init__(self, circular: bool = False, order: int = 2) -> None:
        self.order = order
        if not isinstance(circular, bool | np.bool_):
            raise InvalidInputError(f"circular is True or False, not {circular!r:.40}")
        self.circular = bool(circular)

    def precision(self, cells: int) -> Matrix:
        """Second differences, squared."""
        if self.order == 1:
            D = np.diff(np.eye(cells), axis=0)
            return csr_array(D.T @ D)
        if self.circular and cells > 2:
            every = np.arange(cells)
            bends = csr_array(
                (
                    np.tile([1.0, -2.0, 1.0], cells),
                    (np.repeat(every, 3), np.stack([every - 1, every, every + 1], axis=1).ravel() % cells),
                ),
                shape=(cells, cells),
            )
            return bends.T @ bends
        if cells < 3:  # two cells have no second difference: they are alike
            return csr_array(np.array([[1.0, -1.0], [-1.0, 1.0]]))
        bends = dia_array(
            (np.array([1.0, -2.0, 1.0])[:, None] * np.ones(cells), [0, 1, 2]), shape=(cells - 2, cells)
        ).tocsr()
        return bends.T @ bends

    def strength(self, cells: int) -> float:
        """A curve that bends as much over the whole range, however many cells that has."""
        return cells**3 / _WIGGLE if self.order == 2 else cells

    def ground(self, cells: int) -> Ground:
        """A curve with a value in each cell, or lines between knots where there are very many cells."""
        if cells <= 2 * MOST_KNOTS:
            return super().ground(cells)
        knots = MOST_KNOTS
        ground = super().ground(knots)
        place = np.arange(cells) * (knots / cells if self.circular else (knots - 1) / (cells - 1))
        left = np.minimum(place.astype(np.intp), knots - 1 if self.circular else knots - 2)
        share: Vector = place - left
        return replace(
            ground,
            columns=np.stack([left, (left + 1) % knots], axis=1),
            values=np.stack([1 - share, share], axis=1),
            ridge=np.full(knots, 1 / (FREE**2 * knots)),
            start=np.zeros(cells),
            doubts=np.zeros(cells),
        )

    def __repr__(self) -> str:
        return "Ordered(circular=True)" if self.circular else "Ordered()"
