"""Unbiased, noisy frequencies: the result of `Aggregate.estimate`, or of any other LDP software.

    fhat_i = f_i + s_i,     E(s_i) = 0,     Var(s_i) = variance + f_i * excess_variance

`variance` is n q*(1-q*)/(p*-q*)^2, the same for all items as in the paper, unless one is given for each item;
`excess_variance` is (1-p*-q*)/(p*-q*), the variance that each holder of an item adds. The frequencies f_i add up to
`total`: to n if every user holds one item.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from localdp.calibrate.base import Quantity
from localdp.domain import Domain
from localdp.errors import DoubtfulEstimateWarning, InvalidInputError
from localdp.estimate.frequencies import INTERVALS, Frequencies
from localdp.estimate.groups import group_deviation, group_quantity
from localdp.estimate.labelled import in_order
from localdp.estimate.observed import gaussian_noise, seen_by
from localdp.estimate.stated_noise import noise_note
from localdp.estimate.total import adds_up_by_itself, sum_note, sum_score
from localdp.frozen import Frozen
from localdp.hitters.rules import benjamini_hochberg
from localdp.items import Item
from localdp.mechanisms.observation import Observation, Supported
from localdp.table import Table
from localdp.types import Places, Progress, Vector
from localdp.validation import (
    checked_counts,
    checked_excess_variance,
    checked_level,
    checked_list,
    checked_probability,
    checked_threshold,
    checked_total,
    checked_users,
)

if TYPE_CHECKING:
    from localdp.estimate.asked import Asked
    from localdp.estimate.calibrated import Calibrated
    from localdp.estimate.combined import Combined
    from localdp.priors import FittedPrior, GoodnessOfFit, Prior, Rank
    from localdp.structures import Structure


_NO_NOISE = 0.01  # a smaller deviation than this is none: estimates are frequencies up to rounding


@dataclass(eq=False)
class Estimate(Frozen, Frequencies):
    """Estimated frequencies of d items among n users, unbiased, with the variance of their noise.

    Intervals and probabilities of an item use its own estimate alone, as if all frequencies were equally likely;
    `calibrate` does better. `zeroed` and `project` return copies with other frequencies; their intervals and
    probabilities still come from the unbiased estimates, which they keep as `origin`.

    Made by `Aggregate.estimate`, or by hand from another library's estimates: a list in the order of the items, or a
    dictionary or a pandas Series that is labelled with them. `variance` is then what that library's
    mechanism states, a list with one variance for each item where they differ, or "estimate" to estimate it from the
    lower half of the estimates. `total` is the sum of all frequencies: n unless another number is given, or None if it
    is not known, as where a user may hold several items. `notes` says where the estimates contradict their stated
    noise or their total.

    >>> est = Estimate([9.5, -2.0, 31.0], n=40, variance=16.0, domain=["tea", "coffee", "water"])
    >>> est.std_error
    4.0
    """

    frequencies: Vector
    n: int = field(kw_only=True)
    variance: float | Vector = field(kw_only=True)
    domain: Domain = field(kw_only=True, default=None)  # type: ignore[assignment]
    excess_variance: float = field(kw_only=True, default=0.0)
    total: float | None = field(kw_only=True, default="n")  # type: ignore[assignment]
    probabilities: tuple[float, float] | None = field(kw_only=True, default=None)
    """p* and q*, if the estimates are debiased counts of reports: they give the exact law of the noise."""
    origin: Estimate | None = field(kw_only=True, default=None)
    processing: tuple[str, ...] = field(kw_only=True, default=())
    question: Asked | None = field(kw_only=True, default=None, repr=False)
    """The question that was asked, if it is known: it knows how calibrated frequencies are read."""
    observation: Observation | None = field(kw_only=True, default=None, repr=False)
    """The counts behind the estimates, and what is known of their law, if it is known."""

    def __post_init__(self) -> None:
        self.frequencies, self.variance, self.domain = in_order(self.frequencies, self.variance, self.domain)
        self.n = checked_users(self.n)
        total: Any = self.total
        self.total = float(self.n) if isinstance(total, str) and total == "n" else checked_total(total)
        if self.probabilities is not None and not isinstance(self.variance, float):
            raise InvalidInputError(
                "p* and q* determine one variance for all items: give either the probabilities or a variance for each"
            )
        self.excess_variance = checked_excess_variance(self.excess_variance)
        self._freeze()

    @classmethod
    def from_counts(
        cls,
        counts: ArrayLike,
        *,
        n: int,
        p_star: float | Fraction,
        q_star: float | Fraction,
        domain: Domain | list[Item] | None = None,
    ) -> Estimate:
        """Debias the support counts of another library's pure mechanism, given its p* and q*.

        >>> Estimate.from_counts([30, 10], n=40, p_star=0.75, q_star=0.25).frequencies.tolist()
        [40.0, 0.0]
        """
        p, q = checked_probability(p_star), checked_probability(q_star)
        if not q < p or float(p - q) < 1e-300:
            raise InvalidInputError(f"p* must be larger than q*, but {float(p):g} and {float(q):g} were given")
        users = checked_users(n)
        seen = Supported(checked_counts(counts, users), users, p, q)
        return cls(
            seen.frequencies,
            n=users,
            variance=seen.variance,
            domain=domain,  # type: ignore[arg-type]
            excess_variance=seen.excess_variance,
            probabilities=seen.probabilities,
        )

    @property
    def std_error(self) -> float:
        """The standard deviation of the noise of an item that nobody holds.

        If each item has its own variance, it is the root of their mean; `std_errors` has one for each item.
        """
        return math.sqrt(self.variance if isinstance(self.variance, float) else float(self.variance.mean()))

    def std_error_at(self, frequencies: ArrayLike) -> Vector:
        """The standard deviation of the noise of items with these true frequencies.

        If each item has its own variance, give one frequency for all items, or one for each.
        """
        held = np.clip(np.asarray(frequencies, np.float64), 0, self.n)
        return np.sqrt(np.maximum(self.variance + held * self.excess_variance, 0))

    def quantile(self, level: float) -> Vector:
        """For every item, the frequency that the true one does not exceed, with this confidence."""
        return self._quantiles_of(np.arange(self.domain.size), np.full(self.domain.size, checked_level(level)))

    def probability_above(self, threshold: float) -> Vector:
        """For every item, the confidence that its true frequency is larger than the threshold."""
        from scipy.special import ndtr

        limit = math.floor(min(max(checked_threshold(threshold), -1), self.n)) + 0.5
        if not 0 < limit < self.n:  # every frequency is at least 0 and at most n
            return np.full(self.domain.size, float(limit < 0))
        deviation = np.maximum(self.std_error_at(limit), 1e-300)
        with np.errstate(over="ignore"):
            confidence: Vector = ndtr((self._unbiased - limit) / deviation)
        return confidence

    def calibrate(
        self,
        prior: Prior | FittedPrior | str = "auto",
        method: str | None = None,
        *,
        structure: Structure | None = None,
        warn: bool = True,
    ) -> Calibrated:
        """Calibrated frequencies: the mean of every item's posterior under a prior.

        `prior` is a family (`PowerLaw()`, or its name), which is fitted to these estimates by `method` ("mean-variance"
        or "mle" for the paper's families), or a prior that was fitted before and is used as it is. With the paper's
        families all items have the same variance, as in the paper; with ours, frequent items have more.

        `structure` says how the items belong together: `Ordered()`, `Crossed((rows, columns))`, `Like(previous)` or one
        of your own. It is averaged with the prior "auto" by evidence, and `notes` says what the data think of it. With
        the prior "auto", the structure of the question is used if none is given: the order of a `Scale`.

        The prior is fitted now. The posterior is computed when an attribute of the result first needs it, such as
        `frequencies` or `interval`. Estimates that contradict their noise or their total are warned of, or with
        `warn=False` only described in the `notes` of the result.

        >>> est = Estimate([9.5, -2.0, 31.0], n=40, variance=16.0)
        >>> est.calibrate("power-law").frequencies.argmax()
        np.int64(2)
        """
        from localdp.estimate.calibrated import Calibrated
        from localdp.estimate.structured import checked_structure, with_structure
        from localdp.priors import Auto, FittedPrior, observations_of, prior_of

        if self.origin is not None:
            raise InvalidInputError(
                f"estimates that were post-processed ({', '.join(self.processing)}) are no longer frequencies plus "
                "noise: calibrate the estimates themselves, then post-process what that gives"
            )
        family = prior_of(prior)
        if structure is None and self.question is not None and isinstance(family, Auto):
            structure = self.question.structure
        if structure is not None:
            checked_structure(structure, family, self)
        if isinstance(family, FittedPrior) and method is not None:
            raise InvalidInputError("a fitted prior is used as it is: it takes no method")
        for note in self.notes if warn else ():
            warnings.warn(note, DoubtfulEstimateWarning, stacklevel=2)
        observed = seen_by(family, self, self._variances)
        total = self.total if family.uses_total else None
        if isinstance(family, FittedPrior):
            fitted = family
        else:
            fitted = family.fit(observations_of(*observed, self.n, self.total), method)
        calibrated = Calibrated(
            observed[0],
            self.n,
            self.domain,
            fitted,
            observed[1],
            total=total,
            probabilities=self.probabilities,
            doubts=self.notes,
            doubts_level=self.total is None and family.uses_total and not isinstance(family, FittedPrior),
        )
        if structure is not None:
            calibrated = with_structure(calibrated, structure)
        return calibrated if self.question is None else self.question.result(calibrated)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Where the estimates contradict their total or their stated noise; empty if they do not."""
        if self.origin is not None:
            return self.origin.notes
        total, shared = self.total, self.observation.shared if self.observation is not None else 1.0
        about_sum = None if total is None else sum_note(sum_score(self.frequencies, total, self._variances, shared))
        if about_sum is not None and abs(self.frequencies.sum()) < 2 < self.n:
            about_sum += ". If these are shares, multiply them by n, and their variance by n squared"
        spacing = 0.0 if self.probabilities is None else 1 / (self.probabilities[0] - self.probabilities[1])
        about_noise = noise_note(self.frequencies, np.maximum(self._deviations, _NO_NOISE), spacing)
        return tuple(note for note in (about_sum, about_noise) if note is not None)

    @property
    def _deviations(self) -> float | Vector:
        return self.std_error if isinstance(self.variance, float) else np.sqrt(self.variance)

    @property
    def _variances(self) -> Vector:
        """The variance of the noise of every item, if its frequency is what it is estimated to be."""
        found = np.clip(self._unbiased, 0, self.n)  # then in place: there may be very many items
        found *= self.excess_variance
        found += self.variance
        return np.maximum(found, 0.0, out=found)

    def rank_priors(self, priors: Sequence[Prior | FittedPrior | str] | None = None) -> list[Rank]:
        """Families fitted to these estimates, from the one that fits best to the one that fits worst.

        `priors` are the ones to compare, by name, as families or fitted already; without them, those of the library.
        """
        from localdp.priors import Auto, observations_of, prior_of, rank

        several = None if priors is None else [prior_of(prior) for prior in checked_list(priors, "priors")]
        fitted_to = self._fitted_to
        observed = seen_by(Auto(), fitted_to, fitted_to._variances)
        return rank(observations_of(*observed, fitted_to.n, fitted_to.total), several)

    def goodness_of_fit(
        self,
        prior: Prior | FittedPrior | str,
        method: str | None = None,
        *,
        against: Prior | FittedPrior | str | None = None,
        replicates: int = 99,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> GoodnessOfFit:
        """Test whether these estimates look as a family of priors and the noise predict.

        The family is fitted by `method` and the distribution of the estimates is compared with the predicted one. The
        p-value comes from `replicates` simulated surveys, each of which is fitted anew; `progress(done, total)` is
        called after each. A prior that is already fitted counts as known beforehand; if it was fitted to these same
        estimates, the test is too lenient. `against` names another family: `power` then says how often the test would
        reject the first one if the frequencies came from this one. See `localdp.priors.goodness` for the statistic.

        >>> drawn = np.random.default_rng(0).poisson(50, 400)
        >>> est = Estimate(drawn + np.random.default_rng(1).normal(0, 4, 400), n=int(drawn.sum()), variance=16.0)
        >>> est.goodness_of_fit("poisson").p_value > 0.05, est.goodness_of_fit("power-law").p_value
        (True, 0.01)
        """
        from localdp.priors import goodness_of_fit, prior_of

        tested = self._fitted_to
        if tested.origin is not None:
            raise InvalidInputError(
                "post-processed estimates are no longer frequencies plus noise: test the unbiased estimates"
            )
        other, noise = None if against is None else prior_of(against), gaussian_noise(tested)
        options: Any = {"against": other, "replicates": replicates, "seed": seed, "progress": progress}
        return goodness_of_fit(tested.frequencies, noise, tested.n, prior_of(prior), method, **options)

    @property
    def _fitted_to(self) -> Estimate:
        """What priors are fitted to: these estimates, unless their errors are far from Gaussian."""
        return self

    def combine(self, opt_in_counts: ArrayLike) -> Combined:
        """These estimates combined with the exact counts of other users, who opted in to share their item.

        `opt_in_counts` has, for each item, how many of the m users who opted in hold it. They are not among the n users
        of these estimates; the result is about all n + m. It assumes that opting in does not depend on the item, so
        that the m users are a random sample of all. It is unbiased, and its weights follow the variances of both
        parts. See `localdp.priors.hybrid` for the formula. Users who opt in have no privacy.

        >>> est = Estimate([9_200.0, 300.0, 90_500.0], n=100_000, variance=640_000.0, domain=["tea", "coffee", "water"])
        >>> both = est.combine([97, 4, 899])
        >>> both.frequencies.round().tolist()
        [9526.0, 403.0, 91134.0]
        >>> both
        <Estimate of 3 items among 101000 users, standard error 6.25997, 1000 of whom opted in>
        """
        from localdp.estimate.combined import Combined

        if self.origin is not None or isinstance(self, Combined):
            raise InvalidInputError("only unbiased estimates of private answers can be combined with opted-in users")
        return Combined.of(self, opt_in_counts)

    def compare(
        self,
        prior: Prior | FittedPrior | str | Sequence[Prior | FittedPrior | str] = "auto",
        level: float = INTERVALS,
    ) -> Table:
        """Raw, zeroed, norm-sub and calibrated frequencies side by side, with the intervals of the calibrated ones.

        If `prior` is a list, there is a column for each of its priors instead, without intervals.

        >>> est = Estimate([9.5, -2.0, 31.0], n=40, variance=16.0, domain=["tea", "coffee", "water"])
        >>> print(est.compare("power-law").largest("calibrated", 2))  # doctest: +NORMALIZE_WHITESPACE
        3 items among 40 users, calibrated by power-law, intervals of 90%
        item   raw  zeroed  norm-sub  calibrated   share  low  high
        water   31      31        31          31  76.43%   24    37
        tea     10      10         9           8  20.60%    1    14
        """
        from localdp.estimate.comparison import comparison

        return comparison(self, prior, level)

    def __repr__(self) -> str:
        kind = " ".join(["<Estimate", *(f"({step})" for step in self.processing)])
        deviations = self._deviations
        shown = f"standard error {self.std_error:.6g}"
        if not isinstance(deviations, float):
            shown = f"standard errors from {deviations.min():.6g} to {deviations.max():.6g}"
        return f"{kind} of {self.domain.size} items among {self.n} users, {shown}>"

    def _interval(self, level: float) -> tuple[Vector, Vector]:
        beyond = (1 - level) / 2
        return self.quantile(beyond), self.quantile(1 - beyond)

    def _quantiles_of(self, items: Places, levels: Vector) -> Vector:
        from scipy.special import ndtri

        centre = self._unbiased[items]
        with np.errstate(invalid="ignore"):
            reached = centre + self._std_errors_of(items, centre) * ndtri(levels)
        # With infinite variance the median would be infinity times 0, which is nan.
        found = np.where(np.isnan(reached), centre, reached)
        return np.clip(np.round(found) + 0.0, 0, self.n)  # + 0.0 turns -0.0 into 0.0

    def _std_errors_of(self, items: Places, frequencies: Vector) -> Vector:
        """The standard deviation of the noise of these items at these true frequencies."""
        if isinstance(self.variance, float):
            return self.std_error_at(frequencies)
        held = np.clip(frequencies, 0, self.n)
        return np.sqrt(np.maximum(self.variance[items] + held * self.excess_variance, 0.0))

    def _group_sum(self, members: Places, level: float) -> Quantity:
        variances, found = self._variances, float(self.frequencies[members].sum())
        everything = None
        if self.total is not None and np.isfinite(variances).all() and variances.any():
            if adds_up_by_itself(self._unbiased, self.total) and self.domain.size > 1:
                # Their noise knows the total already: so scaled, a group of one item keeps its variance, about.
                variances = variances / (1 - 1 / self.domain.size)
            everything = float(variances.sum())
            if self.origin is None:
                found -= float(variances[members].sum()) / everything * (float(self.frequencies.sum()) - self.total)
        return group_quantity(found, group_deviation(variances[members], everything), level)

    def _discoveries(self, descending: Vector, level: float) -> int:
        return benjamini_hochberg(1 - descending, level)

    def _processed(self, frequencies: Vector, step: str) -> Self:
        origin = self if self.origin is None else self.origin
        return replace(self, frequencies=frequencies, origin=origin, processing=(*self.processing, step))

    @property
    def _unbiased(self) -> Vector:
        return self.frequencies if self.origin is None else self.origin.frequencies
