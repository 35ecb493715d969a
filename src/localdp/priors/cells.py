"""Cells: the frequencies 0..n in stretches so short that neither a prior nor the noise can tell them apart.

Small frequencies have a cell each. Further up a cell is 3% of its frequency wide, or a quarter of a deviation of the
noise if that is less. Beyond the reach of the noise, cells are 3% wide again. There are about a thousand cells, however
many users there are, and several priors can be averaged cell by cell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from localdp.frozen import read_only
from localdp.priors.base import FittedPrior
from localdp.priors.fitting.observations import Observations
from localdp.priors.steps import StepPrior
from localdp.types import Vector

_WHOLE = 64  # frequencies up to this one have a cell each
_GROWTH = 0.03  # the width of a cell as a share of its frequency, at most
_PER_DEVIATION = 4  # cells to a deviation of the noise, at least


@dataclass(frozen=True, eq=False)
class Cells:
    """The `ends` of the cells, the last whole number of each; the first cell is 0 alone, the last ends at n.

    >>> Cells(np.array([0.0, 1.0, 3.0, 9.0])).widths.tolist()
    [1.0, 1.0, 2.0, 6.0]
    >>> Cells(np.array([0.0, 1.0, 3.0, 9.0])).middles.tolist()
    [0.0, 1.0, 2.5, 6.5]
    """

    ends: Vector

    @classmethod
    def of(cls, observations: Observations) -> Cells:
        """Cells that are short beside the noise of these observations."""
        n, start = float(observations.n), float(_WHOLE)
        ends = [np.arange(0.0, min(_WHOLE, n) + 1)]
        for deviation, reach in observations.scales:
            finest = max(1.0, deviation / _PER_DEVIATION)
            growing = min(finest / _GROWTH, reach)  # below this frequency, 3% of it is less than `finest`
            ends.append(_geometric(start, min(growing, n)))
            start = max(growing, start)
            if start < n:
                ends.append(np.arange(start, min(reach, n) + finest, finest).round())
                start = max(start, reach)
        ends.append(_geometric(start, n))
        every = np.unique(np.concatenate([*ends, [n]]))
        return cls(read_only(every[every <= n]))

    @cached_property
    def widths(self) -> Vector:
        """How many whole numbers each cell has."""
        return read_only(np.diff(self.ends, prepend=-1.0))

    @cached_property
    def middles(self) -> Vector:
        """The middle of each cell."""
        return read_only(self.ends - (self.widths - 1) / 2)

    def within_reach(self, observations: Observations) -> slice:
        """The cells that the estimates of the core may come from."""
        return slice(0, 1 + int(np.searchsorted(self.ends, observations.reach)))

    def masses(self, prior: FittedPrior) -> Vector:
        """The mass of each cell under a prior that has no atoms."""
        if isinstance(prior, StepPrior):
            totals = np.append(0.0, np.cumsum(np.exp(prior.log_heights) * np.diff(prior.ends, prepend=-1.0)))
            up_to = np.interp(self.ends + 1, np.append(0.0, prior.ends + 1), totals)
            return np.diff(up_to, prepend=0.0)
        masses = np.exp(prior.log_mass(self.middles)) * self.widths
        if prior.first > 0:
            masses[0] = np.exp(prior.zero)
        return np.asarray(masses)


@dataclass(frozen=True, eq=False, repr=False)
class CellPrior(FittedPrior):
    """A distribution given by the mass of every cell; within a cell all frequencies are equally likely."""

    cells: Cells = field(default=None)  # type: ignore[assignment]
    log_masses: Vector = field(default_factory=lambda: np.zeros(0))

    @cached_property
    def _log_heights(self) -> Vector:
        return read_only(self.log_masses - np.log(self.cells.widths))

    def log_mass(self, k: Vector) -> Vector:
        place = np.searchsorted(self.cells.ends + 0.5, np.asarray(k, np.float64))
        inside = place < self.cells.ends.size
        return np.where(inside, self._log_heights[np.minimum(place, self.cells.ends.size - 1)], -np.inf)

    @property
    def first(self) -> int:
        return 0


def _geometric(start: float, stop: float) -> Vector:
    """Whole numbers from start to stop, each about 3% more than the one before."""
    if stop <= start:
        return np.zeros(0)
    count = 2 + int(np.log(stop / start) / np.log1p(_GROWTH))
    return np.exp(np.linspace(np.log(start), np.log(stop), count)).round()
