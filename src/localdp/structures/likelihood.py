r"""What was observed about the cells: noisy estimates of single cells, counts through a channel, sums of cells.

- `CellLikelihood`: every cell has an estimate of its own, with independent noise of a known law.
- `ChannelLikelihood`: counts of outcomes, which need not be cells, with Pr(outcome | cell) known.
- `LinearLikelihood`: estimates of sums of cells, such as margins of the table, with Gaussian noise.
- `JointLikelihood`: several of these for one table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localdp.priors.fitting.counting_noise import CountingNoise
from localdp.priors.fitting.noise import Noise
from localdp.priors.fitting.noise_by_item import NoiseByItem
from localdp.types import Vector


@dataclass(frozen=True, eq=False)
class CellLikelihood:
    """Independent estimates of all cells; `noise` must be usable (see `Noise.usable`)."""

    estimates: Vector
    noise: Noise | NoiseByItem

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self.estimates.size

    def log(self, f: Vector, rows: slice = slice(None)) -> Vector:
        """The log-likelihood of these cells at frequencies f (a row for each cell), up to a constant for each."""
        y = self.estimates[rows]
        if isinstance(self.noise, NoiseByItem):
            own = self.noise.variances[rows, None]
            variance = np.maximum(own + self.noise.excess * f, 0.1 * own)
            return np.asarray(-0.5 * (y[:, None] - f) ** 2 / variance - 0.5 * np.log(variance))
        return self.noise.log_likelihood(y, f)

    def gaussian(self, rows: slice = slice(None)) -> tuple[Vector, Vector]:
        """The estimates, and the variances of their noise if the frequencies are what they are estimated to be."""
        y = self.estimates[rows]
        held = np.maximum(y, 0.0)
        if isinstance(self.noise, NoiseByItem):
            own = self.noise.variances[rows]
            return y, np.maximum(own + self.noise.excess * held, 0.1 * own)
        return y, np.broadcast_to(self.noise.variance_at(held), y.shape)

    @property
    def is_counted(self) -> bool:
        """Whether the noise has the exact law of a count."""
        return isinstance(self.noise, CountingNoise)
