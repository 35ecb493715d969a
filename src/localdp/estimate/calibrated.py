"""Calibrated frequencies: the mean of the posterior of every item, with its uncertainty.

    ftilde_i = E[f | fhat_i],   f ~ p_f,   fhat = f + s,   s ~ N(0, Var)

Given the prior p_f and the noise, no other estimator has a smaller mean squared error (Theorem 1 of the paper).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from localdp.calibrate.base import AnyPosterior, Quantity
from localdp.calibrate.choice import posterior_of
from localdp.calibrate.unknown_total import widened
from localdp.domain import Domain
from localdp.errors import InvalidInputError
from localdp.estimate.frequencies import INTERVALS, Frequencies
from localdp.estimate.in_survey import InSurvey
from localdp.frozen import read_only
from localdp.priors import FittedPrior, Noise, NoiseByItem, Predictive
from localdp.structures.calibration import Calibration
from localdp.types import Places, Vector
from localdp.validation import checked_estimates, checked_level, checked_threshold, shown

if TYPE_CHECKING:
    from localdp.estimate.estimate import Estimate
    from localdp.table import Table


@dataclass(frozen=True, eq=False)
class Calibrated(Frequencies):
    """Calibrated frequencies of d items among n users, with the prior they rest on. Made by `Estimate.calibrate`.

    `notes` says which priors were averaged, what was decided where a family could not fit, and where the estimates
    contradict their stated noise or their total. `total` is the sum of the frequencies if Calibrate used it.

    `zeroed` and `project` return copies with other frequencies; their intervals and probabilities still come from the
    posterior, which they share with `origin`, the calibrated frequencies that they were made from.

    >>> from localdp import Estimate
    >>> cal = Estimate([9.5, -2.0, 31.0], n=40, variance=16.0).calibrate("power-law")
    >>> cal.frequencies.round(1).tolist()
    [8.2, 2.2, 30.6]
    >>> [side.tolist() for side in cal.interval(0.9)]
    [[1.0, 1.0, 24.0], [14.0, 4.0, 37.0]]
    """

    estimates: Vector
    n: int
    domain: Domain
    prior: FittedPrior
    noise: Noise | NoiseByItem
    processed: Vector | None = None
    processing: tuple[str, ...] = ()
    origin: Calibrated | None = field(kw_only=True, default=None)
    total: float | None = field(kw_only=True, default=None)
    probabilities: tuple[float, float] | None = field(kw_only=True, default=None)
    doubts: tuple[str, ...] = field(kw_only=True, default=())
    doubts_level: bool = field(kw_only=True, default=False)
    """Whether the level of the prior was learnt from these estimates alone, without a known total."""
    survey: InSurvey | None = field(kw_only=True, default=None)
    """What these frequencies have in common with the other tables of a questionnaire, if they belong to one."""
    structured: Calibration | None = field(kw_only=True, default=None)
    """The posterior that knows how the items belong together, if a structure was given."""
    known: AnyPosterior | None = field(kw_only=True, default=None)
    """The posterior itself, if more is known than these estimates say, as of a day with others around it."""

    @cached_property
    def frequencies(self) -> Vector:
        """The posterior means, or the post-processed frequencies."""
        return read_only(self._posterior.means() if self.processed is None else self.processed)

    @cached_property
    def std(self) -> Vector:
        """The standard deviation of the posterior of every item."""
        return read_only(self._posterior.deviations()) if self.origin is None else self.origin.std

    @property
    def std_error(self) -> float:
        """The standard deviation of the noise of an item that nobody holds, before calibrating.

        If the noise differs by item, it is the root of the mean variance; `std_errors` has one for each item.
        """
        return self.noise.deviation

    @property
    def _deviations(self) -> float | Vector:
        return np.sqrt(self.noise.variances) if isinstance(self.noise, NoiseByItem) else self.noise.deviation

    @property
    def notes(self) -> tuple[str, ...]:
        """Where the estimates contradict their noise or total, and what was decided while the prior was fitted."""
        if self.survey is not None:
            return (*self.doubts, *self.survey.notes)
        return (*self.doubts, *(() if self.structured is None else self.structured.notes), *self.prior.notes)

    @property
    def shares(self) -> Vector:
        """The frequency of every item divided by the number of users; of two crossed questions, a table."""
        found = super().shares
        return found if self.survey is None else found.reshape(self.survey.shape)

    @property
    def no_answer(self) -> Quantity:
        """The share of the people who did not answer, for a question of a questionnaire without a cell for them."""
        return self._in_survey().no_answer(INTERVALS)

    def given(self, answers: Mapping[str, Any] | None = None, /, **named: Any) -> Calibrated:
        """These frequencies among the people with some answer to another question of the questionnaire.

        `result["age"].given(diet="vegan")` has the ages of vegans. Several answers are given as a list.
        """
        if answers is not None and not isinstance(answers, Mapping):
            raise InvalidInputError(
                f"an answer is given with its question, as in given(diet='vegan'), not {shown(answers)}"
            )
        return self._in_survey().given({**(answers or {}), **named})

    def _in_survey(self) -> InSurvey:
        if self.survey is None:
            raise InvalidInputError("only tables of a questionnaire know about other questions and about no answers")
        return self.survey

    def quantile(self, level: float) -> Vector:
        """For every item, the smallest frequency that the true one does not exceed with this probability."""
        return self._posterior.quantiles(checked_level(level))

    def probability_above(self, threshold: float) -> Vector:
        """Pr(f_i > threshold | fhat_i) for every item."""
        limit = math.floor(min(max(checked_threshold(threshold), -1), self.prior.n + 1))
        return self._posterior.probability_above(limit)

    in_order: ClassVar[bool] = False
    """Whether the cells have an order, so that tables and pictures keep it."""

    def beside(self, estimate: Estimate, level: float = INTERVALS) -> Table:
        """These frequencies and their intervals, beside the raw estimates that they were calibrated from."""
        from localdp.estimate.comparison import beside

        return beside(estimate, self, checked_level(level))

    def summary(self, level: float = INTERVALS) -> dict[str, Quantity]:
        """Figures that sum up the answers, by name, with their intervals: none, unless the question has some."""
        checked_level(level)
        return {}

    def on_scale(self, starts: Vector, ends: Vector) -> Calibrated:
        """The same frequencies, of ordered cells that begin and end here, with means and percentiles."""
        from localdp.estimate.on_scale import OnScale

        return OnScale.of(self, starts, ends)

    def predicted_density(self, estimates: ArrayLike) -> Vector:
        """p_fhat, the density that the prior and the noise predict for raw estimates, at each of these (Eq. 21).

        If the prior is right, a histogram of the raw estimates has this shape; `localdp.plots.plot_predicted` draws
        both.
        """
        points = checked_estimates(estimates)
        return Predictive.of(self.prior, self.noise.usable(self.n)).density(points)

    def _interval(self, level: float) -> tuple[Vector, Vector]:
        found = self._posterior.shortest_intervals(level)
        if not self.doubts_level or self.structured is not None:
            return found
        means = self.frequencies if self.origin is None else self.origin.frequencies
        return widened(found, means, self.std, self._deviations, level, self.prior.n)

    def named_beforehand(self, places: Places, level: float) -> tuple[Vector, Vector, Vector]:
        # The estimates were moved to the total, if it is known, which leaves an item v - v^2/V of its variance v.
        held = np.clip(self.estimates, 0, self.n)
        variances = self.noise.variance_of(slice(None), held)
        known = 0.0 if self.total is None else variances / max(float(variances.sum()), 1e-300)
        reach = (ndtri((1 + level) / 2) * np.sqrt(variances * (1 - known)))[places]
        found = self.estimates[places]
        low, high = (np.clip(np.round(found + side * reach) + 0.0, 0, self.n) for side in (-1, 1))
        return held[places], low, high

    def _quantiles_of(self, items: Places, levels: Vector) -> Vector:
        return self._posterior.quantiles_of(items, levels)

    def _group_sum(self, members: Places, level: float) -> Quantity:
        found = self._posterior.linear(np.isin(np.arange(self.domain.size), members).astype(np.float64), level)
        # A combination with raw sums can lie outside of what is possible, as those do.
        value = np.clip(found.value, 0.0, self._most) if self.processed is None else self.processed[members].sum()
        return replace(found, value=float(value))

    @property
    def _footer(self) -> tuple[str, ...]:
        return ("intervals hold for this list; for items named before looking, use table(items=[...])",)

    def _processed(self, frequencies: Vector, step: str) -> Self:
        origin = self if self.origin is None else self.origin
        return replace(self, processed=frequencies, processing=(*self.processing, step), origin=origin)

    @property
    def _posterior(self) -> AnyPosterior:
        if self.known is not None:
            return self.known
        if self.survey is not None:
            return self.survey.posterior
        return self._exchangeable if self.structured is None else self.structured.posterior

    @cached_property
    def _exchangeable(self) -> AnyPosterior:
        if self.origin is not None:
            return self.origin._exchangeable
        return posterior_of(self.prior, self.noise, self.estimates, self.total)

    def __repr__(self) -> str:
        steps = "".join(f" ({step})" for step in self.processing)
        if self.survey is not None:
            return f"<Calibrated frequencies{steps} of {self.domain.size} cells of a questionnaire of {self.n} people>"
        by = repr(self.prior) if self.structured is None else f"{self.structured.structure!r} and {self.prior!r}"
        return f"<Calibrated frequencies{steps} of {self.domain.size} items among {self.n} users, {by}>"
