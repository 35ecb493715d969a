"""What a trusted shuffler makes of a plan's epsilon: the search for it, and the answer in words."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from statistics import NormalDist

from localdp.amplification import divergence
from localdp.errors import InvalidInputError
from localdp.mechanisms import Mechanism
from localdp.mechanisms.report_classes import Neighbours, Shuffled
from localdp.plan import Plan
from localdp.randomness import thresholds
from localdp.validation import checked_level, checked_users, shown

_CLOSE = 1e-4  # the search ends when the bounds on the answer are this close, relative to each other
_MOST_COUNTED = 1 << 33  # people; more than these hide a person no worse, and are left out of the bound from above
_MOST_ATTACKED = 1 << 38  # people; the grid of the attack grows with them, until it fills the memory
_LEAST_PLACES, _MOST_PLACES = 1 << 12, 1 << 20
_NORMAL = NormalDist()

Delta = Callable[[float], float]
"""A bound on delta as a function of epsilon. It falls."""


@dataclass(frozen=True)
class Amplified:
    """The epsilon of n shuffled reports: at most `upper`, and no less than `lower`, at this delta.

    `upper` is a guarantee: the shuffled reports are (upper, delta)-differentially private, whatever people hold and
    whatever the attacker knows about everybody else. `lower` comes from an attack: for no smaller epsilon would that be
    true. It is 0 for more than 2^38 people, where the attack is not computed. `local` is the epsilon of one report,
    which holds without any shuffler, and with delta 0.
    """

    upper: float
    lower: float
    local: float
    n: int
    delta: float
    notes: tuple[str, ...]

    def __str__(self) -> str:
        bounds = (
            f"With a trusted shuffler and {self.n:,} people, epsilon is at most {rounded_up(self.upper)} at delta "
            f"{self.delta:g} (an attack shows that it is at least {_rounded_down(self.lower)}). Without one, it is "
            f"{rounded_up(self.local)}."
        )
        return " ".join((bounds, *self.notes))


def amplified(plan: Plan, *, n: int, delta: float) -> Amplified:
    """The epsilon that the reports of n people have together, if a trusted shuffler forgets who sent which.

    Every person sends one report. With `once`, it is the epsilon of one report that is amplified.

    >>> found = amplified(Plan(1_000, "grr", epsilon=4.0), n=100_000, delta=1e-6)
    >>> round(found.upper, 4), round(found.lower, 4), round(found.local, 4)
    (0.0243, 0.0243, 4.0)
    """
    if not isinstance(plan, Plan):
        raise InvalidInputError(f"amplified() is about a plan, such as ldp.Plan(items, epsilon=1.0), not {shown(plan)}")
    people, allowed = checked_users(n), checked_level(delta, "delta")
    mechanism, known = plan.mechanism, plan.mechanism.shuffled()
    upper, lower = certified(mechanism, people, allowed), 0.0
    if people <= _MOST_ATTACKED:
        lower = max(_from_below(pair, known, people, allowed, mechanism.epsilon_once) for pair in known.lower)
    return Amplified(upper, lower, mechanism.epsilon_once, people, allowed, _notes(mechanism))


def rounded_up(epsilon: float, digits: int = 3) -> str:
    """The number with so many digits, rounded up: a guarantee must not become stronger by rounding."""
    if epsilon <= 0:
        return "0"
    unit = Decimal(1).scaleb(Decimal(epsilon).adjusted() + 1 - digits)
    return f"{float((Decimal(epsilon) / unit).to_integral_value(ROUND_CEILING) * unit):g}"


def _rounded_down(epsilon: float) -> str:
    unit = Decimal(1).scaleb(Decimal(epsilon).adjusted() - 2) if epsilon > 0 else Decimal(1)
    return f"{float((Decimal(epsilon) / unit).to_integral_value(ROUND_FLOOR) * unit):g}"


def certified(mechanism: Mechanism, n: int, delta: float) -> float:
    """The bound from above alone, which takes half the time."""
    known, people = mechanism.shuffled(), min(n, _MOST_COUNTED)
    return max(_from_above(pair, known, people, delta, mechanism.epsilon_once) for pair in known.upper)


def _notes(mechanism: Mechanism) -> tuple[str, ...]:
    """What has to be known about the numbers."""
    if mechanism.perturbs_again:
        again = (
            "This is about one report of each person. Further reports add to it; all reports of a person together "
            f"never spend more than epsilon {mechanism.epsilon:.4g}."
        )
    else:
        again = "This is about one report of each person. Every other report of that person adds to it."
    sets = "It protects the whole set that a person holds." if mechanism.holds_sets else ""
    hashed = "" if mechanism.exactly_pure else "The bound holds for every hash, the attack is for an ideal one."
    return tuple(note for note in (again, sets, hashed) if note)


def _from_above(pair: Neighbours, known: Shuffled, n: int, delta: float, local: float) -> float:
    """An epsilon at which delta suffices."""

    def bound(epsilon: float, places: int) -> float:
        e = Fraction(math.exp(epsilon))
        return divergence.upper(pair, n, e, places) + float(known.rounding * (1 + e))

    guess = _guess([(one.first, one.second, one.least) for one in pair], n, delta)
    found = _search(bound, n, delta, local, guess)[1]
    return min(local, thresholds.log_rounded_up(Fraction(math.exp(found))))


def _from_below(pair: Neighbours, known: Shuffled, n: int, delta: float, local: float) -> float:
    """An epsilon at which delta does not suffice, or 0."""

    def bound(epsilon: float, places: int) -> float:
        e = Fraction(math.exp(epsilon))
        return divergence.lower(pair, n, e, places) - float(known.rounding * (1 + e))

    guess = _guess([(one.first, one.second, one.other) for one in pair], n, delta)
    found = _search(bound, n, delta, local, guess)[0]
    return max(0.0, found * (1 - 1e-15))  # e^epsilon was rounded, and the bound must not grow by that


def _guess(laws: list[tuple[Fraction, Fraction, Fraction]], n: int, delta: float) -> float:
    """The answer if the sum of n values of g were normal, which it nearly is for large n."""
    spread = math.sqrt(sum(float((first - second) ** 2 / by) for first, second, by in laws if by) / n)
    low, high = 0.0, 40.0
    for _ in range(60):
        z = (low + high) / 2
        found = spread * (_NORMAL.pdf(z) - z * _NORMAL.cdf(-z))
        low, high = (z, high) if found > delta else (low, z)
    return math.log1p(high * spread)


def _search(
    bound: Callable[[float, int], float], n: int, delta: float, local: float, guess: float
) -> tuple[float, float]:
    """Two epsilons, close to each other: at the first the bound is above delta (or it is 0), at the second it is not.

    First on a grid that is just fine enough, and then, around what was found, on a finer one.
    """
    coarse = min(_MOST_PLACES // 4, max(_LEAST_PLACES, 1 << math.ceil(math.log2(16 * math.sqrt(n)))))
    fine = min(_MOST_PLACES, 16 * coarse)
    low, high = _bracket(lambda epsilon: bound(epsilon, coarse), delta, local, guess, 10 * _CLOSE)
    return _bracket(lambda epsilon: bound(epsilon, fine), delta, local, (low + high) / 2, _CLOSE)


def _bracket(bound: Delta, delta: float, local: float, guess: float, close: float) -> tuple[float, float]:
    """As `_search`, for one grid: widen a bracket around the guess, then interpolate the logarithm of the bound."""
    tiny = 1e-300
    goal = math.log(delta)
    at = min(guess, local)
    low, high, low_value, high_value = 0.0, local, None, None
    factor = 1 + 4 * close
    for turn in range(100):
        value = math.log(max(bound(at), tiny)) - goal
        if value > 0:
            low, low_value = at, value
        else:
            high, high_value = at, value
        if high - low <= close * high or high < 1e-12:
            break
        halve = turn % 4 == 3 and low_value is not None and high_value is not None
        at = (low + high) / 2 if halve else _next(low, high, low_value, high_value, factor, close)
        factor = min(factor**2, 1e4)
    return low, high


def _next(
    low: float, high: float, low_value: float | None, high_value: float | None, factor: float, close: float
) -> float:
    """The next epsilon to look at."""
    if low_value is None:
        return high / factor if factor < 1e3 else 0.0
    if high_value is None:
        return min(low * factor, (low + high) / 2)
    share = low_value / (low_value - high_value)
    margin = 0.4 * close * high
    inside = low + (high - low) * share
    # Aim a little past the crossing, so that the next look is likely to close the bracket from the other side.
    inside += margin if share < 0.5 else -margin
    return min(max(inside, low + margin), high - margin)
