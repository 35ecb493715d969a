r"""One side of a comparison: unbiased shares of a population, and the law of their error.

The n people of a survey are a sample of a population in which item i has the share theta_i. Its estimated share y_i
then has two errors, the sampling of people and the noise of their reports:

    Var(y_i)  =  theta_i (1 - theta_i) / n  +  u_i - u_i^2 / sum_j u_j,      u_i = Var(noise of fhat_i) / n^2.

The last term is there if the frequencies are known to add up to n: estimates are moved to that sum
(`localdp.estimate.total`), which takes away what their noise has in common. Those of `grr` and `ss` add up by
themselves, and need it not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from localdp.calibrate.base import Quantity
from localdp.calibrate.ordered_cells import OrderedCells
from localdp.domain import Domain
from localdp.errors import DomainError, InvalidInputError
from localdp.estimate import Estimate
from localdp.estimate.calibrated import Calibrated
from localdp.estimate.combined import Combined
from localdp.estimate.labelled import in_order
from localdp.estimate.observed import seen_by
from localdp.estimate.on_scale import Placed
from localdp.estimate.through_channel import CountsThrough
from localdp.mechanisms.observation import Through
from localdp.plan import Aggregate
from localdp.priors import Auto, Noise, NoiseByItem
from localdp.types import Vector
from localdp.validation import checked_estimates, shown

_EXPECTED = "an Aggregate, an Estimate or a Calibrated, or a list of shares that are known"
_MANY = 1_000  # reports that support an item by chance: from here on their number is as good as normal


@dataclass(frozen=True, eq=False)
class Side:
    """What one survey says about the shares of the population that its n people were drawn from."""

    shares: Vector
    """Unbiased; they add up to 1 if every person holds one item."""
    n: int
    domain: Domain
    noise: Noise | NoiseByItem
    adds_up: bool
    """Whether every person holds one item."""
    total: float | None
    probabilities: tuple[float, float] | None
    """p* and q*, if the shares come from counts of reports."""
    balanced: bool
    """Whether every report supports equally many items, so that estimates add up by themselves."""
    source: Any
    """What was compared: it tells whether both sides have the same reports."""

    @classmethod
    def of(cls, given: Aggregate | Estimate | Calibrated) -> Side:
        """A side from what people have: an aggregate, an estimate or calibrated frequencies."""
        found = given.estimate() if isinstance(given, Aggregate) else given
        while found.origin is not None:
            found = found.origin
        if isinstance(found, CountsThrough):
            return Outcomes.of_counts(found, given)
        total: float | None = found.total
        if isinstance(found, Calibrated):
            estimates, noise = found.estimates, found.noise
        elif isinstance(found, Combined):
            estimates, noise, total = found.frequencies, found.noise, None
        else:
            estimates, noise = seen_by(Auto(), found, found._variances)
        return cls(
            estimates / found.n,
            found.n,
            found.domain,
            noise,
            total == float(found.n),
            total,
            found.probabilities,
            _is_widened(noise, found),
            given,
        )

    @property
    def size(self) -> int:
        """The number of items."""
        return self.domain.size

    def noise_variances(self, shares: Vector) -> Vector:
        """u: the variance of the noise of every share before it was moved, if these are the true shares."""
        held = np.clip(shares, 0, 1) * self.n
        # `variance_of` has the items along the first axis, and several surveys have them along the last one.
        return self.noise.variance_of(slice(None), held.T).T / self.n**2

    def variances(self, shares: Vector) -> Vector:
        """The variance of every estimated share around that of the population; the last axis is that of the items."""
        own = self.noise_variances(shares)
        if self.balanced and self.probabilities is not None:
            p, q = self.probabilities
            own = (q * (1 - q) / (p - q) + np.clip(shares, 0, 1) * (1 - p - q)) / ((p - q) * self.n)
        elif self.total is not None:
            own = own * (1 - own / np.maximum(own.sum(axis=-1, keepdims=True), 1e-300))
        inside = np.clip(shares, 0, 1)
        return own + inside * (1 - inside) / self.n

    @cached_property
    def placed(self) -> Placed | None:
        """The calibrated frequencies along their scale; None if the items have no order."""
        found = self.source.estimate() if isinstance(self.source, Aggregate) else self.source
        if not isinstance(found, Calibrated):
            if found.question is None or found.question.structure is None:
                return None
            found = found.calibrate(warn=False)
        return found if isinstance(found, Placed) else None

    def along(self, scale: Placed) -> OrderedCells:  # noqa: ARG002 (known shares need it)
        """What is known of the population along its scale: the posterior of the people, who are a sample of it."""
        found = self.placed
        assert found is not None  # noqa: S101 (both sides have the same items)
        return OrderedCells(self._linear, found.frequencies, found.starts, found.ends)

    def _linear(self, weights: Vector, level: float) -> Quantity:
        """A weighted sum over the cells of a scale."""
        found = self.placed
        assert found is not None  # noqa: S101 (the same)
        own, shares = found._posterior.linear(weights, level), found.frequencies / found.n
        spread = found.n * max(float(np.square(weights) @ shares - (weights @ shares) ** 2), 0.0)
        sampled = float(ndtri((1 + level) / 2)) * np.sqrt(spread)
        low, high = np.hypot(own.value - own.low, sampled), np.hypot(own.high - own.value, sampled)
        return Quantity(own.value, float(own.value - low), float(own.value + high), level)

    @property
    def people(self) -> str:
        """How many people there were, for a title."""
        return f"{self.n:,} people" if self.n != 1 else "1 person"

    def redraw(self, shares: Vector, times: int, rng: np.random.Generator) -> Vector:
        """Estimated shares of so many other surveys of a population with these shares: a row for each survey.

        The people are drawn anew, and so is the noise of their reports: from its exact law where p* and q* are known,
        and from a normal one where they are not, or where counts are so large that it makes no difference.
        """
        n, pair = self.n, self.probabilities
        own = self.noise_variances(shares)
        if pair is None or n * pair[1] * (1 - pair[1]) > _MANY:
            held = self._sampled(shares, times, rng)
            found = held + np.sqrt(own) * rng.standard_normal((times, self.size))
        elif self.balanced and abs(pair[1] * self.size + pair[0] - pair[1] - 1) < 1e-6:
            reported = rng.multinomial(n, _normalised(pair[1] + shares * (pair[0] - pair[1])), times)
            return np.asarray((reported / n - pair[1]) / (pair[0] - pair[1]))
        else:
            people = np.rint(self._sampled(shares, times, rng, whole=True) * n).astype(np.int64)
            counts = rng.binomial(people, pair[0]) + rng.binomial(n - people, pair[1])
            found = (counts / n - pair[1]) / (pair[0] - pair[1])
            if self.balanced:  # the noise that is left after moving must be as large as that of the reports
                found = people / n + (found - people / n) * np.sqrt(self.size / (self.size - 1))
        if self.total is None:
            return found
        away = found.sum(axis=1, keepdims=True) - self.total / n
        return np.asarray(found - away * own / max(float(own.sum()), 1e-300))

    def _sampled(self, shares: Vector, times: int, rng: np.random.Generator, *, whole: bool = False) -> Vector:
        """The shares among n people who are drawn from the population, for each survey."""
        if whole or self.n * float(np.min(shares[shares > 0], initial=1.0)) < _MANY:
            if self.adds_up:
                return rng.multinomial(self.n, _normalised(shares), times) / self.n
            return rng.binomial(self.n, np.clip(shares, 0, 1), (times, self.size)) / self.n
        drawn = np.sqrt(shares / self.n) * rng.standard_normal((times, self.size))
        if self.adds_up:
            return np.asarray(shares + drawn - shares * drawn.sum(axis=1, keepdims=True))
        return shares + drawn * np.sqrt(1 - np.clip(shares, 0, 1))


@dataclass(frozen=True, eq=False)
class Outcomes(Side):
    """A side whose reports are signs of several cells: the `outcomes` are compared, through the `matrix` of their law.

    The shares are calibrated ones, and only say around which level the surveys are compared.
    """

    outcomes: Vector
    matrix: Vector
    ordered: int
    """How many of the cells have an order."""
    placed: Placed | None

    @classmethod
    def of_counts(cls, found: CountsThrough, given: Any) -> Outcomes:
        """A side from counts of outcomes."""
        seen, known, size = found.observation, found.question, found.domain.size
        assert isinstance(seen, Through)  # noqa: S101 (for the type checker)
        ordered = size if known is None or known.structure is None else known.structure.in_order(size)
        calibrated = found.calibrate()
        law = np.asarray(seen.matrix.T, np.float64)
        return cls(
            *(calibrated.shares, seen.n, found.domain, Noise(0.0), True, float(seen.n), None, False, given),
            *(np.asarray(seen.counts, np.float64) / seen.n, law, ordered),
            calibrated if isinstance(calibrated, Placed) else None,
        )

    def redraw_outcomes(self, expected: Vector, times: int, rng: np.random.Generator) -> Vector:
        """The shares of the outcomes in so many other surveys."""
        return np.asarray(rng.multinomial(self.n, expected / expected.sum(), times) / self.n)


class Known(Side):
    """Shares that are known without error: a census, a hypothesis, a target."""

    @classmethod
    def of_shares(cls, given: Any, other: Side, what: str) -> Known:
        """Shares, one for each item of the other side, in the order of the items or labelled with them."""
        try:
            shares = checked_estimates(list(given.values()) if isinstance(given, Mapping) else given)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"{what} is {_EXPECTED}, not {shown(given)} ({error})") from None
        if shares.size != other.size:
            raise DomainError(f"{what} has {shares.size:,} shares, but there are {other.size:,} items")
        shares = in_order(given, 1.0, other.domain)[0]
        if (shares < 0).any() or (shares > 1).any() or (other.adds_up and abs(float(shares.sum()) - 1) > 1e-6):
            raise InvalidInputError(
                f"{what} has shares from 0 to 1"
                + (f" that add up to 1, not to {float(shares.sum()):g}" if other.adds_up else "")
            )
        return cls(shares, 0, other.domain, Noise(0.0), other.adds_up, other.total, None, False, given)

    @property
    def people(self) -> str:
        """They are nobody's answers."""
        return "known shares"

    @property
    def placed(self) -> None:
        """The other side knows where the cells are."""

    def along(self, scale: Placed) -> OrderedCells:
        """They are known without error."""
        return OrderedCells(self._linear, self.shares, scale.starts, scale.ends)

    def _linear(self, weights: Vector, level: float) -> Quantity:
        value = float(weights @ self.shares)
        return Quantity(value, value, value, level)

    def noise_variances(self, shares: Vector) -> Vector:
        """None."""
        return np.zeros(shares.shape)

    def variances(self, shares: Vector) -> Vector:
        """None."""
        return np.zeros(shares.shape)

    def redraw(self, shares: Vector, times: int, rng: np.random.Generator) -> Vector:  # noqa: ARG002 (nothing is random)
        """The same shares every time."""
        return np.broadcast_to(self.shares, (times, self.size))


def two_sides(before: Any, after: Any) -> tuple[Side, Side]:
    """Both sides of a comparison. One of them may be a list of shares that are known."""
    known = [not isinstance(given, Aggregate | Estimate | Calibrated) for given in (before, after)]
    if all(known):
        raise InvalidInputError(
            f"one side at least is {_EXPECTED.split(', or')[0]}, not {shown(before)} and {shown(after)}"
        )
    if known[0]:
        other = Side.of(after)
        return Known.of_shares(before, other, "before"), other
    first = Side.of(before)
    return first, Known.of_shares(after, first, "after") if known[1] else Side.of(after)


def _normalised(shares: Vector) -> Vector:
    positive = np.maximum(shares, 0)
    return np.asarray(positive / positive.sum())


def _is_widened(noise: Noise | NoiseByItem, found: Estimate | Calibrated) -> bool:
    """Whether the noise is said to be larger than that of the reports, because it adds up to 0."""
    if found.probabilities is None or isinstance(noise, NoiseByItem):
        return False
    p, q = found.probabilities
    return noise.variance > found.n * q * (1 - q) / (p - q) ** 2 * (1 + 1e-9)


def weight_of_first(before: Side, after: Side) -> float:
    """The weight of the first side in the mean of both: the one that makes the mean independent of the difference."""
    middle = np.full(before.size, 1 / before.size)  # one weight serves all items: that of a mean share
    own, other = (float(side.variances(middle).mean()) for side in (before, after))
    return other / max(own + other, 1e-300)
