r"""An earlier release, or another population, as the start: last month's frequencies.

The ground is the logarithm of the earlier frequencies, up to a level that is learnt. How far cells have moved since is
learnt as well (tau), and a few may have moved a lot. What is not certain about the earlier release itself is added:
its posterior, with mean m and deviation s, becomes N(log m - v/2, v) with v = log(1 + s^2/m^2), and 1/(1 + m) for the
chance by which people were asked then.

**Disjoint noise.** If the earlier release contains some of the same reports, or answers of the same people made from
the same permanent responses, its noise is seen twice and looks like a fact. Of d items, let x and z be the estimates
of both releases, divided by the deviations of their noise. If the noise is independent, the covariance of x and z is
that of the true frequencies, which is at most the root of the product of their variances, Var(x) - 1 and Var(z) - 1. A
covariance that is clearly larger shows noise that both share.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from localdp.domain import labels_of
from localdp.errors import DomainError, InvalidInputError
from localdp.structures.base import FREE, Ground, Matrix, Structure
from localdp.types import Vector
from localdp.validation import checked_estimates, shown

_CENTRAL = 3.0  # deviations; estimates beyond are frequent items, which say nothing about noise
_FEWEST = 200  # items from which on shared noise can be seen
_SAME, _SEVERAL = 0.1, 12  # the mean distance of the same estimates, and items from which on it is no chance
_SURE = 5.0  # deviations of the covariance
_ZERO = 1.0  # the variance, as a logarithm, of a frequency that was given as 0


@runtime_checkable
class Release(Protocol):
    """What an earlier release must have: `Estimate` and `Calibrated` do."""

    @property
    def frequencies(self) -> Vector: ...
    @property
    def domain(self) -> Any: ...
    @property
    def std_errors(self) -> Vector: ...


class Like(Structure):
    """The frequencies are like those of an earlier release, up to what has changed since.

    `previous` is a `Calibrated`, an `Estimate` (which is calibrated first) or an array of frequencies or shares. It
    must come from other reports than those that are calibrated now.

    >>> Like([120, 30, 50])
    Like(3 frequencies)
    """

    name = "like"

    def __init__(self, previous: Any) -> None:
        self._release = previous if isinstance(previous, Release) else None
        self._labels: list[Any] | None = None
        if self._release is not None:
            calibrated = previous.calibrate(warn=False) if hasattr(previous, "calibrate") else previous
            self.frequencies, self.deviations = np.asarray(calibrated.frequencies), np.asarray(calibrated.std)
        else:
            self._labels = labels_of(previous)
            try:
                self.frequencies = checked_estimates(
                    list(previous.values()) if isinstance(previous, dict) else previous
                )
            except (TypeError, ValueError) as error:
                raise InvalidInputError(
                    "an earlier release is a Calibrated, an Estimate or a list of frequencies, not "
                    f"{shown(previous)} ({error})"
                ) from None
            self.deviations = np.zeros(self.frequencies.size)
        if (self.frequencies < 0).any() or not self.frequencies.any():
            raise InvalidInputError("earlier frequencies are not negative, and not all of them are 0")

    def check(self, cells: int) -> None:
        """The earlier release must have as many items."""
        super().check(cells)
        if self.frequencies.size != cells:
            raise DomainError(f"the earlier release has {self.frequencies.size:,} items, but there are {cells:,} now")

    def check_release(self, release: Any) -> None:
        """Refuse other items, and reports that were counted in the earlier release already."""
        if self._release is None and self._labels in (None, list(release.domain.items)):
            return
        if self._release is None or self._release.domain != release.domain:
            raise DomainError("the earlier release has other items, or has them in another order")
        earlier, now = _scaled(self._release), _scaled(release)
        if earlier is not None and now is not None and shares_noise(earlier, now):
            raise InvalidInputError(
                "the earlier release shares noise with these estimates: it contains the same reports, or reports made "
                "from the same permanent responses. Give a release of other people, or leave the structure out"
            )

    def precision(self, cells: int) -> Matrix:
        """Nothing but the level is shared: no cell says anything about another."""
        return np.zeros((cells, cells))

    def start(self, cells: int) -> Vector:
        """The logarithms of the earlier frequencies."""
        self.check(cells)
        return self._logarithms[0]

    @property
    def _logarithms(self) -> tuple[Vector, Vector]:
        """The logarithms of the earlier frequencies, and their variances."""
        f = self.frequencies
        least = 0.5 * float(f[f > 0].min())  # what a frequency of 0 counts as, since it has no logarithm
        held = np.maximum(f, least)
        variance = np.log1p(np.square(self.deviations / held)) + np.where(f > 0, 0.0, _ZERO)
        start = np.log(held) - 0.5 * np.log1p(np.square(self.deviations / held))
        if self._release is not None:
            variance = variance + 1 / (1 + f)
        return start, variance

    def ground(self, cells: int) -> Ground:
        """The earlier frequencies and a level."""
        start, doubts = self._logarithms
        return Ground(
            columns=np.zeros((cells, 1), np.intp),
            values=np.ones((cells, 1)),
            penalties=(),
            strengths=(),
            ridge=np.full(1, 1 / FREE**2),
            start=start,
            doubts=doubts,
        )

    def __repr__(self) -> str:
        return f"Like({self.frequencies.size} frequencies)"


def _scaled(release: Any) -> Vector | None:
    """The raw estimates behind a release, divided by the deviations of their noise; None if it has no noise."""
    raw = getattr(release, "estimates", None)
    if raw is None:
        raw = release.frequencies if release.origin is None else release.origin.frequencies
    deviations = np.asarray(release.std_errors)
    if not (deviations > 0).all() or not np.isfinite(deviations).all():
        return None
    return np.asarray((raw - raw.mean()) / deviations)


def shares_noise(x: Vector, z: Vector) -> bool:
    """Whether the noise of two releases of the same items is clearly not independent.

    `x` and `z` are raw estimates, divided by the deviations of their noise.

    >>> noise = np.random.default_rng(1).normal(size=(2, 1000))
    >>> shares_noise(noise[0], noise[1]), shares_noise(noise[0], noise.sum(0) / 2**0.5)
    (False, True)
    """
    # Estimates that were moved to their total differ a little from the same ones that were not.
    if float(np.sqrt(np.mean((x - z) ** 2))) < (_SAME if x.size >= _SEVERAL else 1e-6):
        return True
    central = (np.abs(x) < _CENTRAL) & (np.abs(z) < _CENTRAL)
    count = int(central.sum())
    if count < _FEWEST:
        return False
    x, z = x[central] - x[central].mean(), z[central] - z[central].mean()
    # What the variances may be at most, of which the noise has 1 each.
    spreads = [float(np.var(side)) * (1 + _SURE * np.sqrt(2 / count)) - 1 for side in (x, z)]
    explained = float(np.sqrt(max(spreads[0], 0.0) * max(spreads[1], 0.0)))
    error = _SURE * float(np.sqrt(np.var(x) * np.var(z) / count))
    return float(np.mean(x * z)) > explained + error
