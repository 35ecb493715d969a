"""Calibrate with a structure: fit it, and average it with the exchangeable prior by evidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localdp.kernels.blas import one_thread
from localdp.priors import Noise, NoiseByItem
from localdp.structures.base import FREE, Ground, Structure
from localdp.structures.compressed import Compressed
from localdp.structures.deviations import TAUS, Deviations
from localdp.structures.exchangeable import ExchangeablePart
from localdp.structures.few_cells import FEW, SummedPart
from localdp.structures.field import Field, NotPositiveError
from localdp.structures.fit import FEWER_ROUNDS, MANY, MOST_ROUNDS, first_sites, fit
from localdp.structures.laplace import Table, ground_covariance, laplace_fit
from localdp.structures.likelihood import CellLikelihood, ChannelLikelihood, Likelihood
from localdp.structures.parts import Part, StructuredPart, Unusable
from localdp.structures.posterior import StructuredPosterior
from localdp.structures.search import MOST_POINTS, Averaged, FitAt, Point, averaged, joined, strengths_at
from localdp.structures.table_field import TableField
from localdp.structures.through_channel import SlowGround, channel_fit
from localdp.types import Vector

LEAST_SHARE = 1e-3
"""What has less weight than this in the average is left out."""

HANDICAP = 3.0
"""A structure must explain the data better than an exchangeable prior by this log-evidence to count as much."""

_BEGIN_TAU = 5  # cells that differ much say little about each other, and the first fit is an easy one
_RHO = 0.02
_SEQUENCES = 16
POINTS_OF_FEW = 24
"""Fits that one search of a few cells makes, at most."""
LEAST_OF_FEW = 0.05
"""Fits of a few cells with less than this share of the largest weight are left out."""
_STRIDE_OF_MANY = 2
_BEGIN_TAU_OF_MANY = 3  # very many cells take long: their search begins nearer to where it usually ends
_BEGIN_TAU_OF_CHANNEL = 2  # from large ones, a search may end where all is deviation and nothing is ground


@one_thread()
def structured(structure: Structure, likelihood: Likelihood, total: float | None) -> Averaged:
    """The posterior under the structure alone, for all strengths that matter.

    `total` is the sum of all cells, if it is known.
    """
    structure.check(likelihood.cells)
    everything = []
    compressed = Compressed.of(likelihood) if isinstance(likelihood, ChannelLikelihood) else None
    through = compressed is not None and likelihood.cells > FEW
    for ground in _grounds(structure, likelihood):
        start = _start(ground, total if total is not None else float(likelihood.guess.sum()))
        if likelihood.cells <= FEW:
            fit_at = _summed(Field(ground), likelihood, start, total)
        elif isinstance(likelihood, CellLikelihood):
            fit_at = _cell_by_cell(_field(ground), likelihood, start, total)
        elif compressed is not None and len(ground.penalties) == 1:
            fit_at = _through_a_channel(ground, structure.in_order(likelihood.cells), compressed, start)
        else:
            fit_at = _around_the_mode(Field(ground), likelihood, start, total)
        many = likelihood.cells > MANY
        begin, most = (_BEGIN_TAU_OF_MANY, _points(likelihood.cells)) if many else (_BEGIN_TAU, MOST_POINTS)
        if through:
            begin = _BEGIN_TAU_OF_CHANNEL
        most = POINTS_OF_FEW if likelihood.cells <= FEW else most
        stride = _STRIDE_OF_MANY if many else 1
        everything.append(averaged(fit_at, len(ground.penalties), begin, most, stride, every_tau=through))
    found = joined(everything)
    return found if likelihood.cells > FEW else _finished(found)


def _finished(found: Averaged) -> Averaged:
    """Fits of a few cells with all their points; those that hardly matter are left out."""
    kept = np.flatnonzero(found.weights > LEAST_OF_FEW * found.weights.max())
    weights = found.weights[kept] / found.weights[kept].sum()
    return Averaged(tuple(found.fits[place].finished() for place in kept), weights, found.evidence)


def _grounds(structure: Structure, likelihood: Likelihood) -> tuple[Ground, ...]:
    if likelihood.cells > FEW and isinstance(likelihood, CellLikelihood):
        return structure.grounds_of(*likelihood.gaussian())
    if likelihood.cells > FEW and isinstance(likelihood, ChannelLikelihood):
        return structure.channel_grounds(likelihood.cells)
    return structure.grounds(likelihood.cells)


def _field(ground: Ground) -> Field:
    return Field(ground) if ground.table is None else TableField(ground, ground.table)


def _points(cells: int) -> int:
    """How many fits a search of very many cells makes: fewer where each of them takes longer."""
    return int(np.clip(600_000 // cells, 3, 6))


def _start(ground: Ground, total: float) -> Vector:
    """The logarithms of frequencies that add up to the total and have the shape that the ground starts from."""
    top = float(ground.start.max())
    return np.asarray(ground.start - top - np.log(np.exp(ground.start - top).sum()) + np.log(max(total, 1.0)))


def _cell_by_cell(field: Field, likelihood: CellLikelihood, start: Vector, total: float | None) -> FitAt:
    """Fits where every cell has an estimate of its own."""
    first = first_sites(likelihood, start)
    many = likelihood.cells > MANY

    def fit_at(point: Point, near: Part | None) -> Part:
        strengths, tau = strengths_at(point, field.ground.strengths), TAUS[point[-1]]
        try:
            found = None
            if isinstance(near, StructuredPart):
                law = Deviations(tau, near.fit.deviations.rho)
                most = FEWER_ROUNDS if many else MOST_ROUNDS
                found = fit(field, likelihood, start, strengths, law, near.fit.sites, most)
            if found is None or not (found.settled or many):
                found = fit(field, likelihood, start, strengths, Deviations(tau, _RHO), first)
        except NotPositiveError:
            return Unusable()
        return StructuredPart(field, likelihood, start, found, total, _level(total))

    return fit_at


def _level(total: float | None) -> float:
    """Minus the log-density of the total beforehand: a free level makes all totals equally likely as logarithms."""
    return 0.0 if total is None else float(np.log(FREE * np.sqrt(2 * np.pi) * max(total, 1.0)))


def _around_the_mode(field: Field, likelihood: Likelihood, start: Vector, total: float | None) -> FitAt:
    """Fits where observations mix the cells."""

    def fit_at(point: Point, near: Part | None) -> Part:
        try:
            ground = ground_covariance(field, strengths_at(point, field.ground.strengths))
            eta = getattr(near, "eta", start)
            law = Deviations(TAUS[point[-1]], _RHO)
            return laplace_fit(likelihood, Table(total), start, ground, field.ground.doubts, law, eta)
        except (NotPositiveError, np.linalg.LinAlgError):
            return Unusable()

    return fit_at


def _through_a_channel(ground: Ground, in_order: int, seen: Compressed, start: Vector) -> FitAt:
    """Fits where counts come through a channel."""
    slow = SlowGround.of(ground, in_order)

    def fit_at(point: Point, near: Part | None) -> Part:
        (strength,) = strengths_at(point, ground.strengths)
        try:
            return channel_fit(seen, slow, start, strength, TAUS[point[-1]], near)
        except np.linalg.LinAlgError:
            return Unusable()

    return fit_at


def _summed(field: Field, likelihood: Likelihood, start: Vector, total: float | None) -> FitAt:
    """Fits of a few cells."""

    def fit_at(point: Point, near: Part | None) -> Part:
        del near
        try:
            ground = ground_covariance(field, strengths_at(point, field.ground.strengths))
            own = TAUS[point[-1]] ** 2 + field.ground.doubts + 1e-8  # tau and the doubts may be 0: no inverse then
            # Fits with other points average the errors of their sums too.
            number = sum((3 * place + 1) * step for place, step in enumerate(point)) % _SEQUENCES
            part = SummedPart(likelihood, Table(total), start, ground + np.diag(own), TAUS[point[-1]], number)
        except (NotPositiveError, np.linalg.LinAlgError):
            return Unusable()
        part.strengths = strengths_at(point, field.ground.strengths)
        return part

    return fit_at


@dataclass(frozen=True, eq=False)
class Calibration:
    """A posterior, and what to say about it."""

    structure: Structure
    posterior: StructuredPosterior
    share: float
    """The weight of the structure; the rest is that of the exchangeable prior."""
    notes: tuple[str, ...]


def calibration(
    structure: Structure, exchangeable: ExchangeablePart, noise: Noise | NoiseByItem, n: int
) -> Calibration:
    """The posterior under a structure, averaged with an exchangeable prior by evidence.

    `noise` is that of the estimates of `exchangeable`, which are moved to add up to the total if it is known.
    """
    total = exchangeable.total
    found = structured(structure, CellLikelihood(exchangeable.estimates, noise.usable(n)), total)
    gain = found.evidence - exchangeable.log_evidence() - HANDICAP
    share = float(1 / (1 + np.exp(-np.clip(gain, -500, 500))))  # exp(710) is no float
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
    return Calibration(structure, posterior, share, (_note(structure, found, gain, share),))


def channel_calibration(structure: Structure, counts: Vector, channel: Vector) -> Calibration:
    """The posterior under a structure, from counts of outcomes whose law is `channel` (a column for each cell)."""
    total = float(counts.sum())
    found = structured(structure, ChannelLikelihood(counts, channel), total)
    posterior = StructuredPosterior(found.fits, found.weights, total, total)
    return Calibration(structure, posterior, 1.0, (f"{structure.name}: {_single(found)}",))


def _single(found: Averaged) -> str:
    """How single cells differ from the structure."""
    tau = float(found.weights @ np.array([part.tau for part in found.fits]))
    out = float(found.weights @ np.array([part.rho for part in found.fits]))
    single = f"single cells deviate from it by about {np.expm1(tau):.0%}"
    return f"{single}{f', and {out:.1%} of them stand out' if out else ''}"


def _note(structure: Structure, found: Averaged, gain: float, share: float) -> str:
    """What the data think of the structure."""
    if share >= 0.99:
        verdict = "the data agree with this structure"
    elif share <= 0.01:
        verdict = "the data do not have this structure, and it is not used"
    else:
        verdict = "the data do not say clearly whether they have this structure, and it is used in part"
    return (
        f"{structure.name}: {verdict} (weight {share:.0%}; log-evidence {gain:+.1f} beside an exchangeable prior); "
        f"{_single(found)}"
    )
