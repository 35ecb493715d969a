"""Cells in an order: ages, prices, ratings, hours of the day."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csr_array

from localdp.errors import InvalidInputError
from localdp.structures.base import FREE, Ground, Matrix, Structure
from localdp.types import Vector
from localdp.validation import LARGEST_SIZE, checked_amount

MOST_KNOTS = 1024
"""The ground of more cells than twice this is a line between so many knots."""

KNOTS_OF_TURNS = 256
"""Third differences of more knots than this are too small for double precision."""

# Where the search for the strengths begins, for curves over the range from 0 to 1.
_TURNS, _BENDS, _STEPS = 5000.0, 100.0, 4.0


class Ordered(Structure):
    """Neighbouring cells have similar frequencies; single cells may stand out, and there may be steps.

    The ground is a curve through the logarithms of the frequencies. Two kinds are averaged by evidence: a smooth curve
    (its second differences are small), and one that may have corners and steps (its first differences are). With
    `circular`, the first cell is a neighbour of the last, as with hours of the day. The last `apart` cells, such as one
    for "no answer", have no place in the order: nothing is known about them beforehand.

    >>> Ordered().precision(4).toarray()
    array([[ 1., -2.,  1.,  0.],
           [-2.,  5., -4.,  1.],
           [ 1., -4.,  5., -2.],
           [ 0.,  1., -2.,  1.]])
    """

    name = "ordered"

    def __init__(self, circular: bool = False, *, apart: int = 0) -> None:
        if not isinstance(circular, bool | np.bool_):
            raise InvalidInputError(f"circular is True or False, not {circular!r:.40}")
        self.circular = bool(circular)
        what = "the number of cells apart, unless it is 0,"
        self.apart = apart if apart == 0 else checked_amount(apart, LARGEST_SIZE, what)

    def precision(self, cells: int) -> Matrix:
        """Second differences, squared; of two cells, the first difference."""
        return self._penalty(cells - self.apart, min(2, cells - self.apart - 1))

    def in_order(self, cells: int) -> int:
        return cells - self.apart

    def check(self, cells: int) -> None:
        if self.apart >= cells:
            raise InvalidInputError(f"{self.apart} cells are to stand apart from the order, and there are only {cells}")
        super().check(cells - self.apart)

    def grounds(self, cells: int) -> tuple[Ground, ...]:
        """A smooth curve, and one with corners and steps."""
        ordered = cells - self.apart
        knots = ordered if ordered <= 2 * MOST_KNOTS else MOST_KNOTS
        smooth = self._ground(ordered, knots, self._penalty(knots, min(2, knots - 1)), knots**3 / _BENDS)
        if ordered < 3:
            return (smooth,)
        return smooth, self._ground(ordered, knots, self._penalty(knots, 1), knots / _STEPS)

    def channel_grounds(self, cells: int) -> tuple[Ground, ...]:
        """These two, and a very smooth curve whose third differences are small: the limit is a normal distribution.

        Counts through a channel that mixes neighbours tell of little but slow changes, which such a curve describes
        well. Estimates of single cells are closer to the other two.
        """
        ordered = cells - self.apart
        knots = min(ordered, KNOTS_OF_TURNS)
        if ordered < 4:
            return self.grounds(cells)
        turning = self._ground(ordered, knots, self._penalty(knots, 3), knots**5 / _TURNS)
        return (*self.grounds(cells), turning)

    def ground(self, cells: int) -> Ground:
        """The smooth curve."""
        return self.grounds(cells)[0]

    def _ground(self, cells: int, knots: int, precision: Matrix, strength: float) -> Ground:
        """A curve with a value in each cell, or straight lines between knots if there are fewer of those."""
        ends = knots if self.circular else knots - 1
        place = np.arange(cells) * (ends / (cells if self.circular else cells - 1))
        # A cell that lies on a knot must not be put before it by rounding, and the last knot has none behind it.
        left = np.minimum(np.floor(place + 1e-9).astype(np.intp), knots - (1 if self.circular else 2))
        share: Vector = place - left
        columns, values = np.stack([left, (left + 1) % knots], axis=1), np.stack([1 - share, share], axis=1)
        if knots == cells:
            columns, values = np.arange(cells, dtype=np.intp)[:, None], np.ones((cells, 1))
        # A cell apart has a coefficient of its own, which nothing holds but the ridge.
        own = np.arange(knots, knots + self.apart, dtype=np.intp)[:, None].repeat(columns.shape[1], axis=1)
        only = np.zeros(own.shape)
        only[:, :1] = 1.0
        return Ground(
            columns=np.concatenate([columns, own]),
            values=np.concatenate([values, only]),
            penalties=(precision,),
            strengths=(strength,),
            ridge=np.concatenate([np.full(knots, 1 / (FREE**2 * knots)), np.full(self.apart, 1 / FREE**2)]),
            start=np.zeros(cells + self.apart),
            doubts=np.zeros(cells + self.apart),
        )

    def _penalty(self, knots: int, order: int) -> Matrix:
        """The precision of a curve of so many knots, with a row and a column of nothing for each cell apart."""
        curve = coo_array(_squared_differences(knots, order, self.circular))
        size = knots + self.apart
        return csr_array((curve.data, curve.coords), (size, size))

    def __repr__(self) -> str:
        given = [*(["circular=True"] if self.circular else []), *([f"apart={self.apart}"] if self.apart else [])]
        return f"Ordered({', '.join(given)})"


def _squared_differences(cells: int, order: int, circular: bool) -> Matrix:
    """D'D, where D takes differences of this order between neighbours."""
    signs = np.array({1: [-1.0, 1.0], 2: [1.0, -2.0, 1.0], 3: [-1.0, 3.0, -3.0, 1.0]}[order])
    rows = cells if circular and cells > order else cells - order
    every = np.arange(rows)
    columns = (every[:, None] + np.arange(order + 1)) % cells
    differences = csr_array((np.tile(signs, rows), (np.repeat(every, order + 1), columns.ravel())), (rows, cells))
    return csr_array(differences.T @ differences)
