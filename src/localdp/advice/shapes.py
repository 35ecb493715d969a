"""How unequal the items may be, before anything is known: the frequencies of d items among n users, under a name.

| name | the frequencies |
|---|---|
| `zipf` | the r-th most frequent item has a share proportional to 1/r (Zipf's law); needs no parameter |
| `power-law` | the paper's prior k^-alpha on 1..n, with the alpha that makes the mean n/d |
| `retail`, `kosarak-100k`, `kosarak` | as in these data |
| a file or a list | as in your data: a FIMI file, a spectrum, or frequencies |

Whatever the shape, its mean is n/d, for every user holds one item. Data on other numbers of users are scaled. On fewer
items, the most frequent ones are taken; on more, the same distribution: a tenth of the items are still a tenth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from localdp import datasets
from localdp.datasets.shipped import NOTES
from localdp.errors import InvalidInputError
from localdp.kernels.quadrature import logarithmic
from localdp.priors import Fixed, Noise, Observations, PowerLaw
from localdp.types import Places, Vector

Like = str | Path | Sequence[int] | NDArray[Any]

ZIPF, POWER_LAW = "zipf", "power-law"

_EXACT_RANKS = 512
_RANK_STEP = 0.02
_LOG_STEP = 0.2


@dataclass(frozen=True, eq=False)
class Shape:
    """A distribution of the frequencies of items among users: whole frequencies, ascending, and the share of each."""

    name: str
    items: int
    users: int
    frequencies: Vector
    masses: Vector

    @property
    def prior(self) -> Fixed:
        """The shape as a prior that is known beforehand."""
        return Fixed(self.frequencies, self.masses)


def shaped(like: Like, items: int, users: int) -> Shape:
    """The frequencies of so many items among so many users, after a name, a file or a list."""
    name, (frequencies, weights) = _found(like, items, users)
    masses = weights / weights.sum()
    # A share that comes to 3.4 users is taken as 3 for some items and 4 for others, which keeps the mean.
    floor = np.floor(frequencies)
    above = masses * (frequencies - floor)
    values, place = np.unique(np.concatenate([floor, floor + 1]), return_inverse=True)
    shares = np.bincount(place, np.concatenate([masses - above, above]))
    kept = (shares > 0) & (values <= users)
    return Shape(name, items, users, values[kept], shares[kept] / shares[kept].sum())


def _found(like: Like, items: int, users: int) -> tuple[str, tuple[Vector, Vector]]:
    if isinstance(like, str):
        if like == ZIPF:
            return ZIPF, _zipf(items, users)
        if like == POWER_LAW:
            return POWER_LAW, _power_law(items, users)
        if like in NOTES:
            return like, _scaled(datasets.load(like).frequencies, items, users)
    if isinstance(like, str | Path):
        if not Path(like).is_file():
            names = ", ".join((ZIPF, POWER_LAW, *NOTES))
            raise InvalidInputError(f"there is no shape and no file {str(like)!r:.60}: say {names}, or name a file")
        read = datasets.read(like)
        return read.name, _scaled(read.frequencies, items, users)
    known = Fixed(like)
    return "the list given", _scaled(np.repeat(known.values, _counts(like, known.values)), items, users)


def _counts(like: Sequence[int] | NDArray[Any], values: Vector) -> Places:
    return np.bincount(np.searchsorted(values, np.asarray(like, np.float64)), minlength=values.size)


def _scaled(frequencies: NDArray[Any], items: int, users: int) -> tuple[Vector, Vector]:
    heaviest = np.sort(frequencies.astype(np.float64))[::-1][:items]
    if not heaviest.any():
        raise InvalidInputError("nobody holds any of these items, so they have no shape")
    values, counts = np.unique(heaviest, return_counts=True)
    return values * (users / items / heaviest.mean()), counts.astype(np.float64)


def _zipf(items: int, users: int) -> tuple[Vector, Vector]:
    """The first ranks one by one, the others in groups, each with its mean."""
    exact = min(items, _EXACT_RANKS)
    groups = np.geomspace(exact, items, 1 + int(np.log(items / exact) / _RANK_STEP))
    ends = np.unique(np.concatenate([np.arange(1.0, exact + 1), groups.round(), [items]]))
    counts = np.diff(ends, prepend=0.0)
    sums = np.diff(digamma(ends + 1) - digamma(1.0), prepend=0.0)
    return users * sums / sums.sum() / counts, counts


def _power_law(items: int, users: int) -> tuple[Vector, Vector]:
    one_per_item = np.broadcast_to(np.zeros(1), items)  # only their number and that of the users matter
    prior = PowerLaw().fit(Observations(one_per_item, Noise(1.0), users), "mean-variance")
    rule = logarithmic(1, users, step=_LOG_STEP)
    masses = np.exp(prior.log_mass(rule.nodes)) * rule.weights
    held = min(1.0, users / items / float(masses @ rule.nodes))  # the law begins at 1: with fewer users, some have none
    return np.append(0.0, rule.nodes), np.append(1 - held, held * masses)
