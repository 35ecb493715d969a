r"""What was observed about the cells: estimates of single cells, or counts of outcomes.

- `CellLikelihood`: every cell has an estimate of its own, with independent noise of a known law.
- `ChannelLikelihood`: counts of outcomes, which need not be cells, where Pr(outcome | cell) is known.

Each knows the log-likelihood of tables f, its gradient, and its expected information (minus the second derivatives,
without terms that are 0 on average): all that a fit needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from localdp.errors import InvalidInputError
from localdp.priors.fitting.noise import Noise
from localdp.priors.fitting.noise_by_item import NoiseByItem
from localdp.types import Places, Vector

Rows = slice | Places
"""Some of the cells."""


class Likelihood(ABC):
    """What was observed about the cells of a table."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many cells the table has."""

    @abstractmethod
    def joint(self, tables: Vector) -> Vector:
        """The log-likelihood of each of these tables, one in a row, up to a constant."""

    @abstractmethod
    def slopes(self, table: Vector) -> tuple[Vector, Vector]:
        """The gradient of the log-likelihood of a table, and its expected information, a matrix."""

    @property
    @abstractmethod
    def guess(self) -> Vector:
        """Frequencies to begin with, all positive, that add up to about what was observed."""


@dataclass(frozen=True, eq=False)
class CellLikelihood(Likelihood):
    """Independent estimates of all cells; `noise` must be usable (see `Noise.usable`)."""

    estimates: Vector
    noise: Noise | NoiseByItem

    @property
    def cells(self) -> int:
        return self.estimates.size

    def log(self, f: Vector, rows: Rows = slice(None)) -> Vector:
        """The log-likelihood of single cells at frequencies f (a row for each cell), up to a constant for each."""
        y = self.estimates[rows]
        if isinstance(self.noise, NoiseByItem):
            variance = self.noise.variance_of(rows, f)
            return np.asarray(-0.5 * (y[:, None] - f) ** 2 / variance - 0.5 * np.log(variance))
        return self.noise.log_likelihood(y, f)

    def gaussian(self, rows: Rows = slice(None)) -> tuple[Vector, Vector]:
        """The estimates, and the variances of their noise if the frequencies are what they are estimated to be."""
        y = self.estimates[rows]
        return y, self.noise.variance_of(rows, np.maximum(y, 0.0))

    def joint(self, tables: Vector) -> Vector:
        return np.asarray(self.log(tables.T).sum(axis=0))

    def slopes(self, table: Vector) -> tuple[Vector, Vector]:
        variance = self.noise.variance_of(slice(None), table)
        return (self.estimates - table) / variance, np.diag(1 / variance)

    @property
    def guess(self) -> Vector:
        mean = max(float(self.estimates.mean()), 1e-3)
        return np.maximum(self.estimates, 0.1 * mean)


@dataclass(frozen=True, eq=False)
class ChannelLikelihood(Likelihood):
    """Counts of outcomes: `channel` has a row for each outcome and a column for each cell, which add up to 1.

    >>> seen = ChannelLikelihood(np.array([30, 10]), np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> seen.cells, seen.guess.tolist()
    (2, [20.0, 20.0])
    """

    counts: Vector
    channel: Vector

    def __post_init__(self) -> None:
        if self.channel.ndim != 2 or self.channel.shape[0] != self.counts.size:
            raise InvalidInputError("a channel has a row for each outcome that is counted, and a column for each cell")
        if (self.channel < 0).any() or not np.allclose(self.channel.sum(axis=0), 1.0, atol=1e-9):
            raise InvalidInputError("the columns of a channel are probabilities, and add up to 1")

    @property
    def cells(self) -> int:
        return int(self.channel.shape[1])

    @property
    def n(self) -> float:
        """How many reports there are."""
        return float(self.counts.sum())

    @property
    def guess(self) -> Vector:
        return np.full(self.cells, max(self.n, 1.0) / self.cells)

    def joint(self, tables: Vector) -> Vector:
        shares = tables / tables.sum(axis=1, keepdims=True)
        return np.asarray(np.log(shares @ self.channel.T) @ self.counts)

    def slopes(self, table: Vector) -> tuple[Vector, Vector]:
        total = float(table.sum())
        expected = self.channel @ (table / total)
        # The shares add up to 1 whatever the table adds up to, so a multiple of the table changes nothing.
        gradient = (self.channel.T @ (self.counts / expected) - self.n) / total
        information = (self.channel.T * (self.n / expected)) @ self.channel - self.n
        return gradient, information / total**2
