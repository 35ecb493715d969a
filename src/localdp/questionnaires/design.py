r"""Which parts a questionnaire has, and how many people each of them asks: those for which the expected error is least.

The error of a table is its total variation, half the sum of the absolute errors of its cells. Let a share s of the n
people answer a part with d cells, whose mechanism has the variance v for one person. A cell then has the variance
v / (s n), and the table the expected error

    E(v, d, s) = d sqrt(v / (2 pi s n)),

since the mean of |N(0, w)| is sqrt(2 w / pi). A question is known from every part that asks it; a sum over the c
answers to the other question of a crossing has c times the variance of a cell. So the precision of a question's cell
is n times s / v, added up over its parts, with c v in the place of v in a crossing.

A crossed table errs where its margins err, and where the interaction errs. Interactions are shrunk: they err no more
than they are large, and the other tables help to find them. With E_i, E_j for the margins,

    E_ij^2 = E_i^2 + E_j^2 + 1 / (1 / (B E)^2 + 1 / A^2),

where A = 0.13 is a usual total variation between a table and the product of its margins and B = 0.5 is what other
tables leave of the noise. The sum of the errors of all tables that can be read is made as small as possible. That would
give crossings with many cells to nobody if there are few people, because little can be learnt of them, and then their
tables would rest on the model alone. So 40% of the people are spread evenly over the crossings, and 60% as computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from localdp.studies.places import PLACES
from localdp.types import Vector

USERS = 10_000
"""How many people are expected, unless the caller knows."""

INTERACTION, BORROWED = 0.13, 0.5
_STEPS = 400
_LEAST = 0.002  # a question that is crossed too is not asked alone by a smaller share of the people than this
_EVENLY = 0.4  # the share of the people that is spread evenly over all crossings

Names = tuple[str, ...]


def shares(sizes: Mapping[str, int], variances: Mapping[Names, float], users: int) -> dict[Names, float]:
    """The share of the people for each part, or none for parts that are not worth it.

    `sizes` has the number of cells of each question, and `variances` that of an estimate of one person, for each part.

    >>> found = shares({"a": 3, "b": 3}, {("a",): 2.0, ("b",): 2.0}, users=1000)
    >>> {names: round(share, 3) for names, share in found.items()}
    {('a',): 0.5, ('b',): 0.5}
    """
    parts = list(variances)
    found = np.full(len(parts), 1 / len(parts))
    crossed = np.array([len(part) > 1 for part in parts])
    least = 1e-4 / len(parts)
    step = 0.5
    error, slope = _error(found, parts, sizes, variances, users)
    for _ in range(_STEPS):
        # Shares that are multiplied stay positive. Where all slopes are equal, nothing moves: there is the minimum.
        moved = found * np.exp(-step * (slope / (found @ -slope) + 1))
        moved = np.maximum(moved / moved.sum(), least)
        moved /= moved.sum()
        there, turned = _error(moved, parts, sizes, variances, users)
        if there < error:
            found, error, slope, step = moved, there, turned, min(step * 1.5, 2.0)
        else:
            step /= 2
            if step < 1e-6:
                break
    if crossed.any():
        found = (1 - _EVENLY) * found + _EVENLY * crossed / crossed.sum()
    in_crossings = {name for part in parts if len(part) > 1 for name in part}
    kept = [
        one for one, part in enumerate(parts) if crossed[one] or found[one] >= _LEAST or part[0] not in in_crossings
    ]
    whole = float(found[kept].sum())
    return {parts[one]: float(found[one]) / whole for one in kept}


def _error(
    found: Vector, parts: Sequence[Names], sizes: Mapping[str, int], variances: Mapping[Names, float], users: int
) -> tuple[float, Vector]:
    """The sum of the expected errors of all tables, and how it changes with each share."""
    number = {name: one for one, name in enumerate(sizes)}
    cells = np.array(list(sizes.values()), float)
    precision = np.zeros(len(sizes))
    weights = np.zeros((len(parts), len(sizes)))
    for one, part in enumerate(parts):
        for name in part:
            others = np.prod([sizes[other] for other in part if other != name])
            weights[one, number[name]] = users / (variances[part] * others)
    precision = found @ weights
    alone = cells / np.sqrt(2 * np.pi * precision)
    by_alone = np.ones(len(sizes))  # how the sum of errors changes with the error of each question
    total, slope = float(alone.sum()), np.zeros(len(parts))
    for one, part in enumerate(parts):
        if len(part) == 1:
            continue
        rows = [number[name] for name in part]
        noise = BORROWED * np.prod(cells[rows]) * np.sqrt(variances[part] / (2 * np.pi * found[one] * users))
        between = 1 / (1 / noise**2 + 1 / INTERACTION**2)
        error = float(np.sqrt((alone[rows] ** 2).sum() + between))
        total += error
        by_alone[rows] += alone[rows] / error
        slope[one] -= between**2 / noise**2 / (2 * error * found[one])
    slope -= weights @ (by_alone * alone / (2 * precision))
    return total, slope


def whole_shares(shares_: Mapping[Names, float]) -> dict[Names, int]:
    """The shares as numbers of places, which add up to all places; every part has one at least."""
    parts = list(shares_)
    ends = np.round(np.cumsum([shares_[part] for part in parts]) * PLACES).astype(int)
    ends[-1] = PLACES
    places = np.diff(ends, prepend=0)
    for empty in np.flatnonzero(places < 1):
        places[np.argmax(places)] -= 1 - places[empty]
        places[empty] = 1
    return dict(zip(parts, map(int, places), strict=True))
