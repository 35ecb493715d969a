"""Structures of somebody else, and the checks that they run."""

from __future__ import annotations

import numpy as np
import pytest

import localdp as ldp
from localdp.checks import CheckFailure, check_structure


class Tree(ldp.Structure):
    """Cells of the same group of four are alike."""

    name = "tree"

    def precision(self, cells):
        groups = np.arange(cells) // 4
        same = (groups[:, None] == groups).astype(float)
        return np.diag(same.sum(axis=1)) - same


@pytest.mark.slow
@pytest.mark.parametrize("structure", [ldp.Ordered(), ldp.Ordered(circular=True), ldp.Crossed((5, 8)), Tree()])
def test_the_library_and_an_outside_structure_pass(structure):
    check_structure(structure)


@pytest.mark.slow
def test_an_earlier_release_passes_on_its_own_size():
    check_structure(ldp.Like(1 / np.arange(1, 41.0)), 40)


def test_an_outside_structure_gains_where_it_is_true():
    rng = np.random.default_rng(2)
    shares = np.repeat(rng.dirichlet(np.ones(10)), 4)
    truth = np.floor(100_000 * shares / shares.sum())
    estimate = ldp.Estimate(truth + rng.normal(0, 600, 40), n=int(truth.sum()), variance=360_000.0)
    found, auto = estimate.calibrate(structure=Tree()), estimate.calibrate()
    assert np.mean((found.frequencies - truth) ** 2) < 0.7 * np.mean((auto.frequencies - truth) ** 2)
    assert found.notes[0].startswith("tree")


def with_precision(make):
    class Wrong(ldp.Structure):
        name = "wrong"

        def precision(self, cells):
            return make(cells)

    return Wrong()


@pytest.mark.parametrize(
    ("structure", "message"),
    [
        (ldp.Ordered, "derives from localdp.Structure"),
        (with_precision(lambda cells: np.eye(cells - 1)), "shape"),
        (with_precision(lambda cells: np.diff(np.eye(cells), axis=0, append=0.0)), "not symmetric"),
        (with_precision(lambda cells: -np.eye(cells) + 1 / cells), "eigenvalue"),
        (with_precision(np.eye), "level"),
    ],
)
def test_what_is_wrong_is_said(structure, message):
    with pytest.raises(CheckFailure, match=message):
        check_structure(structure)


def test_a_table_that_does_not_fit_is_said():
    with pytest.raises(CheckFailure, match="refuses a table of 40 cells"):
        check_structure(ldp.Crossed((4, 4)))
