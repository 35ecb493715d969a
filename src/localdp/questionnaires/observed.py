r"""What the counts of all parts say about the tables of a questionnaire.

Shares are those of the population that people were drawn from. Each person of a part is drawn from it independently, so
a report has outcome o with probability pi_o = sum over cells c of A_oc x_c, where A_oc = Pr(outcome o | cell c) and x
are the shares. Of n reports, the share r_o with outcome o has

    E(r_o) = pi_o,     Var(r_o) = pi_o (1 - pi_o) / n,

which contains the sampling noise and that of the mechanism. If every report has exactly one outcome, r is multinomial,
and sum_o n (r_o - pi_o)^2 / pi_o is the quadratic form of its covariance. Otherwise outcomes are nearly independent,
and each has the weight n / (pi_o (1 - pi_o)).

A part that asks two questions has a pure mechanism: pi = q + (p - q) x for each cell of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from localdp.plan import Aggregate
from localdp.questionnaires.part import QuestionPart
from localdp.types import Places, Vector

_LEAST = 1e-12  # of a probability of an outcome


@dataclass(frozen=True, eq=False)
class Layout:
    """The cells of all questions in one row, one question after the other."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    @cached_property
    def starts(self) -> Places:
        """Where the cells of each question begin."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.intp)

    @cached_property
    def owner(self) -> Places:
        """The question of each cell."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def cells(self) -> int:
        """How many cells there are in all."""
        return sum(self.sizes)

    def of(self, question: int) -> slice:
        """The cells of a question."""
        return slice(int(self.starts[question]), int(self.starts[question]) + self.sizes[question])


@dataclass(frozen=True, eq=False)
class Alone:
    """The outcomes of a part that asks one question: `shares` of the reports, and `matrix` with the A_oc."""

    question: int
    n: int
    shares: Vector
    matrix: Vector
    one_outcome: bool

    def weights(self, x: Vector) -> Vector:
        """The precision of each outcome's share, if the cells have these shares."""
        return _precision(self.matrix @ x, self.n, self.one_outcome)

    def noise(self, x: Vector) -> Vector:
        """The standard deviation of each outcome's share."""
        return _deviation(self.matrix @ x, self.n)


@dataclass(frozen=True, eq=False)
class Together:
    """The outcomes of a part that asks two questions, with p and q: `shares` of the reports that support each cell."""

    rows: int
    columns: int
    n: int
    shares: Vector
    p: float
    q: float
    one_outcome: bool

    @property
    def estimates(self) -> Vector:
        """The unbiased estimate of each cell's share."""
        return (self.shares - self.q) / (self.p - self.q)

    def weights(self, x: Vector) -> Vector:
        """The precision of each estimate, if the cells have these shares."""
        return (self.p - self.q) ** 2 * _precision(self.q + (self.p - self.q) * x, self.n, self.one_outcome)

    def noise(self, x: Vector) -> Vector:
        """The standard deviation of each estimate."""
        return _deviation(self.q + (self.p - self.q) * x, self.n) / (self.p - self.q)


@dataclass(frozen=True, eq=False)
class Observed:
    """What all parts with reports have observed."""

    layout: Layout
    alone: tuple[Alone, ...]
    together: tuple[Together, ...]

    @classmethod
    def of(cls, layout: Layout, counted: Sequence[tuple[QuestionPart, Aggregate]]) -> Observed:
        """The observations of these parts; those without reports are left out."""
        place = {name: one for one, name in enumerate(layout.names)}
        alone, together = [], []
        for part, aggregate in counted:
            if not aggregate.n:
                continue
            seen, shares = part.plan.mechanism.observe(aggregate.counts, aggregate.n), aggregate.counts / aggregate.n
            one = bool(aggregate.counts.sum() == aggregate.n)
            asked = [place[name] for name in part.names]
            if len(asked) == 1:
                alone.append(Alone(asked[0], aggregate.n, shares, seen.law.T, one))
            else:
                table = shares.reshape(layout.sizes[asked[0]], layout.sizes[asked[1]])
                p, q = part.plan.mechanism.p_star, part.plan.mechanism.q_star
                together.append(Together(asked[0], asked[1], aggregate.n, table, p, q, one))
        return cls(layout, tuple(alone), tuple(together))

    @property
    def by_pair(self) -> dict[tuple[int, int], Together]:
        """The parts that ask two questions, by the numbers of the questions."""
        return {(part.rows, part.columns): part for part in self.together}


def _precision(chances: Vector, n: int, one_outcome: bool) -> Vector:
    pi = np.clip(chances, _LEAST, 1 - _LEAST)
    return n / pi if one_outcome else n / (pi * (1 - pi))


def _deviation(chances: Vector, n: int) -> Vector:
    pi = np.clip(chances, _LEAST, 1 - _LEAST)
    return np.sqrt(pi * (1 - pi) / n)
