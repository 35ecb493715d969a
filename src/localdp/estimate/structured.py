"""Calibrated frequencies that know how the items belong together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from localdp.errors import InvalidInputError
from localdp.priors import Auto, FittedPrior, Noise, Prior
from localdp.structures import Structure
from localdp.structures.calibration import calibration
from localdp.structures.exchangeable import ExchangeablePart
from localdp.validation import shown

if TYPE_CHECKING:
    from localdp.estimate.calibrated import Calibrated
    from localdp.estimate.estimate import Estimate


def checked_structure(structure: Any, prior: Prior | FittedPrior, estimate: Estimate) -> None:
    """Raise an error if these estimates cannot have this structure."""
    if not isinstance(structure, Structure):
        raise InvalidInputError(
            "a structure is Ordered(), Crossed((rows, columns)), Like(previous) or one of your own, not "
            f"{shown(structure)}"
        )
    if not isinstance(prior, Auto):
        raise InvalidInputError('a structure is averaged with the prior "auto": give a structure or another prior')
    structure.check(estimate.domain.size)
    structure.check_release(estimate)


def with_structure(calibrated: Calibrated, structure: Structure) -> Calibrated:
    """The same estimates, calibrated by a structure and by the prior that they were calibrated by."""
    noise = calibrated.noise
    if isinstance(noise, Noise) and noise.is_negligible:
        note = f"{structure.name}: the estimates have no noise, so the structure has nothing to add"
        return replace(calibrated, doubts=(*calibrated.doubts, note))
    part = ExchangeablePart(calibrated.prior, noise, calibrated.estimates, calibrated.n, calibrated.total)
    return replace(calibrated, structured=calibration(structure, part, noise, calibrated.n))
