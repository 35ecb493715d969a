r"""What a mechanism says of its reports when nobody knows who sent them: classes of reports that tell the same.

Let x and x' be the two values that reports tell apart best, and y a third one. Two reports are of one class if the
probabilities R_x : R_x' : R_y : least have the same ratios for both, where `least` is nowhere above the probability of
the report under *any* value. `amplification` computes from these classes what a shuffler adds.

**Two levels.** With most mechanisms, a report r has probability mu(r) h under a value that it supports and mu(r) l
under any other, with h > l and a law mu that does not depend on the value. Then `least` is mu l. The classes are the
eight ways in which a report can support x, x' and y, and their probabilities under mu follow from mu_1, mu_2 and mu_3:
those that one given value, both of two, and all of three are supported. The levels follow from p* = mu_1 h and 1 - p*
= (1 - mu_1) l, and q* = mu_2 h + (mu_1 - mu_2) l.

**Nothing known but the ratio.** Let no report be more than a times as likely under one value as under another. Then
`least` may be max(R_x, R_x')/a. For a report with R_x >= R_x', g = a (1 - e R_x'/R_x) is linear in R_x'/R_x, which
lies between 1/a and 1, so moving each report to these ends spreads g and keeps its mean, and likewise for the others
(see `amplification.divergence` for why that is the worst). What is left are m under each of the ratios a and 1/a, and
(1 - m (a + 1))/a under 1. The more m, the more spread: the worst case is m = 1/(a + 1), or m = beta/(a - 1) where the
total variation distance of R_x and R_x' is known to be at most beta. Without beta this is the pair of the stronger
clones (Feldman, McMillan & Talwar, SODA 2023), with beta nearly that of Wang et al. (VLDB 2024).
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from typing import TYPE_CHECKING

from localdp.errors import ChannelTooLargeError
from localdp.mechanisms.channel import Channel

if TYPE_CHECKING:
    from localdp.mechanisms.base import Mechanism

_MOST_VALUES = 16  # whose channel is listed, if it is not too large
_MOST_PAIRS = 4  # of values of a listed channel that are looked at one by one; it takes a second for each


@dataclass(frozen=True)
class ReportClass:
    """The probabilities of one class of reports under x, x' and y, and the least under any value."""

    first: Fraction
    second: Fraction
    other: Fraction
    least: Fraction


Neighbours = tuple[ReportClass, ...]
"""All classes of reports, for two values that one person may hold, and a third one that all others hold."""


@dataclass(frozen=True)
class Shuffled:
    """What follows for shuffled reports: pairs of values of which one is the worst, and pairs to attack with."""

    upper: tuple[Neighbours, ...]
    """Whatever two values are told apart, it is no easier than with one of these. `other` is not used."""
    lower: tuple[Neighbours, ...]
    """Values that people may hold. `least` is not used."""
    rounding: Fraction = Fraction(0)
    """How far in total variation the law of a report may be from what the classes say."""

    @classmethod
    def alike(cls, neighbours: Neighbours) -> Shuffled:
        """If all pairs of values are told apart equally well."""
        return cls((neighbours,), (neighbours,))


def shuffled_by_channel(mechanism: Mechanism) -> Shuffled:
    """The classes of a mechanism that says nothing else: by its channel if that is small, otherwise by its ratio."""
    pairs: tuple[Neighbours, ...] = ()
    if mechanism.size <= _MOST_VALUES:
        with suppress(ChannelTooLargeError):
            pairs = _pairs_of(mechanism.channel())
    if not pairs:
        return Shuffled((from_ratio(mechanism.ratio_once),), _told_by_outcomes(mechanism))
    if len(pairs) <= _MOST_PAIRS:
        return Shuffled(pairs, pairs)
    farthest = sorted(pairs, key=variation, reverse=True)[:_MOST_PAIRS]
    return Shuffled((from_ratio(mechanism.ratio_once, variation(farthest[0])),), tuple(farthest))


def _told_by_outcomes(mechanism: Mechanism) -> tuple[Neighbours, ...]:
    """An attack that looks at the outcomes of reports alone."""
    size = mechanism.size
    if mechanism.pure:
        return (told_by_flag(mechanism.p, mechanism.q, mechanism.q if size > 2 else mechanism.p),)
    values = (0, size - 1, size // 2 if size > 2 else 0)  # far apart, where values have an order
    outcomes = range(mechanism.outcomes)
    chances = zip(*([mechanism.chance(value, o) for o in outcomes] for value in values), strict=True)
    return (tuple(ReportClass(first, second, by, Fraction(0)) for first, second, by in chances if by),)


def two_levels(
    p: Fraction, one: Fraction, two: Fraction, three: Fraction | None, always: Fraction = Fraction(0)
) -> Neighbours:
    """The classes of a mechanism with two levels, from p* and mu_1, mu_2, mu_3.

    `three` is None where there is no third value; then the others hold x. `always` is the probability under mu of
    reports that support every value. They tell nothing, and are likely under all values.

    >>> [str(c.first) for c in two_levels(Fraction(3, 4), Fraction(1, 2), Fraction(1, 4), None)]  # Hadamard response
    ['3/8', '3/8', '1/8', '1/8']
    """
    level = {True: p / one, False: (1 - p) / (1 - one)}
    if three is None:
        by_number = [1 - 2 * one + two, one - two, two - always]
        listed = [((x, y, x, False), by_number[x + y]) for x, y in product((True, False), repeat=2)]
    else:
        by_number = [1 - 3 * one + 3 * two - three, one - 2 * two + three, two - three, three - always]
        listed = [((x, y, z, False), by_number[x + y + z]) for x, y, z in product((True, False), repeat=3)]
    listed.append(((True, True, True, True), always))
    return tuple(ReportClass(*(chance * level[flag] for flag in flags)) for flags, chance in listed if chance)


def from_ratio(ratio: Fraction, distance: Fraction = Fraction(1)) -> Neighbours:
    """The worst classes of a mechanism of which only the ratio is known, and perhaps a bound on the total variation."""
    decisive = min(1 / (ratio + 1), distance / (ratio - 1))
    alike = (1 - decisive * (ratio + 1)) / ratio
    laws = (
        (ratio * decisive, decisive, decisive),
        (decisive, ratio * decisive, decisive),
        (ratio * alike,) * 2 + (alike,),
    )
    return tuple(ReportClass(first, second, least, least) for first, second, least in laws if least)


def variation(neighbours: Neighbours) -> Fraction:
    """The total variation distance of the reports under x and x'."""
    return sum((max(one.first - one.second, Fraction(0)) for one in neighbours), Fraction(0))


def told_by_flag(p: Fraction, q: Fraction, other: Fraction) -> Neighbours:
    """Two classes, whether a report supports x or not, with its probabilities under x, x' and y."""
    return ReportClass(p, q, other, Fraction(0)), ReportClass(1 - p, 1 - q, 1 - other, Fraction(0))


def merged(classes: Iterable[ReportClass]) -> Neighbours:
    """Classes with the same ratios as one."""
    found: dict[tuple[Fraction, ...], ReportClass] = {}
    for one in classes:
        key = (one.first / one.least, one.second / one.least, one.other / one.least)
        old = found.get(key)
        found[key] = (
            one
            if old is None
            else ReportClass(
                old.first + one.first, old.second + one.second, old.other + one.other, old.least + one.least
            )
        )
    return tuple(found[key] for key in sorted(found))


def _pairs_of(channel: Channel) -> tuple[Neighbours, ...]:
    """The classes of every ordered pair of values, each kind of pair once."""
    rows = channel.probabilities
    columns = [column for column in zip(*rows, strict=True) if max(column)]
    least = [min(column) for column in columns]
    pairs = []
    for first, second in permutations(range(len(rows)), 2):
        third = next((v for v in range(len(rows)) if v not in (first, second)), first)
        pairs.append(
            merged(
                ReportClass(column[first], column[second], column[third], low)
                for column, low in zip(columns, least, strict=True)
            )
        )
    return tuple(dict.fromkeys(pairs))
