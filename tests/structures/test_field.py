"""The ground: fast solvers against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.structures import Crossed, Ordered
from localdp.structures.field import Field, NotPositiveError
from localdp.structures.table_field import TableField


def dense(ground, strengths, weights):
    """Q, and the design, as plain matrices."""
    design = np.zeros((ground.cells, ground.coefficients))
    np.add.at(design, (np.arange(ground.cells)[:, None], ground.columns), ground.values)
    q = np.diag(ground.ridge) + design.T @ (weights[:, None] * design)
    for strength, penalty in zip(strengths, ground.penalties, strict=True):
        q = q + strength * (penalty.toarray() if hasattr(penalty, "toarray") else penalty)
    return q, design


@pytest.mark.parametrize("solver", [True, False, None])
@pytest.mark.parametrize(
    ("structure", "cells"),
    [(Ordered(), 50), (Ordered(), 51), (Ordered(circular=True), 60), (Ordered(circular=True), 61), (Ordered(), 2500)],
)
def test_bands_give_what_full_matrices_give(structure, cells, solver):
    rng = np.random.default_rng(cells)
    for ground in structure.grounds(cells):
        if solver is True and ground.coefficients > 500:
            continue
        weights, right = rng.exponential(1.0, cells), rng.normal(size=cells)
        strengths = tuple(30.0 for _ in ground.penalties)
        field = Field(ground, solver)
        factor = field.factor(field.prior(strengths), weights)
        q, design = dense(ground, strengths, weights)
        inverse = np.linalg.inv(q)
        assert factor.log_det == pytest.approx(np.linalg.slogdet(q)[1], abs=1e-6)
        np.testing.assert_allclose(
            field.spread(factor.solve(field.gathered(right))), design @ inverse @ design.T @ right, atol=1e-8
        )
        np.testing.assert_allclose(field.variances(factor), np.diag(design @ inverse @ design.T), rtol=1e-8)


@pytest.mark.parametrize("shape", [(4, 7), (3, 4, 5)])
def test_effects_of_a_table_give_what_full_matrices_give(shape):
    rng = np.random.default_rng(3)
    cells = int(np.prod(shape))
    ground = Crossed(shape).ground(cells)
    weights = rng.exponential(1.0, cells)
    strengths = tuple(0.5 + k for k in range(len(ground.penalties)))
    field = Field(ground)
    factor = field.factor(field.prior(strengths), weights)
    q, design = dense(ground, strengths, weights)
    np.testing.assert_allclose(field.variances(factor), np.diag(design @ np.linalg.inv(q) @ design.T), rtol=1e-8)


@pytest.mark.parametrize("shape", [(2, 2), (4, 7), (30, 20)])
def test_tables_are_solved_as_full_matrices_are(shape):
    rng = np.random.default_rng(5)
    cells = shape[0] * shape[1]
    ground = Crossed(shape).ground(cells)
    weights, right = rng.exponential(1.0, cells), rng.normal(size=cells)
    field = TableField(ground, shape)
    factor = field.factor(field.prior((2.0,)), weights)
    q, design = dense(ground, (2.0,), weights)
    inverse = np.linalg.inv(q)
    assert factor.log_det == pytest.approx(np.linalg.slogdet(q)[1], abs=1e-6)
    assert field.factor(field.prior((2.0,))).log_det == pytest.approx(
        np.linalg.slogdet(dense(ground, (2.0,), np.zeros(cells))[0])[1], abs=1e-6
    )
    np.testing.assert_allclose(field.gathered(right), design.T @ right, atol=1e-10)
    np.testing.assert_allclose(
        field.spread(factor.solve(field.gathered(right))), design @ inverse @ design.T @ right, atol=1e-8
    )
    np.testing.assert_allclose(field.variances(factor), np.diag(design @ inverse @ design.T), rtol=1e-8)


def test_a_matrix_with_a_negative_eigenvalue_is_refused():
    ground = Ordered().ground(60)
    field = Field(ground)
    with pytest.raises(NotPositiveError):
        field.factor(field.prior((1.0,)), np.full(60, -5.0))
