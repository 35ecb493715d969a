"""How unequal the items may be, before anything is collected: assumed frequencies of d items among n users.

| name | the frequencies |
|---|---|
| `zipf` | the r-th most frequent item has a share proportional to 1/r (Zipf's law) |
| `zipf-0.5`, `zipf-1.5` | the same with 1/r^0.5, which is more even, and 1/r^1.5, which is less even |
| `exponential` | an exponential distribution: few items are much more frequent than the mean |
| `equal` | all items have the same frequency |
| `held-30%`, `held-10%`, `held-3%`, `held-1%`, `held-0.3%`, `held-0.1%` | this share of the items is held equally |
| `power-law` | the paper's prior k^-alpha on 1..n, with the alpha that makes the mean n/d |
| `retail`, `kosarak-100k`, `kosarak` | as in these data sets |
| a file or a list | as in your data: a FIMI file, a spectrum, or frequencies |

Each user holds one item, so the mean of every shape is n/d. Data about another number of users are scaled to n users.
If the data have more than d items, the d most frequent are taken. If they have fewer, the distribution is kept: a
frequency that a tenth of their items had is given, scaled, to a tenth of the d items.

Somebody who cannot say what the frequencies are like gets the range over `SEVERAL` very different shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp import datasets
from localdp.datasets.shipped import NOTES
from localdp.errors import InvalidInputError
from localdp.kernels.quadrature import logarithmic
from localdp.priors import Fixed, Noise, Observations, PowerLaw
from localdp.types import Places, Vector

Like = str | Path | datasets.Dataset | Sequence[int] | NDArray[Any]
"""A name from the table above, a file, a data set, or frequencies."""

ZIPF, POWER_LAW, EXPONENTIAL, EQUAL = "zipf", "power-law", "exponential", "equal"

EXPONENTS = {"zipf-0.5": 0.5, ZIPF: 1.0, "zipf-1.5": 1.5}
"""The exponents of Zipf's law by name."""

HELD = {f"held-{100 * share:g}%": share for share in (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)}
"""The shares of the items that are held, by name."""

SEVERAL = (EQUAL, EXPONENTIAL, *EXPONENTS, *HELD, "retail")
"""The shapes that are tried if nobody says what the frequencies are like."""

_EXACT_RANKS = 512  # ranks of Zipf's law computed one by one; later ranks are grouped
_RANK_STEP = 0.02  # width of a group in log rank
_LOG_STEP = 0.2  # widest quadrature panel in log frequency, for the power law


@dataclass(frozen=True, eq=False)
class Shape:
    """A distribution of frequencies: whole numbers of users, ascending, and the share of the items that has each."""

    name: str
    items: int
    users: int
    frequencies: Vector
    masses: Vector


def shaped(like: Like, items: int, users: int) -> Shape:
    """The shape that `like` describes, for this number of items and users.

    >>> shape = shaped([8, 1, 1], items=3, users=20)
    >>> shape.frequencies.tolist(), shape.masses.round(3).tolist()
    ([2.0, 16.0], [0.667, 0.333])
    """
    name, (frequencies, weights) = _found(like, items, users)
    masses = weights / weights.sum()
    # Scaled frequencies are not whole. Where 3.4 users are due, 60% of the items get 3 and 40% get 4: same mean.
    floor = np.floor(frequencies)
    above = masses * (frequencies - floor)
    values, place = np.unique(np.concatenate([floor, floor + 1]), return_inverse=True)
    shares = np.bincount(place, np.concatenate([masses - above, above]))
    kept = (shares > 0) & (values <= users)
    return Shape(name, items, users, values[kept], shares[kept] / shares[kept].sum())


def several_shapes(items: int, users: int) -> tuple[Shape, ...]:
    """All of `SEVERAL` for this number of items and users, except those where less than one item would be held."""
    names = (name for name in SEVERAL if HELD.get(name, 1.0) * items >= 1)
    return tuple(shaped(name, items, users) for name in names)


def _found(like: Like, items: int, users: int) -> tuple[str, tuple[Vector, Vector]]:
    """The name of the shape, its frequencies (not yet whole) and a weight for each."""
    if isinstance(like, str):
        if like in EXPONENTS:
            return like, _zipf(EXPONENTS[like], items, users)
        if like == EXPONENTIAL:
            return like, _exponential(items, users)
        if like == EQUAL:
            return like, (np.array([users / items]), np.ones(1))
        if like in HELD:
            held = max(1, round(HELD[like] * items))
            return like, (np.array([0.0, users / held]), np.array([float(items - held), float(held)]))
        if like == POWER_LAW:
            return like, _power_law(items, users)
        if like in NOTES:
            return like, _scaled(datasets.load(like).frequencies, items, users)
    if isinstance(like, str | Path):
        if not Path(like).is_file():
            names = ", ".join((*SEVERAL[:-1], POWER_LAW, *NOTES))
            raise InvalidInputError(
                f"there is no shape and no file {str(like)!r:.60}: choose one of {names}, or name a file"
            )
        read = datasets.read(like)
        return read.name, _scaled(read.frequencies, items, users)
    if isinstance(like, datasets.Dataset):
        return like.name, _scaled(like.frequencies, items, users)
    known = Fixed(like)
    return "the list given", _scaled(np.repeat(known.values, _occurrences(like, known.values)), items, users)


def _occurrences(like: Sequence[int] | NDArray[Any], values: Vector) -> Places:
    """How many elements of the list equal each of the values, which are its distinct elements in ascending order."""
    return np.bincount(np.searchsorted(values, np.asarray(like, np.float64)), minlength=values.size)


def _scaled(frequencies: NDArray[Any], items: int, users: int) -> tuple[Vector, Vector]:
    """The distinct frequencies of the most frequent items, scaled to the mean users/items, and their weights."""
    heaviest = np.sort(frequencies.astype(np.float64))[::-1][:items]
    if not heaviest.any():
        raise InvalidInputError("nobody holds any of these items: `like` needs at least one frequency above 0")
    values, counts = np.unique(heaviest, return_counts=True)
    return values * (users / items / heaviest.mean()), counts.astype(np.float64)


def _groups(items: int) -> Vector:
    """Where groups of ranks end, beginning with 0: the first ranks stand alone, later groups grow with the rank."""
    exact = min(items, _EXACT_RANKS)
    groups = np.geomspace(exact, items, 1 + int(np.log(items / exact) / _RANK_STEP))
    return np.unique(np.concatenate([np.arange(0.0, exact + 1), groups.round(), [items]]))


def _zipf(exponent: float, items: int, users: int) -> tuple[Vector, Vector]:
    """Zipf's law by groups of ranks, each with its mean frequency and its number of items."""
    ends = _groups(items)
    counts = np.diff(ends)
    # The sum of r^-a over a group is the integral from half a rank below it to half a rank above, with a correction.
    x = ends + 0.5
    integral = np.log(x) if exponent == 1 else x ** (1 - exponent) / (1 - exponent)
    sums = np.diff(integral + exponent * x ** (-exponent - 1) / 24)
    alone = counts == 1
    sums[alone] = ends[1:][alone] ** -exponent
    return users * sums / sums.sum() / counts, counts


def _exponential(items: int, users: int) -> tuple[Vector, Vector]:
    """The same for an exponential distribution: a share x of the items has frequencies above -log(x) times the mean."""
    ends = _groups(items)
    above = ends / items
    totals = above * (1 - np.log(np.maximum(above, 1e-300)))  # the share of the users that these items have
    counts = np.diff(ends)
    return users * np.diff(totals) / counts, counts


def _power_law(items: int, users: int) -> tuple[Vector, Vector]:
    """Quadrature nodes and weights of the power law that has the right mean."""
    any_estimates = np.broadcast_to(np.zeros(1), items)  # the fit uses only their number and that of the users
    prior = PowerLaw().fit(Observations(any_estimates, Noise(1.0), users, users), "mean-variance")
    quadrature = logarithmic(1, users, step=_LOG_STEP)
    masses = np.exp(prior.log_mass(quadrature.nodes)) * quadrature.weights
    # The power law starts at frequency 1. If there are fewer users than items, the remaining items have frequency 0.
    held = min(1.0, users / items / float(masses @ quadrature.nodes))
    return np.append(0.0, quadrature.nodes), np.append(1 - held, held * masses)
