"""Estimates and calibrated frequencies of mechanisms whose counts only Calibrate reads, such as `wave`.

A report of such a mechanism is a sign of many neighbouring cells. Raw estimates of single cells are refused, with the
reason. The posterior comes from the likelihood of the counts, and from what is known about the order of the cells.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from localdp.calibrate.base import AnyPosterior
from localdp.domain import Domain
from localdp.errors import InvalidInputError
from localdp.estimate.calibrated import Calibrated
from localdp.estimate.estimate import Estimate
from localdp.estimate.frequencies import INTERVALS
from localdp.estimate.on_scale import Placed
from localdp.estimate.structured import checked_structure
from localdp.hitters.result import SHARE
from localdp.mechanisms.observation import Through
from localdp.mechanisms.wave import no_raw_estimates
from localdp.priors import Auto, FittedPrior, Noise, Prior, prior_of
from localdp.structures.calibration import Calibration, channel_calibration
from localdp.table import Table
from localdp.types import Vector
from localdp.validation import checked_threshold

if TYPE_CHECKING:
    from localdp.estimate.asked import Asked
    from localdp.structures import Structure


class CountsThrough(Estimate):
    """The counts of reports that only Calibrate reads. `calibrate()` gives frequencies; raw ones are refused."""

    def __init__(self, seen: Through, domain: Domain, question: Asked, name: str) -> None:
        self.observation, self.domain, self.question, self.name = seen, domain, question, name
        self.n, self.total, self.origin = seen.n, float(seen.n), None
        self._freeze()

    @property
    def frequencies(self) -> Vector:  # type: ignore[override]
        """Raw estimates are an `ImpureMechanismError`, and so is everything that would use them."""
        raise no_raw_estimates(self.name)

    @property
    def variance(self) -> NoReturn:  # type: ignore[override]
        raise no_raw_estimates(self.name)

    @property
    def notes(self) -> tuple[str, ...]:
        return ()

    def calibrate(
        self,
        prior: Prior | FittedPrior | str = "auto",
        method: str | None = None,
        *,
        structure: Structure | None = None,
        warn: bool = True,
    ) -> Calibrated:
        """The posterior of the cells, from the likelihood of the counts and the order of the cells."""
        del warn  # raw estimates would be what contradicts its noise, and there are none
        if not isinstance(prior_of(prior), Auto) or method is not None:
            raise InvalidInputError(
                f"{self.name} is calibrated by the order of its cells, and takes no other prior: leave out prior and "
                "method"
            )
        assert isinstance(self.observation, Through)  # noqa: S101 (for the type checker)
        known = structure if structure is not None or self.question is None else self.question.structure
        checked_structure(known, prior_of(prior), self)
        assert known is not None  # noqa: S101 (checked above)
        counts, matrix = np.asarray(self.observation.counts, np.float64), self.observation.matrix
        found = CalibratedThrough(self.n, self.domain, channel_calibration(known, counts, matrix.T), self.name)
        return found if self.question is None else self.question.result(found)

    def __repr__(self) -> str:
        return f"<Counts of {self.n} {self.name} reports on {self.domain.size} cells, to be calibrated>"


class CalibratedThrough(Calibrated):
    """Calibrated frequencies for which there are no raw estimates."""

    def __init__(
        self,
        n: int,
        domain: Domain,
        calibration: Calibration,
        name: str,
        known: AnyPosterior | None = None,
        doubts: tuple[str, ...] = (),
    ) -> None:
        given = {"n": n, "domain": domain, "structured": calibration, "total": float(n), "name": name}
        given |= {"known": known, "doubts": doubts}
        for key, value in given.items():
            object.__setattr__(self, key, value)

    name: str

    @property
    def estimates(self) -> Vector:
        raise no_raw_estimates(self.name)

    @property
    def prior(self) -> FittedPrior:
        raise InvalidInputError(f"{self.name} is calibrated by the order of its cells: there is no prior beside it")

    @property
    def noise(self) -> Noise:
        raise no_raw_estimates(self.name)

    @property
    def notes(self) -> tuple[str, ...]:
        return self.doubts if self.structured is None else (*self.structured.notes, *self.doubts)

    def probability_above(self, threshold: float) -> Vector:
        """Pr(f_i > threshold) for every cell, given the counts."""
        limit = math.floor(min(max(checked_threshold(threshold), -1), self.n + 1))
        return self._posterior.probability_above(limit)

    def on_scale(self, starts: Vector, ends: Vector) -> Calibrated:
        return ThroughOnScale(self, starts, ends)

    def beside(self, estimate: Estimate, level: float = INTERVALS) -> Table:
        """The frequencies and their intervals: there are no raw estimates that could stand beside them."""
        del estimate
        low, high = self.interval(level)
        columns = {"item": self.domain.items, "calibrated": self.frequencies, "share": self.shares}
        title = f"{self.domain.size:,} cells among {self.n:,} users, calibrated by their order"
        return Table({**columns, "low": low, "high": high}, f"{title}, intervals of {100 * level:g}%", {"share": SHARE})

    @property
    def _footer(self) -> tuple[str, ...]:
        return ()

    @property
    def _about_noise(self) -> tuple[str, ...]:
        return ()

    def _processed(self, frequencies: Vector, step: str) -> Self:
        del frequencies, step
        raise InvalidInputError(
            f"calibrated frequencies of {self.name} are consistent already, and are not post-processed"
        )

    def __repr__(self) -> str:
        return f"<Calibrated frequencies of {self.domain.size} cells among {self.n} users, by their order>"


class ThroughOnScale(Placed, CalibratedThrough):
    """The same on a scale, with mean, percentiles and shares of ranges."""

    def __init__(self, found: CalibratedThrough, starts: Vector, ends: Vector) -> None:
        assert found.structured is not None  # noqa: S101 (for the type checker)
        super().__init__(found.n, found.domain, found.structured, found.name, found.known, found.doubts)
        object.__setattr__(self, "starts", starts)
        object.__setattr__(self, "ends", ends)


def known_through(whole: Calibrated, n: int, known: AnyPosterior, doubts: tuple[str, ...]) -> CalibratedThrough:
    """Frequencies of n people with a posterior of their own, of the same cells as a whole that they are part of."""
    assert isinstance(whole, CalibratedThrough)  # noqa: S101 (for the type checker)
    assert whole.structured is not None  # noqa: S101 (the same)
    return CalibratedThrough(n, whole.domain, whole.structured, whole.name, known, doubts)


def read_counts(seen: Any, domain: Domain, question: Asked, name: str, reports: tuple[float, float]) -> Estimate:
    """The estimate of these counts, if each person sent so many reports, all of them the same."""
    if reports[0] != reports[1]:
        raise InvalidInputError(
            f"{name} repeats a device's report as it is, so the noise in the counts does not tell how many reports "
            "each person sent: give one number of reports_per_person"
        )
    people = max(1, round(seen.n / reports[0]))
    if people != seen.n:
        seen = Through(seen.counts * (people / seen.n), people, seen.matrix)
    return CountsThrough(seen, domain, question, name)
