r"""The difference of two surveys: which shares changed, by how much, and whether anything changed at all.

    change = difference(before, after)

speaks of the two populations that the people of each survey were drawn from. The estimated change of an item has the
variances of both sides (`localdp.changes.sides`); a prior on changes is learnt from all items
(`localdp.changes.movement`), so that intervals also hold for the items that a reader picks because they moved most.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr

from localdp.calibrate.base import Quantity
from localdp.calibrate.ordered_cells import OrderedCells
from localdp.changes.equality import equality_p_value
from localdp.changes.movement import posterior_of_changes
from localdp.changes.refusals import check_comparable
from localdp.changes.sides import Outcomes, Side, two_sides, weight_of_first
from localdp.domain import Domain
from localdp.errors import InvalidInputError
from localdp.estimate import Estimate
from localdp.estimate.frequencies import DISCOVERIES, INTERVALS
from localdp.estimate.on_scale import checked_percent
from localdp.hitters.rules import benjamini_hochberg
from localdp.items import Item
from localdp.result import Result
from localdp.table import Table
from localdp.types import Places, Vector
from localdp.validation import checked_level

POINTS = "+.2%"
"""How a change of a share is printed."""

_STEPS = 45  # halvings of the range in which a quantile lies


def difference(before: Any, after: Any) -> Difference:
    """What changed from one survey to another: `before` and `after` are Aggregates, Estimates or Calibrateds.

    Both have the same items; their plans may differ. They must have other reports: the same ones on both sides, or
    permanent responses of the same people, are refused where that can be known. One side may also be a list of shares
    that are known without error; `p_value` is then that of "the population has these shares".

    >>> from localdp import Plan
    >>> plan = Plan(["tea", "coffee", "water"], epsilon=2.0)
    >>> monday = plan.simulate([5_000, 3_000, 2_000], seed=1)
    >>> friday = plan.simulate([5_000, 2_000, 3_000], seed=2)
    >>> change = difference(monday, friday)
    >>> list(change.changed())
    ['coffee', 'water']
    >>> change.p_value < 0.001
    True
    """
    sides = two_sides(before, after)
    check_comparable(*sides)
    if any(isinstance(side, Outcomes) for side in sides):
        from localdp.changes.through import ThroughDifference

        return ThroughDifference(*sides)
    return Difference(*sides)


@dataclass(frozen=True, eq=False, repr=False)
class Difference(Result):
    """The change of every share, after minus before, of the populations of two surveys. Made by `localdp.difference`.

    It prints as a table of all items, the largest changes first. `shares` are the expected changes, `interval` has
    ranges that contain the true ones, `probability_up` is the probability that a share grew, `changed` lists the items
    that changed, and `p_value` is that of "the two populations have the same shares".
    """

    before: Side
    after: Side

    @property
    def domain(self) -> Domain:
        """The items."""
        return self.before.domain

    @property
    def items(self) -> list[Item]:
        """All items, the largest changes first."""
        return [self.domain.items[place] for place in self._order.tolist()]

    @cached_property
    def raw(self) -> Vector:
        """The unbiased estimates of the changes; they are noisy, and the largest of them are too large."""
        return self.after.shares - self.before.shares

    @cached_property
    def std_errors(self) -> Vector:
        """The standard deviation of the error of every raw change: sampling and noise of both sides."""
        return np.sqrt(np.maximum(self.before.variances(self.levels) + self.after.variances(self.levels), 1e-300))

    @cached_property
    def levels(self) -> Vector:
        """The shares of both surveys together, calibrated."""
        return pooled_levels(self.before, self.after)

    @cached_property
    def shares(self) -> Vector:
        """The expected change of every share, after minus before; 0.02 is two points."""
        means, _, weights = self._parts
        return np.asarray((weights * means).sum(axis=0))

    @cached_property
    def probability_up(self) -> Vector:
        """For every item, the probability that its share grew."""
        return np.clip(self._below(np.zeros(self.domain.size), upper=True), 0, 1)

    @cached_property
    def p_values(self) -> Vector:
        """For every item, the two-sided p-value of "its share is the same"; it uses no prior."""
        return np.asarray(2 * ndtr(-np.abs(self.raw / self.std_errors)))

    @cached_property
    def p_value(self) -> float:
        """The p-value of "the two populations have the same shares", by simulation; see `localdp.changes.equality`."""
        return equality_p_value(self.before, self.after, self.levels)

    def interval(self, level: float = INTERVALS) -> tuple[Vector, Vector]:
        """For every item, the range (low, high) that contains the true change of its share with this probability."""
        beyond = (1 - checked_level(level)) / 2
        return self._quantiles(beyond), self._quantiles(1 - beyond)

    def mean(self, level: float = INTERVALS) -> Quantity:
        """The change of the mean, if the items are the cells of a `Scale`."""
        return _apart(*(side.mean(checked_level(level)) for side in self._scales))

    def percentile(self, percent: float, level: float = INTERVALS) -> Quantity:
        """The change of a percentile, if the items are the cells of a `Scale`; 50 is the median."""
        asked = checked_percent(percent)
        return _apart(*(side.percentile(asked, checked_level(level)) for side in self._scales))

    def summary(self, level: float = INTERVALS) -> dict[str, Quantity]:
        """The changes of the mean and the median of a scale; empty if the items have no order."""
        if self.before.placed is None and self.after.placed is None:
            return {}
        return {"mean": self.mean(level), "median": self.percentile(50, level)}

    def changed(self, fdr: float = DISCOVERIES) -> Changed:
        """The items that changed, as many as possible while the expected share of false ones is at most `fdr`.

        The rule is that of Benjamini and Hochberg on `p_values`.
        """
        level = checked_level(fdr, "fdr")
        ascending = np.argsort(self.p_values, kind="stable")
        named = ascending[: benjamini_hochberg(self.p_values[ascending], level)]
        return Changed(self, named[np.argsort(-np.abs(self.shares[named]), kind="stable")], level)

    def table(self, level: float = INTERVALS) -> Table:
        """Every item with its change, interval and probability of having grown, the largest changes first."""
        shown = f"{self.domain.size:,} items, {self.before.people} before and {self.after.people} after"
        return self._rows(self._order, f"{shown}, intervals of {checked_level(level):.0%}", level)

    @property
    def notes(self) -> tuple[str, ...]:
        """Whether anything changed, in a sentence, and what the surveys themselves contradict."""
        p = self.p_value
        verdict = (
            "the surveys differ by more than chance" if p < 0.05 else "the surveys differ by no more than chance would"
        )
        doubts = (note for side in (self.before, self.after) for note in getattr(side.source, "notes", ()))
        moved = (
            f"the {name} changed by {found.value:+.3g} (between {found.low:+.3g} and {found.high:+.3g})"
            for name, found in self.summary().items()
        )
        return (f"{verdict} (p = {p:.2g})", *moved, *dict.fromkeys(doubts))

    @cached_property
    def _scales(self) -> tuple[OrderedCells, OrderedCells]:
        """What is known of both populations along the scale."""
        placed = self.after.placed or self.before.placed
        if placed is None:
            raise InvalidInputError("these items have no order: the change of a mean or of a percentile needs a Scale")
        first, second = (side.along(placed) for side in (self.before, self.after))
        return first, second

    def _rows(self, places: Places, title: str, level: float) -> Table:
        low, high = self.interval(level)
        items = self.domain.items
        columns = {
            "item": places if isinstance(items, range) else [items[place] for place in places.tolist()],
            "before": self._ends[0][places],
            "after": self._ends[1][places],
            "change": self.shares[places],
            "low": low[places],
            "high": high[places],
            "probability_up": self.probability_up[places],
        }
        formats = {"item": "d", "before": ".2%", "after": ".2%", "probability_up": ".3f"}
        return Table(columns, title, formats | dict.fromkeys(("change", "low", "high"), POINTS))

    @cached_property
    def _ends(self) -> tuple[Vector, Vector]:
        """The shares before and after: the level of both, and the part of the change on each side of it."""
        weight = weight_of_first(self.before, self.after)
        start = np.clip(self.levels - (1 - weight) * self.shares, 0, 1)
        return start, np.clip(start + self.shares, 0, 1)

    @cached_property
    def _order(self) -> Places:
        return np.argsort(-np.abs(self.shares), kind="stable")

    @cached_property
    def _parts(self) -> tuple[Vector, Vector, Vector]:
        """Means, deviations and weights of the normal parts of every item's posterior: axes parts and items."""
        adds_up = self.before.total is not None
        return posterior_of_changes(self.raw, self.std_errors, self.levels, adds_up=adds_up)

    def _below(self, points: Vector, *, upper: bool = False) -> Vector:
        """The probability that each change is below its point, or above it."""
        means, deviations, weights = self._parts
        distance = (points - means) / deviations
        return np.asarray((weights * ndtr(-distance if upper else distance)).sum(axis=0))

    def _quantiles(self, level: float) -> Vector:
        means, deviations, _ = self._parts
        # Beyond nine deviations, a normal distribution has less than 1e-18 of its probability.
        low, high = (means - 9 * deviations).min(axis=0), (means + 9 * deviations).max(axis=0)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            under = self._below(middle) < level
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        return np.asarray(np.clip((low + high) / 2, -1, 1))


@dataclass(frozen=True, eq=False, repr=False)
class Changed(Result):
    """The items that changed between two surveys, the largest changes first. It iterates over the items."""

    difference: Difference
    indices: Places
    fdr: float

    @property
    def items(self) -> list[Item]:
        """The items themselves."""
        return [self.difference.domain.items[place] for place in self.indices.tolist()]

    @property
    def shares(self) -> Vector:
        """The change of each of them."""
        return self.difference.shares[self.indices]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the list promises."""
        return (f"of such lists, at most {self.fdr:.0%} of the items are expected not to have changed at all",)

    def table(self) -> Table:
        """The items with their changes."""
        count = f"{self.indices.size:,} of {self.difference.domain.size:,} items changed"
        return self.difference._rows(self.indices, f"{count} (fdr {self.fdr:g})", INTERVALS)


def _apart(before: Quantity, after: Quantity) -> Quantity:
    """After minus before, of two numbers that are known independently of each other."""
    change = after.value - before.value
    below = np.hypot(after.value - after.low, before.high - before.value)
    above = np.hypot(after.high - after.value, before.value - before.low)
    return Quantity(change, float(change - below), float(change + above), after.level)


def pooled_levels(before: Side, after: Side) -> Vector:
    """The shares of both surveys together, calibrated; their errors are independent of those of the difference."""
    weight, n = weight_of_first(before, after), before.n + after.n
    if weight in (0.0, 1.0):  # one side is known
        return (before if weight else after).shares
    shares = weight * before.shares + (1 - weight) * after.shares
    zero = np.zeros(before.size)
    # Variances are taken as straight lines in the share, so their values at two shares say how much each holder adds.
    at_zero, at_one = (
        weight**2 * before.noise_variances(point) + (1 - weight) ** 2 * after.noise_variances(point)
        for point in (zero, np.full(before.size, 0.1))
    )
    variance = np.maximum(at_zero, 0.0) * n**2
    excess = max(float(np.mean(at_one - at_zero)) / 0.1 * n, 0.0)
    known = before.total is not None and after.total is not None
    same = float(np.ptp(variance)) <= 1e-9 * float(variance.max(initial=0.0))
    pooled = Estimate(
        shares * n,
        n=n,
        variance=float(variance[0]) if same else variance,
        excess_variance=excess,
        total=float(shares.sum() * n) if known else None,
        domain=before.domain,
    )
    return np.asarray(np.clip(pooled.calibrate(warn=False).frequencies / n, 0, 1))
