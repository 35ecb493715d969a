r"""The Gaussian ground, given what the cells say about it: means, variances and determinants, without a large matrix.

Cells say N(g_i; m_i, 1/w_i) each. The coefficients then have the precision

    Q = sum_k lambda_k P_k + ridge + design' diag(w) design,

a band for ordered cells and small for crossed ones. Wanted is the variance of every g_i, which needs the entries of
Q^-1 next to its diagonal. For a band of width b, cut Q into blocks of b by b. Let F_I be what is left of block I once
all blocks before it are eliminated, and G_I once all blocks after it are. Both come from Cholesky factors, of Q and
of Q read backwards, and

    (Q^-1)_II = (F_I + G_I - Q_II)^-1,         (Q^-1)_I,I+1 = -F_I^-1 Q_I,I+1 (Q^-1)_I+1,I+1,

for all blocks at once: a hundred thousand cells take milliseconds.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve_banded, cholesky_banded
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from scipy.sparse import coo_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from localdp.errors import LocalDPError
from localdp.structures.base import Ground
from localdp.types import Vector

_WIDEST = 16  # a band wider than this is not worth its blocks
_SMALL = 48  # with so few coefficients a full matrix is as fast


Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Pairs of coefficients in the order of the factor, the smaller index first."""


class Factor(Protocol):
    """Q, factorised: what it is multiplied by, solved for and asked about."""

    @property
    def log_det(self) -> float:
        """The logarithm of the determinant of Q."""

    def solve(self, right: Vector) -> Vector:
        """Q^-1 times a vector of coefficients."""


class Field:
    """The ground of a table, ready to be fitted many times."""

    def __init__(self, ground: Ground, dense: bool | None = None) -> None:
        self.ground = ground
        m = ground.coefficients
        entries = [coo_array(penalty) for penalty in ground.penalties]
        one, other = np.triu_indices(ground.columns.shape[1])
        rows, columns = ground.columns[:, one].ravel(), ground.columns[:, other].ravel()
        pattern = coo_array(
            (
                np.ones(2 * rows.size + sum(e.nnz for e in entries)),
                (
                    np.concatenate([rows, columns, *(e.coords[0] for e in entries)]),
                    np.concatenate([columns, rows, *(e.coords[1] for e in entries)]),
                ),
            ),
            shape=(m, m),
        ).tocsr()
        place = np.arange(m, dtype=np.intp)
        band = _bandwidth(pattern, place)
        if band > 4:
            order = reverse_cuthill_mckee(pattern, symmetric_mode=True)
            reordered = np.empty(m, np.intp)
            reordered[order] = np.arange(m)
            if _bandwidth(pattern, reordered) < band:
                place, band = reordered, _bandwidth(pattern, reordered)
        self.band = max(band, 1)
        self.dense = (self.band > _WIDEST or m <= _SMALL) if dense is None else dense
        if self.dense and dense is None:
            place = np.arange(m, dtype=np.intp)
        self._place = place
        low = np.minimum(place[rows], place[columns])
        high = np.maximum(place[rows], place[columns])
        self.pairs = low, high
        # The product of two different coefficients appears twice in a square.
        twice = np.where(one == other, 1.0, 2.0)
        self._products = ground.values[:, one] * ground.values[:, other]
        self._squares = self._products * twice
        self._flat = (low * m + high) if self.dense else (high - low) * m + low
        self._shape = (m, m) if self.dense else (self.band + 1, m)
        self._penalties = tuple(self._stored(e.coords[0], e.coords[1], e.data) for e in entries)
        every = np.arange(m)
        self._ridge = self._stored(every, every, ground.ridge)

    def _stored(self, rows: NDArray[np.intp], columns: NDArray[np.intp], values: Vector) -> Vector:
        """A symmetric matrix in the form that is factorised: its upper part, or its band."""
        r, c = self._place[rows], self._place[columns]
        keep = r <= c if self.dense else r >= c
        flat = r * self._shape[1] + c if self.dense else (r - c) * self._shape[1] + c
        summed = np.bincount(flat[keep], values[keep], self._shape[0] * self._shape[1])
        return summed.astype(np.float64).reshape(self._shape)

    def prior(self, strengths: tuple[float, ...]) -> Vector:
        """The precision of the coefficients before anything is observed, as it is stored."""
        stored = self._ridge.copy()
        for strength, penalty in zip(strengths, self._penalties, strict=True):
            stored += strength * penalty
        return stored

    def factor(self, prior: Vector, weights: Vector | None = None) -> Factor:
        """Q factorised, if the cells have these precisions; that of the prior alone if there are none."""
        stored = prior
        if weights is not None:
            seen = (self._products * weights[:, None]).ravel()
            stored = prior + np.bincount(self._flat, seen, stored.size).reshape(stored.shape)
        return _Dense(stored) if self.dense else _Banded(stored)

    def gathered(self, cells: Vector) -> Vector:
        """design' times a vector of cells, in the order of the factor."""
        where = self._place[self.ground.columns].ravel()
        summed = np.bincount(where, (self.ground.values * cells[:, None]).ravel(), self.ground.coefficients)
        return summed.astype(np.float64)

    def ordered(self, coefficients: Vector) -> Vector:
        """Coefficients in the order of the factor."""
        found = np.empty(coefficients.size)
        found[self._place] = coefficients
        return found

    def spread(self, coefficients: Vector) -> Vector:
        """Design times a vector of coefficients that is in the order of the factor."""
        found = self.ground.values * coefficients[self._place[self.ground.columns]]
        return np.asarray(found.sum(axis=1))

    def variances(self, factor: Factor) -> Vector:
        """The variance of g in every cell."""
        assert isinstance(factor, _Dense | _Banded)  # noqa: S101 (for the type checker)
        shape = self._squares.shape
        return np.asarray((self._squares * factor.covariances(self.pairs).reshape(shape)).sum(axis=1))


class _Dense:
    def __init__(self, upper: Vector) -> None:
        self._factor, failed = dpotrf(upper, lower=0)
        require_positive(not failed)

    @property
    def log_det(self) -> float:
        return 2 * float(np.log(np.diag(self._factor)).sum())

    def solve(self, right: Vector) -> Vector:
        return np.asarray(dpotrs(self._factor, right, lower=0)[0])

    def covariances(self, pairs: Pairs) -> Vector:
        """The entries of Q^-1 at these pairs of coefficients."""
        inverse, failed = dpotri(self._factor, lower=0)
        require_positive(not failed)
        return np.asarray(inverse[pairs])


class _Banded:
    def __init__(self, lower: Vector) -> None:
        self._band = lower.shape[0] - 1
        self._lower = lower
        try:
            self._factor = cholesky_banded(lower, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            require_positive(False)

    @property
    def log_det(self) -> float:
        return 2 * float(np.log(self._factor[0]).sum())

    def solve(self, right: Vector) -> Vector:
        return np.asarray(cho_solve_banded((self._factor, True), right, check_finite=False))

    @cached_property
    def _padded(self) -> int:
        return int(-(-self._lower.shape[1] // self._band) * self._band)

    def covariances(self, pairs: Pairs) -> Vector:
        """The entries of Q^-1 at these pairs of coefficients, none of them farther apart than the band is wide."""
        b = self._band
        forward = self._blocks(self._factor)
        forward = forward @ forward.transpose(0, 2, 1)
        # Q read backwards has its padding at the end too, so the blocks must be cut from the other side.
        padded = _pad(self._lower, self._padded)
        backward = np.zeros_like(padded)
        for k in range(b + 1):
            backward[k, : self._padded - k] = padded[k, : self._padded - k][::-1]
        behind = self._blocks(cholesky_banded(backward, lower=True, check_finite=False))
        behind = (behind @ behind.transpose(0, 2, 1))[::-1, ::-1, ::-1]
        own = self._blocks(padded)
        own = own + np.tril(own, -1).transpose(0, 2, 1)
        inverse = np.linalg.inv(forward + behind - own)
        low, high = pairs
        found = np.empty(low.size)
        block, within = low // b, low % b
        same = block == high // b
        found[same] = inverse[block[same], within[same], (high % b)[same]]
        if not same.all():
            next_to = np.zeros((inverse.shape[0], b, b))  # Q_I,I+1
            for row in range(b):
                for column in range(row + 1):
                    away = b - row + column  # the band has Q[j + away, j] at [away, j], and j is this row of block I
                    stored = padded[away, row::b]
                    next_to[:, row, column] = np.where(np.arange(stored.size) < inverse.shape[0] - 1, stored, 0.0)
            crossing = -np.linalg.solve(forward[:-1], next_to[:-1] @ inverse[1:])
            other = ~same
            found[other] = crossing[block[other], within[other], (high % b)[other]]
        return found

    def _blocks(self, band: Vector) -> Vector:
        """The lower parts of the blocks on the diagonal of a matrix that is stored as a band."""
        b, size = self._band, self._padded
        stored = _pad(band, size)
        blocks = np.zeros((size // b, b, b))
        for column in range(b):
            for row in range(column, b):
                blocks[:, row, column] = stored[row - column, column::b]
        return blocks


def _pad(band: Vector, size: int) -> Vector:
    """The band of a matrix with ones added to the end of its diagonal."""
    if band.shape[1] == size:
        return band
    padded = np.zeros((band.shape[0], size))
    padded[:, : band.shape[1]] = band
    padded[0, band.shape[1] :] = 1.0
    return padded


def _bandwidth(pattern: coo_array, place: NDArray[np.intp]) -> int:
    entries = pattern.tocoo()
    return int(np.abs(place[entries.coords[0]] - place[entries.coords[1]]).max(initial=0))


def require_positive(positive: bool) -> None:
    """Raise `NotPositiveError` unless a matrix turned out to be positive definite."""
    if not positive:
        raise NotPositiveError("the precision of this structure is not positive: its matrix has negative eigenvalues")


class NotPositiveError(LocalDPError):
    """A matrix that must be positive definite is not."""
