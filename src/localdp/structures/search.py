r"""Average over the strengths of a structure, by evidence.

The strengths lambda_k and tau lie on a lattice: each lambda_k in steps of a factor, tau as in
`localdp.structures.deviations`. All points are equally likely beforehand, so their weights are proportional to the
evidence. The search climbs from the point where it begins, one coordinate after the other, and then looks at the
neighbours of everything that matters. Points with less than a thousandth of the best one's evidence are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from localdp.structures.deviations import TAUS
from localdp.structures.parts import Part
from localdp.types import Vector

FACTOR = float(np.exp(1.5))
"""Neighbouring values of a strength have this ratio."""

BETWEEN_STRENGTHS, BETWEEN_GROUNDS = 0.6, 0.5
"""The powers of the evidence that weights are proportional to. A structure is never quite true, and the evidence of the
least wrong strength is too sure of itself; with less than the full power, intervals hold what they promise."""

MATTERS = 7.0
"""Points whose log-evidence is lower than the best one's by more than this are left out."""

_MOST_DOWN, _MOST_UP = 12, 4  # steps of a strength from where it begins; beyond, nothing changes any more
MOST_POINTS = 60
"""Fits that one search makes, at most."""

Point = tuple[int, ...]
"""Steps of each strength from where it begins; the last one is the index of tau."""

FitAt = Callable[[Point, Part | None], Part]
"""Fits at a point; the second argument is a fit nearby, if there is one."""


@dataclass(frozen=True, eq=False)
class Averaged:
    """Fits, their weights, and the log-evidence of the structure as a whole."""

    fits: tuple[Part, ...]
    weights: Vector
    evidence: float


def strengths_at(point: Point, begin: tuple[float, ...]) -> tuple[float, ...]:
    """The strengths of a point of the lattice."""
    return tuple(start * FACTOR**step for start, step in zip(begin, point[:-1], strict=True))


def averaged(
    fit_at: FitAt,
    strengths: int,
    begin_tau: int,
    most: int = MOST_POINTS,
    stride: int = 1,
    *,
    every_tau: bool = False,
) -> Averaged:
    """The fits that matter.

    Where only a few fits can be made, strengths are changed by `stride` steps at first. With `every_tau`, each tau that
    matters is looked at, however far from the best: where the data hardly tell of tau, all of them do.
    """
    found: dict[Point, Part] = {}

    def value(point: Point) -> float:
        if point not in found:
            if not _possible(point) or len(found) >= most:
                return -np.inf
            near = min(
                (other for other, fit in found.items() if fit.settled),
                # Fits of neighbouring points are alike, and a fit that begins near its end takes fewer rounds.
                key=lambda other: sum(abs(a - b) for a, b in zip(other, point, strict=True)),
                default=None,
            )
            found[point] = fit_at(point, None if near is None else found[near])
        fit = found[point]
        return fit.evidence if fit.settled else -np.inf

    here = (0,) * strengths + (begin_tau,)
    best = value(here)
    for length in sorted({stride, 1}, reverse=True):
        improved = True
        while improved:
            improved = False
            for axis in range(len(here)):
                for direction in (1, -1):
                    step = direction * (length if axis < strengths else 1)
                    while (there := value(_moved(here, axis, step))) > best:
                        here, best, improved = _moved(here, axis, step), there, True
    # One step farther only behind points that matter well: behind the others, hardly any would.
    for point in list(_around(here)):
        if value(point) > best - MATTERS / 2:
            for further in _around(point):
                value(further)
    for step in (1, -1) if every_tau else ():
        along = _moved(here, strengths, step)
        while value(along) > best - MATTERS / 2:
            for beside in _around(along):
                value(beside)
            along = _moved(along, strengths, step)
    kept = [fit for fit in found.values() if fit.settled and fit.evidence > best - MATTERS]
    if not kept:
        kept = [max(found.values(), key=lambda fit: fit.evidence)]
    logs = np.array([fit.evidence for fit in kept])
    masses = np.exp(BETWEEN_STRENGTHS * (logs - logs.max()))
    # Each strength has about a dozen values that are possible beforehand.
    points = 12.0
    evidence = float(
        logs.max() + np.log(np.exp(logs - logs.max()).sum()) - strengths * np.log(points) - np.log(len(TAUS))
    )
    return Averaged(tuple(kept), masses / masses.sum(), evidence)


def joined(several: Sequence[Averaged]) -> Averaged:
    """Several averages as one, if all of them are equally likely beforehand."""
    logs = np.array([one.evidence for one in several])
    masses = np.exp(BETWEEN_GROUNDS * (logs - logs.max()))
    fits = tuple(fit for one in several for fit in one.fits)
    weights = np.concatenate([mass * one.weights for mass, one in zip(masses, several, strict=True)])
    kept = weights > np.exp(-MATTERS) * weights.max()
    weights = weights[kept] / weights[kept].sum()
    evidence = float(logs.max() + np.log(np.exp(logs - logs.max()).mean()))
    return Averaged(tuple(fit for fit, keep in zip(fits, kept, strict=True) if keep), weights, evidence)


def _moved(point: Point, axis: int, step: int) -> Point:
    return (*point[:axis], point[axis] + step, *point[axis + 1 :])


def _around(point: Point) -> Iterator[Point]:
    for axis in range(len(point)):
        for step in (1, -1):
            yield _moved(point, axis, step)


def _possible(point: Point) -> bool:
    return 0 <= point[-1] < len(TAUS) and all(-_MOST_DOWN <= step <= _MOST_UP for step in point[:-1])
