"""Calibrate with a structure: fit it, and average it with the exchangeable prior by evidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localdp.priors import Noise, NoiseByItem
from localdp.structures.base import FREE, Structure
from localdp.structures.deviations import TAUS, Deviations
from localdp.structures.exchangeable import ExchangeablePart
from localdp.structures.field import Field
from localdp.structures.fit import first_sites, fit
from localdp.structures.likelihood import CellLikelihood
from localdp.structures.parts import Part, StructuredPart
from localdp.structures.posterior import StructuredPosterior
from localdp.structures.search import Averaged, Point, averaged, strengths_at
from localdp.types import Vector

_BEGIN_TAU = 6
_BEGIN_RHO = 0.02

LEAST_SHARE = 1e-3
"""What has less weight than this in the average is left out."""


def structured_parts(
    structure: Structure, likelihood: CellLikelihood, total: float | None, dense: bool | None = None
) -> Averaged[StructuredPart]:
    """The posterior under the structure alone, for the strengths that matter."""
    ground = structure.ground(likelihood.cells)
    field = Field(ground, dense)
    everything = total if total is not None else max(float(likelihood.estimates.sum()), 1.0)
    shape = ground.start - np.log(np.exp(ground.start - ground.start.max()).mean()) - ground.start.max()
    start: Vector = np.log(everything / likelihood.cells) + shape
    first = first_sites(likelihood, start)

    def fit_at(point: Point, near: StructuredPart | None) -> StructuredPart:
        strengths = strengths_at(point, ground.strengths)
        rho = _BEGIN_RHO if near is None else near.fit.deviations.rho
        law = Deviations(TAUS[point[-1]], rho)
        found = fit(field, likelihood, start, strengths, law, first if near is None else near.fit.sites)
        if not found.settled and near is not None:
            found = fit(field, likelihood, start, strengths, Deviations(law.tau, _BEGIN_RHO), first)
        return StructuredPart(field, likelihood, start, found, total)

    found = averaged(fit_at, len(ground.penalties), _BEGIN_TAU)
    if total is None:
        return found
    level = float(np.log(FREE * np.sqrt(2 * np.pi) * total))
    return Averaged(found.fits, found.weights, found.evidence + level)


@dataclass(frozen=True, eq=False)
class Calibration:
    """A posterior, and what to say about it."""

    structure: Structure
    posterior: StructuredPosterior
    notes: tuple[str, ...]


def calibration(
    structure: Structure, exchangeable: ExchangeablePart, noise: Noise | NoiseByItem, n: int
) -> Calibration:
    """The posterior under a structure, averaged with an exchangeable prior by evidence.

    `noise` is that of the estimates of `exchangeable`, which are moved to add up to the total if it is known.
    """
    estimates, total = exchangeable.estimates, exchangeable.total
    structure.check(estimates.size)
    likelihood = CellLikelihood(estimates, noise.usable(n))
    found = structured_parts(structure, likelihood, total)
    gain = found.evidence - exchangeable.log_evidence()
    share = float(1 / (1 + np.exp(-np.clip(gain, -500, 500))))
    parts: list[Part] = []
    weights: list[float] = []
    if share > LEAST_SHARE:
        parts += found.fits
        weights += list(share * found.weights)
    if 1 - share > LEAST_SHARE:
        parts.append(exchangeable)
        weights.append(1 - share)
    shares = np.array(weights)
    posterior = StructuredPosterior(parts, shares / shares.sum(), float(n), total)
    return Calibration(structure, posterior, (_note(structure, found, gain, share),))


def _note(structure: Structure, found: Averaged[StructuredPart], gain: float, share: float) -> str:
    """What the data think of the structure."""
    if share >= 0.99:
        verdict = "the data agree with the structure"
    elif share <= 0.01:
        verdict = "the data do not have this structure, so it is not used"
    else:
        verdict = "the data do not say clearly whether they have this structure, so it is used in part"
    tau, rho = (
        float(found.weights @ np.array([getattr(part.fit.deviations, name) for part in found.fits]))
        for name in ("tau", "rho")
    )
    return (
        f"{structure.name}: {verdict} (weight {share:.0%}, log of the evidence {gain:+.1f} beside auto); single cells "
        f"deviate by about {np.expm1(tau):.0%}, and {rho:.1%} of them stand out"
    )
