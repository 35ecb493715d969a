"""What earlier rounds measured of the candidates that are left, and the beliefs that follow from it.

Only the estimates are kept and saved, a few numbers for each candidate. Beliefs are computed from them again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from localdp.discovery.belief import DOUBT, MORE_DOUBT, Grid, Matrix, Noise, updated
from localdp.types import Indices, Rows, Vector

UNFINISHED = -1


@dataclass(frozen=True)
class Measured:
    """One round that is over: the noise of its estimates, and the law of its extensions (see `belief`)."""

    noise: Noise
    theta: float
    extensions: float


@dataclass(frozen=True, eq=False)
class History:
    """The rounds that are over, and the candidates that are left, one row each.

    `estimates` has a column for each round: the estimated share of the candidate's prefix, as far as the round asked.
    `since` is the round that first counted the whole value, or `UNFINISHED`. `prior` are the masses that the first
    round gave to the shares of the grid. `known` are the estimated shares of the values that were known beforehand,
    by all rounds together, each with its number of users as its weight.
    """

    rows: Rows
    position: int
    estimates: Matrix
    since: Indices
    rounds: tuple[Measured, ...] = ()
    prior: Vector = field(default_factory=lambda: np.zeros(0))
    known: Vector = field(default_factory=lambda: np.zeros(0))

    @property
    def finished(self) -> Any:
        """Which candidates are whole values."""
        return self.since != UNFINISHED

    def beliefs(self, grid: Grid, before: int | None = None, doubt: float = DOUBT) -> Matrix:
        """The belief about each candidate after all rounds; with `before`, after the first so many rounds only."""
        beliefs = np.broadcast_to(self.prior, (len(self.rows), grid.size))
        for number, measured in enumerate(self.rounds[:before]):
            if number:
                beliefs = self.extended(beliefs, grid, number, doubt)
            beliefs = updated(beliefs, grid.log_likelihood(self.estimates[:, number], measured.noise))
        return np.asarray(beliefs)

    def extended(self, beliefs: Matrix, grid: Grid, number: int, doubt: float = DOUBT) -> Matrix:
        """Beliefs about prefixes as beliefs about what round `number` asked for: whole values stay as they are."""
        measured = self.rounds[number]
        spread = beliefs @ grid.spread(measured.theta, measured.extensions, doubt)
        whole = self.finished & (self.since < number)
        return np.where(whole[:, None], beliefs, spread)

    def beliefs_before_whole(self, grid: Grid) -> Matrix:
        """For each finished candidate, the belief before the first round that counted the whole value."""
        priors = np.zeros((len(self.rows), grid.size))
        for number in np.unique(self.since[self.finished]).tolist():
            chosen = self.since == number
            some = self.take(chosen)
            if number:
                priors[chosen] = some.extended(some.beliefs(grid, number, MORE_DOUBT), grid, number, MORE_DOUBT)
            else:
                priors[chosen] = self.prior
        return priors

    def alone(self, most: float) -> Any:
        """For which finished candidates theta was `most` at most, in all rounds that led to them."""
        shared = np.array([bool(number and one.theta > most) for number, one in enumerate(self.rounds)])
        return np.cumsum(shared)[self.since] == 0

    @property
    def users(self) -> int:
        """The users of all rounds that count."""
        return sum(measured.noise.users for measured in self.rounds)

    def counted(self, measured: Measured, known: Vector) -> History:
        """This with one more round, and its estimated shares of the known values."""
        before, users = self.users, measured.noise.users
        pooled = (self.known * before + known * users) / (before + users) if before else known
        return replace(self, rounds=(*self.rounds, measured), known=pooled)

    def document(self) -> dict[str, Any]:
        """The history as a JSON value."""
        known = {"known": self.known.tolist()} if self.known.size else {}
        return known | {
            "rows": [row.tobytes().hex() for row in self.rows],
            "position": self.position,
            "estimates": self.estimates.tolist(),
            "since": self.since.tolist(),
            "prior": self.prior.tolist(),
            "rounds": [
                {
                    "users": measured.noise.users,
                    "variance": measured.noise.variance,
                    "excess": measured.noise.excess,
                    "theta": measured.theta,
                    "extensions": measured.extensions,
                }
                | ({"skewness": measured.noise.skewness} if measured.noise.skewness else {})
                for measured in self.rounds
            ],
        }

    @classmethod
    def from_document(cls, document: dict[str, Any], row_bytes: int) -> Self:
        """The history in such a JSON value, of candidates with this many bytes."""
        rounds = tuple(
            Measured(
                Noise(one["users"], one["variance"], one["excess"], one.get("skewness", 0.0)),
                one["theta"],
                one["extensions"],
            )
            for one in document["rounds"]
        )
        count = len(document["rows"])
        octets = b"".join(bytes.fromhex(row) for row in document["rows"])
        return cls(
            np.frombuffer(octets, np.uint8).reshape(count, row_bytes),
            document["position"],
            np.array(document["estimates"], np.float64).reshape(count, len(rounds)),
            np.array(document["since"], np.int64),
            rounds,
            np.array(document["prior"], np.float64),
            np.array(document.get("known", ()), np.float64),
        )

    def take(self, places: Any) -> History:
        """Some of the candidates."""
        return replace(self, rows=self.rows[places], estimates=self.estimates[places], since=self.since[places])
