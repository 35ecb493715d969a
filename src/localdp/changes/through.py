"""The difference of two surveys of a scale whose reports are signs of many cells, such as those of `wave`.

Changes are sums of curves (`localdp.changes.curves`). The amplitudes of the curves take the part of the items: a prior
on them is learnt, and the p-value is simulated in the same way. Cells follow from the amplitudes, so neighbouring cells
change together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from localdp.changes.curves import Curves
from localdp.changes.difference import Difference
from localdp.changes.equality import DEVIATIONS, statistic
from localdp.changes.movement import posterior_of_changes
from localdp.changes.sides import Outcomes, Side
from localdp.errors import InvalidInputError
from localdp.kernels.simulated_null import simulated_p_value
from localdp.mechanisms.wave import no_raw_estimates
from localdp.types import Vector


@dataclass(frozen=True, eq=False, repr=False)
class ThroughDifference(Difference):
    """The change of every cell; there are no raw changes."""

    def __post_init__(self) -> None:
        matrices = [side.matrix for side in (self.before, self.after) if isinstance(side, Outcomes)]
        surveys = sum(side.n > 0 for side in (self.before, self.after))
        if len(matrices) < surveys or any(not np.array_equal(matrix, matrices[0]) for matrix in matrices):
            raise InvalidInputError(
                "wave reports can be compared with those of the same plan, or with known shares: a sign of many cells "
                "says something else under another mechanism or epsilon"
            )

    @property
    def raw(self) -> Vector:
        """Refused: single cells have no raw estimates."""
        raise no_raw_estimates("wave")

    @property
    def std_errors(self) -> Vector:
        """Refused, as `raw` is."""
        raise no_raw_estimates("wave")

    @cached_property
    def levels(self) -> Vector:
        """The shares of both surveys together, calibrated."""
        weights = [side.n for side in (self.before, self.after)]
        return np.average([self.before.shares, self.after.shares], axis=0, weights=weights)

    @cached_property
    def p_values(self) -> Vector:
        """For every cell, the p-value of "it did not change", given how smooth changes are."""
        means, _, shrink = self._amplitudes
        errors = np.square(self._curves.cells) @ (np.square(shrink) * self._variances)
        return np.asarray(2 * ndtr(-np.abs(self._curves.cells @ means) / np.sqrt(np.maximum(errors, 1e-300))))

    @cached_property
    def p_value(self) -> float:
        """The p-value of "the two populations have the same shares", by simulation."""
        curves, deviations = self._curves, np.sqrt(self._variances)
        ratios = np.concatenate(
            [size * np.sqrt(curves.variances.min() / curves.variances)[None] for size in DEVIATIONS]
        )

        def draw(times: int, rng: np.random.Generator) -> Vector:
            return statistic(
                (self._drawn(self.after, times, rng) - self._drawn(self.before, times, rng)) / deviations, ratios
            )

        observed = statistic((self._read(self.after) - self._read(self.before))[None] / deviations, ratios)
        return simulated_p_value(float(observed[0]), draw, size=curves.expected.size)

    @cached_property
    def _curves(self) -> Curves:
        return Curves.around(self.levels, self._seen.matrix, self._seen.ordered)

    @property
    def _seen(self) -> Outcomes:
        """A side with reports."""
        return next(side for side in (self.before, self.after) if isinstance(side, Outcomes))

    @cached_property
    def _variances(self) -> Vector:
        """Those of the amplitudes of the difference."""
        return self._curves.variances * sum(1 / side.n for side in (self.before, self.after) if side.n)

    @cached_property
    def _amplitudes(self) -> tuple[Vector, Vector, Vector]:
        """The expected amplitudes of the change, their variances, and the share that was kept of what was seen."""
        seen, errors = self._read(self.after) - self._read(self.before), np.sqrt(self._variances)
        unit = np.full((1, errors.size), errors.min())
        means, deviations, weights = posterior_of_changes(seen, errors, self.levels, adds_up=False, unit=unit)
        mean = (weights * means).sum(axis=0)
        variances = (weights * (np.square(deviations) + np.square(means))).sum(axis=0) - np.square(mean)
        return mean, variances, (weights * np.square(deviations)).sum(axis=0) / np.square(errors)

    @cached_property
    def _parts(self) -> tuple[Vector, Vector, Vector]:
        means, variances, _ = self._amplitudes
        cells = self._curves.cells
        deviations = np.sqrt(np.maximum(np.square(cells) @ variances, 1e-300))
        return (cells @ means)[None], deviations[None], np.ones((1, cells.shape[0]))

    def _read(self, side: Side) -> Vector:
        """The amplitudes that were seen; those of known shares are exact."""
        outcomes = side.outcomes if isinstance(side, Outcomes) else self._seen.matrix @ side.shares
        return self._curves.amplitudes(outcomes)

    def _drawn(self, side: Side, times: int, rng: np.random.Generator) -> Vector:
        """Amplitudes of so many other surveys of one population."""
        curves = self._curves
        if not isinstance(side, Outcomes):
            return np.zeros((times, curves.variances.size))
        return curves.amplitudes(side.redraw_outcomes(curves.expected, times, rng))
