"""Checks of a structure: its definition, and what Calibrate makes of data that have it and of data that do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from localdp.checks.failure import CheckFailure, require
from localdp.errors import LocalDPError
from localdp.estimate import Estimate
from localdp.structures import Ground, Structure
from localdp.structures.base import Matrix
from localdp.structures.field import Field
from localdp.types import Vector
from localdp.validation import shown

CELLS = 40
"""The size of the table on which a structure is checked, unless another is given."""

_USERS = 200_000
_MOST_LOST = 1.1  # times the error of an exchangeable prior, on data without the structure


def check_structure(structure: Structure, cells: int = CELLS, seed: int = 0) -> None:
    """Run all checks on a structure, for a table with so many cells.

    Raises `CheckFailure` at the first check that fails. The seed makes the data of the checks reproducible.

    >>> from localdp import Crossed, Ordered
    >>> check_structure(Ordered())
    >>> check_structure(Crossed((5, 8)))
    """
    for check in STRUCTURE_CHECKS:
        check(structure, cells, seed)


def check_ground(structure: Structure, cells: int = CELLS, seed: int = 0) -> None:
    """The class is complete, and its matrices and vectors have the right shapes and finite numbers.

    Catches a missing name, a precision with a row too few, a start of the wrong length.
    """
    del seed
    require(
        isinstance(structure, Structure),
        f"expected an object of a class that derives from localdp.Structure, not {shown(structure, 60)}",
    )
    name: Any = getattr(structure, "name", None)
    require(isinstance(name, str) and name, f"{type(structure).__name__} needs a name, such as name = 'neighbours'")
    try:
        structure.check(cells)
        grounds = structure.grounds(cells)
    except LocalDPError as error:
        raise CheckFailure(
            f"{structure!r} refuses a table of {cells} cells: {error}. Give `cells=` that fit it"
        ) from error
    require(
        isinstance(grounds, tuple) and grounds and all(isinstance(ground, Ground) for ground in grounds),
        f"{structure!r}: grounds({cells}) must return a tuple of Ground, not {shown(grounds, 60)}",
    )
    for ground in grounds:
        _require_shapes(structure, ground, cells)


def check_precision(structure: Structure, cells: int = CELLS, seed: int = 0) -> None:
    """The precision is symmetric, has no negative eigenvalue, and leaves the level free.

    Catches differences that were not squared, and a precision that pulls all frequencies to a fixed level.
    """
    del seed
    for ground in structure.grounds(cells):
        for penalty in ground.penalties:
            matrix = _full(penalty)
            size = float(np.abs(matrix).max(initial=0.0))
            require(
                np.allclose(matrix, matrix.T, atol=1e-9 * max(size, 1e-300)),
                f"{structure!r}: the precision is not symmetric; return D.T @ D, where D takes the differences",
            )
            lowest = float(np.linalg.eigvalsh(matrix).min())
            require(
                lowest > -1e-8 * max(size, 1e-300),
                f"{structure!r}: the precision has the eigenvalue {lowest:.3g}; expected none below 0: return D.T @ D, "
                "where D takes the differences",
            )
    matrix = _full(structure.precision(cells))
    require(matrix.shape == (cells, cells), f"{structure!r}: precision({cells}) has the shape {matrix.shape}")
    level = float(np.abs(matrix @ np.ones(cells)).max())
    require(
        level < 1e-8 * max(float(np.abs(matrix).max()), 1e-300),
        f"{structure!r}: the rows of the precision add up to as much as {level:.3g}; expected 0, so that the level of "
        "all frequencies stays free",
    )


def check_data_with_it(structure: Structure, cells: int = CELLS, seed: int = 0) -> None:
    """Data drawn from the structure are calibrated at least as well as without it, and intervals hold the truth.

    Catches a ground that does not say what the precision says.
    """
    rng = np.random.default_rng(seed)
    ground = structure.grounds(cells)[0]
    field = Field(ground)
    factor = field.factor(field.prior(ground.strengths))
    errors, held = [], []
    for _ in range(4):
        # A draw from N(0, Q^-1): Q^-1 times a draw from N(0, Q), which is made of the parts that Q is the sum of.
        noise = np.sqrt(ground.ridge) * rng.normal(size=ground.coefficients)
        for strength, penalty in zip(ground.strengths, ground.penalties, strict=True):
            values, vectors = np.linalg.eigh(_full(penalty))
            noise += vectors @ (np.sqrt(strength * np.maximum(values, 0)) * rng.normal(size=values.size))
        drawn = field.spread(factor.solve(field.ordered(noise)))
        logs = ground.start + np.clip(drawn - drawn.mean(), -4, 4)
        truth, estimate = _estimated(np.exp(logs - logs.max()), rng)
        found = estimate.calibrate(structure=structure, warn=False)
        low, high = found.interval(0.9)
        held.append(float(((low <= truth) & (truth <= high)).mean()))
        errors.append((_error(found.frequencies, truth), _error(estimate.calibrate(warn=False).frequencies, truth)))
    with_it, without = np.mean(errors, axis=0)
    require(
        with_it <= 1.05 * without,
        f"{structure!r}: on data drawn from it, the error is {with_it / without:.2f} times that without it; expected "
        "no more than 1: start() and ground() must say the same as precision()",
    )
    require(
        np.mean(held) > 0.75,
        f"{structure!r}: on data drawn from it, 90% intervals hold {np.mean(held):.0%} of the true frequencies",
    )


def check_data_without_it(structure: Structure, cells: int = CELLS, seed: int = 0) -> None:
    """Data in a random order lose next to nothing: the exchangeable prior has the weight then.

    Catches an evidence that is too large, as of a ridge or of doubts that are not what they seem.
    """
    rng = np.random.default_rng(seed + 1)
    errors = []
    for _ in range(4):
        shares = rng.permutation(1 / np.arange(1, cells + 1.0))
        truth, estimate = _estimated(shares, rng)
        found = estimate.calibrate(structure=structure, warn=False)
        errors.append((_error(found.frequencies, truth), _error(estimate.calibrate(warn=False).frequencies, truth)))
    with_it, without = np.mean(errors, axis=0)
    require(
        with_it <= _MOST_LOST * without,
        f"{structure!r}: on data without it, the error is {with_it / without:.2f} times that without it; expected "
        f"{_MOST_LOST:g} at most",
    )


STRUCTURE_CHECKS: tuple[Callable[[Structure, int, int], None], ...] = (
    check_ground,
    check_precision,
    check_data_with_it,
    check_data_without_it,
)
"""Each takes a structure, a number of cells and a seed."""


def _require_shapes(structure: Structure, ground: Ground, cells: int) -> None:
    coefficients = ground.coefficients
    shapes: dict[str, tuple[Any, tuple[int, ...]]] = {
        "start": (ground.start, (cells,)),
        "doubts": (ground.doubts, (cells,)),
        "columns": (ground.columns[:, :1], (cells, 1)),
        "values": (ground.values, ground.columns.shape),
    }
    for name, (found, expected) in shapes.items():
        require(
            np.shape(found) == expected,
            f"{structure!r}: {name} has the shape {np.shape(found)}; expected {expected}",
        )
        require(np.isfinite(found).all(), f"{structure!r}: {name} has numbers that are not finite")
    for penalty in ground.penalties:
        require(
            penalty.shape == (coefficients, coefficients),
            f"{structure!r}: a precision has the shape {penalty.shape}; expected {(coefficients, coefficients)}",
        )
    require(
        len(ground.strengths) == len(ground.penalties) and all(strength > 0 for strength in ground.strengths),
        f"{structure!r}: there are {len(ground.penalties)} precisions and the strengths {ground.strengths}; expected a "
        "positive one for each",
    )


def _full(matrix: Matrix) -> Vector:
    return np.asarray(matrix.toarray() if issparse(matrix) else matrix, np.float64)


def _estimated(shares: Vector, rng: np.random.Generator) -> tuple[Vector, Estimate]:
    truth = rng.multinomial(_USERS, shares / shares.sum()).astype(np.float64)
    variance = 4.0 * _USERS
    noisy = truth + rng.normal(0, np.sqrt(variance), truth.size)
    return truth, Estimate(noisy, n=_USERS, variance=variance)


def _error(frequencies: Vector, truth: Vector) -> float:
    return float(np.mean((frequencies - truth) ** 2))
