r"""What the counts of n reports say about how many people are in each cell.

**Of a pure mechanism** (`Supported`), an outcome is a cell that a report supports, and

    fhat_i = (c_i - n q*) / (p* - q*),      Var(fhat_i) = n q*(1-q*) / (p*-q*)^2 + f_i (1 - p* - q*) / (p* - q*).

**Of a sketch** (`Sketched`), items share cells, and the frequencies of others add to the variance (`sketches`).

**Through a channel** (`Through`), a report has one of several outcomes, which need not be cells. Let A_io be the
probability of outcome o for a person in cell i, and c_o the number of reports with outcome o, so that E(c) = A' f. Of
the linear estimates fhat = W c with W A' = 1, which are the unbiased ones, we take the one that weighs outcomes by
their expected number if all cells are equally frequent, D = diag(A' 1/d):

    W = (A D^-1 A')^-1 A D^-1,       Var(fhat_i) = sum_o W_io^2 E(c_o) - f_i,

since the counts of the people of one cell are multinomial; E(c) is taken from the estimates themselves. They add up to
n by themselves: A' 1 = d D 1 gives 1' W c = 1' c. Their noise is correlated between cells. Whoever knows more about the
cells than one estimate for each can use works from `counts` and `matrix` instead.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from localdp.errors import InvalidInputError
from localdp.kernels.debias import debias
from localdp.kernels.walsh_hadamard import walsh_hadamard
from localdp.types import Counts, Vector

_LEAST_CONDITION = 1e-10  # below this, relative to the largest, a direction cannot be told from nothing
_ROUNDS = 6  # of finding heavy items in a sketch and taking away what they add to others
_HEAVY = 5.0  # deviations


class Observation(ABC):
    """The `counts` of the outcomes of `n` reports, and unbiased estimates of the cells that follow from them."""

    counts: Counts
    n: int

    @property
    @abstractmethod
    def frequencies(self) -> Vector:
        """The unbiased estimate of the frequency of each cell."""

    @property
    @abstractmethod
    def variance(self) -> float | Vector:
        """The variance of the noise of a cell in which nobody is: one for all cells, or one for each."""

    @property
    @abstractmethod
    def law(self) -> Vector:
        """The probability of each outcome (a column) for each cell (a row)."""

    @property
    def excess_variance(self) -> float:
        """The variance that each person in a cell adds to that of its estimate."""
        return 0.0

    @property
    def push(self) -> float:
        """The most that one more report adds to the estimate of a cell; infinite if that is not known."""
        return math.inf

    @property
    def shared(self) -> float:
        """The variance of the sum of all estimates, divided by the sum of their variances."""
        return 1.0

    @property
    def probabilities(self) -> tuple[float, float] | None:
        """p* and q*, if the mechanism is pure: they give the exact law of the noise."""
        return None


@dataclass(frozen=True, eq=False)
class _ByPair(Observation):
    """Counts of the reports that support each cell, debiased with p* and q*."""

    counts: Counts
    n: int
    p: Fraction
    q: Fraction

    @property
    def excess_variance(self) -> float:
        return float((1 - self.p - self.q) / (self.p - self.q))

    @property
    def push(self) -> float:
        return float((1 - self.q) / (self.p - self.q))


@dataclass(frozen=True, eq=False)
class Supported(_ByPair):
    """Counts of the reports that support each cell, of a pure mechanism with p* and q*.

    >>> seen = Supported(np.array([30, 10]), 40, Fraction(3, 4), Fraction(1, 4))
    >>> seen.frequencies.tolist(), seen.variance
    ([40.0, 0.0], 30.0)
    """

    @cached_property
    def frequencies(self) -> Vector:
        return debias(self.counts, self.n, self.p, self.q)

    @property
    def law(self) -> Vector:
        p, q = self.probabilities
        return np.full((self.counts.size, self.counts.size), q) + (p - q) * np.eye(self.counts.size)

    @property
    def variance(self) -> float:
        return float(self.n * (self.q * (1 - self.q) / (self.p - self.q) ** 2))

    @property
    def probabilities(self) -> tuple[float, float]:
        return float(self.p), float(self.q)


@dataclass(frozen=True, eq=False)
class Sketched(_ByPair):
    """Counts of the reports that support each item, where items share cells; `sketches` derives it.

    `elsewhere` is q0, `collisions` is v, and `meetings` has the number of pairs (j, l) with the product l a_j, for each
    element of the field.
    """

    elsewhere: Fraction
    collisions: float
    meetings: Counts

    @property
    def law(self) -> Vector:
        together = self.meetings.copy()
        walsh_hadamard(together)
        items = np.arange(self.counts.size)
        shared = (together / self.meetings.sum())[items[:, None] ^ items]
        return np.asarray(float(self.elsewhere) + float(self.p - self.elsewhere) * shared)

    @cached_property
    def _solved(self) -> tuple[Vector, float]:
        """The estimates, and the variance of one that nobody holds."""
        alone = Supported(self.counts, self.n, self.p, self.q)
        found, items = alone.frequencies, len(self.counts)
        heavy = np.zeros(items, bool)
        for _ in range(_ROUNDS):
            light = found[~heavy]
            noise = light.size * alone.variance + self.n * alone.excess_variance
            squares = (float(light @ light) - noise) / (1 + self.collisions * (items - 1))
            variance = alone.variance + self.collisions * min(max(squares, self.n / items), float(self.n) ** 2)
            heavy |= found > _HEAVY * math.sqrt(variance)
            found = alone.frequencies - self._added_by(np.where(heavy, np.rint(found), 0).astype(np.int64))
        return found, variance

    def _added_by(self, heavy: Counts) -> Vector:
        """How many users the heavy items add to each estimate because of the cells that they share with it."""
        met = np.zeros(len(self.meetings), np.int64)
        met[: len(heavy)] = heavy
        walsh_hadamard(met)
        met *= self.meetings
        walsh_hadamard(met)
        share = float((self.q - self.elsewhere) / (self.p - self.elsewhere))  # c
        expected = share * heavy.sum() + (1 - share) * heavy
        scale = float((self.p - self.elsewhere) / (self.p - self.q))
        return np.asarray((met[: len(heavy)] / self.meetings.sum() - expected) * scale)

    @property
    def frequencies(self) -> Vector:
        return self._solved[0]

    @property
    def variance(self) -> float:
        return self._solved[1]

    @property
    def shared(self) -> float:
        # Items in one cell have one noise: the covariance of two items is c times the variance.
        return 1 + (len(self.counts) - 1) * float((self.q - self.elsewhere) / (self.p - self.elsewhere))


@dataclass(frozen=True, eq=False)
class Through(Observation):
    """Counts of outcomes, and the probability of each outcome (a column) for each cell (a row) in `matrix`.

    >>> seen = Through(np.array([40, 60, 20]), 120, np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]))
    >>> seen.frequencies.tolist()
    [80.0, 40.0]
    """

    counts: Counts
    n: int
    matrix: Vector

    def __post_init__(self) -> None:
        cells, outcomes = self.matrix.shape
        if self.counts.shape != (outcomes,) or not np.allclose(self.matrix.sum(axis=1), 1, atol=1e-9):
            raise InvalidInputError(
                f"the matrix of a channel has a row for each cell, which adds up to 1, and a column for each of the "
                f"{self.counts.size} outcomes, not the shape {cells} x {outcomes}"
            )

    @property
    def law(self) -> Vector:
        return self.matrix

    @cached_property
    def weights(self) -> Vector:
        """W: how each estimate follows from the counts."""
        scaled = self.matrix / np.maximum(self.matrix.mean(axis=0), 1e-300)
        information = scaled @ self.matrix.T
        largest, *_, least = np.linalg.svd(information, compute_uv=False)
        if least < _LEAST_CONDITION * largest:
            raise InvalidInputError("some cells of this mechanism have the same outcomes: they cannot be told apart")
        return np.linalg.solve(information, scaled)

    @property
    def push(self) -> float:
        return float(self.weights.max())

    @cached_property
    def frequencies(self) -> Vector:
        return self.weights @ self.counts

    @cached_property
    def variance(self) -> Vector:
        held = np.maximum(self.frequencies, 0)
        held *= self.n / held.sum()
        spread = np.square(self.weights) @ (held @ self.matrix)
        return np.maximum(spread - held, 1e-12 * np.maximum(spread, 1.0))
