r"""The history of shares: all periods are estimated together, so that quiet items have quiet lines.

The share of item i in period t is theta_it = mu_i + d_it. The level mu_i, its mean over all people, comes from the
calibrated table of the whole range, with which the history therefore agrees. The deviations d_it are those of a random
walk seen with noise (`localdp.changes.smoothing`). How fast items walk is learnt from all of them together, as for a
difference (`localdp.changes.movement`): most items drift a little, some a lot. Besides, an item may take a step at any
moment (a launch, a change of the product): the probability of steps is learnt, too, and every moment is weighed by its
evidence. An item may take several steps; they are looked for one after the other.

**The same people in several periods** share the noise of their permanent responses, and the chance by which they were
asked. It is in the level, whose variance knows it (`localdp.estimate.same_people`), and cancels in the deviations. If
each of N people reports R times in T periods, two periods have (R - 1)/(T - 1) of their people in common.

**Reports that are signs of many cells**, such as those of `wave`, have no shares of single cells. The amplitudes of
curves take their part (`localdp.changes.curves`), and cells are sums of curves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from localdp.changes.curves import Curves
from localdp.changes.day import CurvesPosterior, DayPosterior, Level
from localdp.changes.movement import learn, scales, units
from localdp.changes.refusals import check_fresh
from localdp.changes.sides import Side
from localdp.changes.smoothing import Basis, drift_evidence, find_steps, places_on
from localdp.errors import EmptyError, InvalidInputError, PlanMismatchError
from localdp.estimate.calibrated import Calibrated
from localdp.estimate.through_channel import known_through
from localdp.plan import Aggregate
from localdp.types import Places, Vector
from localdp.validation import checked_list, shown

_EMPTY = "there are no reports of this period: its shares follow from those around it"
_STEPPING = 0.02  # the probability that an item takes a step, before anything is known
_PRIOR_ITEMS = 10.0  # how many items that prior counts for
_ROUNDS = 8  # to learn the probability of steps
_NOTICED = 0.01  # items with a smaller probability of a step are drawn without one
_MOST_STEPS = 4  # of one item
_SURE = 0.5  # a further step is looked for while the last one was more probable than this
_FRESH = 1e-3  # the least share of an item's variance that is taken as new in every period
_MOST_NUMBERS = 8_000_000  # items times periods whose lines are computed
_FEWEST_ITEMS = 1_000
_FITTED, _CLOSE = 100, 1e-6  # rounds until the shares of every period add up, and how exactly
_LEAST_UNSEEN = 0.01  # of every share, so that there is always something to move
_WIDEST = 2.0**14  # drifts, in units of the smallest visible one


def history(
    aggregates: Iterable[Aggregate], *, reports_per_person: float | tuple[float, float] = 1
) -> list[Calibrated]:
    """Estimate consecutive periods together: a `Calibrated` for each, of the population in that period.

    `aggregates` are those of one plan, for days or weeks or any periods of equal length, in order; a period without
    reports is an empty aggregate. It gets its shares from its neighbours, and counts the mean number of people.
    `reports_per_person` says how many reports each person has sent in all periods together, as in
    `Aggregate.estimate`, if they are the same people.

    >>> from localdp import Plan
    >>> plan = Plan(["tea", "coffee", "water"], epsilon=2.0)
    >>> days = [plan.simulate([500, 300, 200], seed=day) for day in range(14)]
    >>> lines = history(days)
    >>> len(lines), lines[-1].shares.round(2).tolist()
    (14, [0.49, 0.31, 0.2])
    """
    periods = _checked(aggregates)
    whole = Aggregate(periods[0].plan)
    for period in periods:
        whole.merge(period, repeated=True)
    if whole.n == 0:
        raise EmptyError("no period has any reports (n = 0), so there is nothing to estimate")
    estimate = whole.estimate(reports_per_person=reports_per_person)
    if estimate.n == whole.n:
        check_fresh(periods)
    pooled = estimate.calibrate(warn=False)
    lines = Lines.of(periods, pooled)
    return [lines.calibrated(time, period) for time, period in enumerate(periods)]


@dataclass(frozen=True, eq=False)
class Lines:
    """How far shares are from their level in every period, and the variance of that: axes items and periods.

    They have the items at `places` only; the others are too rare to be seen moving, and keep their level.
    """

    level: Level
    places: Places
    away: Vector
    spread: Vector
    typical: int
    """The mean number of people in a period, which one without reports is shown with."""
    curves: Curves | None = None
    """What the lines are sums of, where reports are signs of many cells; `away` and `spread` are then amplitudes."""

    @classmethod
    def of(cls, periods: Sequence[Aggregate], pooled: Calibrated) -> Lines:
        """The lines of periods, given the calibrated table of all of them together."""
        level, seen = Level(pooled), [(time, period) for time, period in enumerate(periods) if period.n]
        most = max(_FEWEST_ITEMS, _MOST_NUMBERS // len(periods))
        places = np.sort(np.argsort(-level.means, kind="stable")[:most])
        through = not periods[0].plan.mechanism.shows_raw
        if len(seen) < 2:
            curves = _curves(level, [seen[0][1]])[0] if through else None
            nothing = np.zeros((places.size if curves is None else curves.variances.size, len(periods)))
            return cls(level, places, nothing, nothing, seen[0][1].n, curves)
        times, held = np.array([(time, period.n) for time, period in seen], np.float64).T
        basis, typical = Basis(held, times), max(1, round(float(held.mean())))
        common = (float(held.sum()) / pooled.n - 1) / (len(seen) - 1)  # the share of people whom two periods share
        if through:
            curves, outcomes = _curves(level, [period for _, period in seen])
            c = curves.variances * max(1 - min(common, 1.0), _FRESH)  # a device sends the same report again
            moves = Moves(basis, basis.coordinates(outcomes), c, np.sqrt(c.min() / c)[None], c.size)
            lines = _between(basis, len(periods), *moves.paths(), moves.drifts)
            return cls(level, np.arange(level.means.size), *lines, typical, curves)
        largest, levels = Side.of(max((period for _, period in seen), key=lambda period: period.n)), level.means[places]
        c = _fresh_variances(largest, level.means, common)[places]
        shares = np.array([Side.of(period).shares[places] for _, period in seen]).T
        errors = np.sqrt(c * basis.unit)
        free = places.size - (largest.total is not None)
        unit = units(levels, errors)
        moves = Moves(basis, basis.coordinates(shares), c, unit / errors, free, float(unit.max()))
        found, spread = moves.paths()
        kept = spread / (c[:, None] * np.square(basis.paths).sum(axis=1))
        found = _possible(found, kept, levels, held, adds_up=largest.total is not None)
        return cls(level, places, *_between(basis, len(periods), found, spread, moves.drifts), typical)

    def calibrated(self, time: int, period: Aggregate) -> Calibrated:
        """The calibrated frequencies of one of the periods."""
        pooled, plan, n = self.level.pooled, period.plan, period.n or self.typical
        doubts = () if period.n else (_EMPTY,)
        if self.curves is not None:
            known: DayPosterior = CurvesPosterior.of(
                self.level, self.curves, self.away[:, time], self.spread[:, time], n
            )
            return plan.question.result(known_through(pooled, n, known, doubts))
        away, spread = np.zeros((2, self.level.means.size))
        away[self.places], spread[self.places] = self.away[:, time], self.spread[:, time]
        known = DayPosterior(self.level, away, spread, n, pooled.total is not None)
        side = Side.of(period) if period.n else None
        made = Calibrated(
            known.means() if side is None else side.shares * n,
            n,
            plan.domain,
            pooled.prior,
            pooled.noise if side is None else side.noise,
            total=plan.question.total(n),
            doubts=doubts,
            known=known,
        )
        return plan.question.result(made)


def _curves(level: Level, periods: Sequence[Aggregate]) -> tuple[Curves, Vector]:
    """The curves around the level, and the amplitudes in each of these periods: a row for each curve."""
    plan, size = periods[0].plan, level.means.size
    law = np.asarray(plan.mechanism.observe(periods[0].counts, periods[0].n).law.T, np.float64)
    known = plan.question.structure
    curves = Curves.around(level.means, law, size if known is None else known.in_order(size))
    return curves, curves.amplitudes(np.array([period.counts / period.n for period in periods])).T


def _possible(away: Vector, kept: Vector, levels: Vector, weights: Vector, *, adds_up: bool) -> Vector:
    """Paths that are nowhere below 0 and keep their mean; if shares add up, those of every period keep their sum.

    `kept` is the part of the noise that is left in a path. What a period lacks is given to each item in proportion to
    the part of its share that was not seen there: an item that is followed closely stays where it was seen, and the
    many rare ones, whose paths keep to their levels for want of evidence, move.
    """
    shares, whole = np.maximum(levels[:, None] + away, 0), float(levels.sum())
    unseen = np.clip(1 - kept, _LEAST_UNSEEN, 1)
    for _ in range(_FITTED if adds_up else 1):
        lacking = whole - shares.sum(axis=0)
        if adds_up:
            free = shares * unseen
            shares = np.maximum(shares + free * (lacking / np.maximum(free.sum(axis=0), 1e-300)), 0)
        means = shares @ (weights / weights.sum())
        shares *= (levels / np.maximum(means, 1e-300))[:, None]
        if np.abs(lacking).max() < _CLOSE * whole:
            break
    return np.asarray(shares - levels[:, None])


def _checked(aggregates: Any) -> list[Aggregate]:
    """The periods, or an error if they are not aggregates of one plan."""
    periods = checked_list(aggregates, "periods")
    for period in periods:
        if not isinstance(period, Aggregate):
            raise InvalidInputError(f"a period of a history is an Aggregate, not {shown(period)}")
        if period.plan != periods[0].plan:
            raise PlanMismatchError("the periods of a history are aggregates of one plan, and these are of several")
    if len({id(period) for period in periods if period.n}) < sum(period.n > 0 for period in periods):
        raise InvalidInputError("the same Aggregate is two periods of this history: its reports would count twice")
    return periods


def _fresh_variances(side: Side, levels: Vector, common: float) -> Vector:
    """c: the variance among one person that is new in every period."""
    whole = side.variances(levels) * side.n
    if common <= 0:
        return np.maximum(whole, 1e-300)
    permanent = side.source.plan.mechanism.makes_permanent
    inside = np.clip(levels, 0, 1)
    shared = permanent.variance(1) + inside * permanent.excess_variance + inside * (1 - inside)
    return np.asarray(np.maximum(whole - min(common, 1.0) * shared, _FRESH * whole))


@dataclass(eq=False)
class Moves:
    """How the items of one history move."""

    basis: Basis
    coordinates: Vector
    c: Vector
    relative: Vector
    """For each exponent (a row), the deviation of each item's drift, in errors, if the one seen best drifts by one."""
    free: int
    """How many of the items are free to move."""
    error: float = 0.0
    """The largest share that a drift of one error stands for."""

    def __post_init__(self) -> None:
        size = self.c.size
        squares = np.square(self.coordinates) / self.c[:, None]
        largest = np.sqrt(float((squares * self.basis.kappas).max()) / self.basis.unit)
        sizes = scales(min(largest, _WIDEST), size * self.basis.kappas.size, self.error)
        self.grid = self.basis.grid(float(sizes[-1]))
        table = drift_evidence(self.basis, squares, self.grid)
        drifts = sizes[None, :, None] * self.relative[:, None, :]
        below, next_one = places_on(self.grid, drifts)
        items = np.arange(size)
        logs = table[items, below] * (1 - next_one) + table[items, below + 1] * next_one
        learnt = learn(logs, self.free)
        self.weights = np.zeros((size, self.grid.size))
        for part in np.ndindex(*drifts.shape[:2]):
            self.weights[items, below[part]] += learnt.weights[part] * (1 - next_one[part])
            self.weights[items, below[part] + 1] += learnt.weights[part] * next_one[part]
        body = learnt.body
        self.body = self.basis.gains(drifts[body])
        prior = np.log(np.maximum(learnt.prior, 1e-300))[..., None]
        self.ahead = logsumexp(logs + prior, axis=(0, 1)) - logs[body]  # of drifts over the one that most items have

    @property
    def drifts(self) -> Vector:
        """The expected variance of one period's drift, for every item."""
        return np.asarray(self.weights @ np.square(self.grid) * self.c * self.basis.unit)

    def paths(self) -> tuple[Vector, Vector]:
        """Deviations from the level in every period with reports, and their variances."""
        gains = self.basis.gains(self.grid)
        mean = self.weights @ gains
        between = np.maximum(self.weights @ np.square(gains) - np.square(mean), 0)
        found = (self.coordinates * mean) @ self.basis.paths.T
        spread = (self.c[:, None] * mean + np.square(self.coordinates) * between) @ np.square(self.basis.paths).T
        if self.basis.weights.size > 2:  # between two periods, a step and a drift are the same
            self._add_steps(found, spread)
        return found, spread

    def _add_steps(self, found: Vector, spread: Vector) -> None:
        """Replace the paths of items that may have taken a step by the average of both possibilities."""
        steps = find_steps(self.basis, self.coordinates, self.c, self.body)
        odds = steps.log_evidence - self.ahead
        chance = _STEPPING
        for _ in range(_ROUNDS):
            stepping = 1 / (1 + np.exp(np.clip(np.log1p(-chance) - np.log(chance) - odds, -700, 700)))
            chance = (float(stepping.sum()) + _STEPPING * _PRIOR_ITEMS) / (stepping.size + _PRIOR_ITEMS)
        for item in np.flatnonzero(stepping > _NOTICED).tolist():
            path, doubt = self._with_steps(item, chance)
            share = stepping[item]
            apart = path - found[item]
            found[item] += share * apart
            spread[item] = (1 - share) * spread[item] + share * doubt + share * (1 - share) * np.square(apart)

    def _with_steps(self, item: int, chance: float) -> tuple[Vector, Vector]:
        """The path of an item that takes a step, or several, and its variance."""
        basis, c, gains = self.basis, self.c[item : item + 1], self.body[item : item + 1]
        own = self.coordinates[item]
        after = np.triu(np.ones((basis.weights.size, basis.weights.size)))[1:]
        shapes = after - (basis.weights / basis.weights.sum() @ after.T)[:, None]
        shapes = shapes - (basis.steps * gains) @ basis.paths.T  # what a step of size 1 adds to the path
        explained = np.zeros((0, own.size))
        path = basis.paths @ (gains[0] * own)
        doubt = c * (np.square(basis.paths) @ gains[0])
        for _ in range(_MOST_STEPS):
            step = find_steps(basis, (own - explained.sum(axis=0))[None], c, gains)
            if len(explained) and step.log_evidence[0] + np.log(chance / (1 - chance)) < np.log(_SURE / (1 - _SURE)):
                break
            weights, sizes = step.moments[0], step.sizes[0]
            added = (weights * sizes) @ shapes
            path = path + added
            doubt = doubt + weights * (np.square(sizes) + step.variances[0]) @ np.square(shapes) - np.square(added)
            explained = np.vstack([explained, (weights * sizes) @ basis.steps])
        return path, np.maximum(doubt, 0)


def _between(basis: Basis, count: int, found: Vector, spread: Vector, steps: Vector) -> tuple[Vector, Vector]:
    """Paths for all periods: those without reports lie between their neighbours, and are less certain."""
    times, every = basis.times, np.arange(count, dtype=np.float64)
    if times.size == count:
        return found, spread
    last = np.clip(np.searchsorted(times, every, side="right") - 1, 0, times.size - 2)
    gap = times[last + 1] - times[last]
    part = np.clip((every - times[last]) / gap, 0, 1)
    outside = np.maximum(np.maximum(times[0] - every, every - times[-1]), 0)
    lengths = gap * part * (1 - part) + outside
    mean = found[:, last] * (1 - part) + found[:, last + 1] * part
    return mean, spread[:, last] * (1 - part) + spread[:, last + 1] * part + steps[:, None] * lengths
