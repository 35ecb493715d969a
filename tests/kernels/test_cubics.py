"""Interpolation by cubics: exact for cubics, with no value outside the grid or in poor cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localdp.kernels import cubics, dispatch
from localdp.kernels.cubics import CubicTable, summed


def _table(polynomial, start, step, points, poor=()):
    grid = start + step * np.arange(points)
    flags = np.zeros(points - 1, bool)
    flags[list(poor)] = True
    return CubicTable(start, step, polynomial(grid), polynomial.deriv()(grid) * step, flags)


@pytest.mark.parametrize("kernels", ["numpy", "fast"])
@given(
    st.lists(st.floats(-5, 5), min_size=4, max_size=4),
    st.floats(-100, 100),
    st.floats(0.01, 10),
    st.integers(2, 30),
    st.integers(0, 2**32),
)
def test_a_cubic_is_its_own_interpolation(kernels, coefficients, start, step, points, seed):
    polynomial = np.polynomial.Polynomial(coefficients)
    x = start + step * (points - 1) * np.random.default_rng(seed).uniform(0.001, 0.999, 50)
    with dispatch.kernels(kernels):
        found, missing = _table(polynomial, start, step, points).interpolate(x)
    assert not missing.size
    largest = np.abs(polynomial(start + step * np.arange(points))).max() + np.abs(coefficients).max() * step**3
    assert np.allclose(found, polynomial(x), rtol=0, atol=1e-10 * (1 + abs(start / step)) * (1 + largest))


@pytest.mark.parametrize("kernels", ["numpy", "fast"])
def test_there_is_no_value_outside_the_grid_or_in_poor_cells(kernels):
    table = _table(np.polynomial.Polynomial([1.0, 2.0]), 10.0, 2.0, 5, poor=[1])
    x = np.array([9.99, 10.0, 11.9, 12.1, 13.9, 14.1, 17.99, 18.01, 1e300, -1e300])
    with dispatch.kernels(kernels):
        found, missing = table.interpolate(x)
    assert missing.tolist() == [0, 3, 4, 7, 8, 9]
    assert np.isnan(found[missing]).all()
    assert np.allclose(found[[1, 2, 5, 6]], 1 + 2 * x[[1, 2, 5, 6]])


@pytest.mark.parametrize("kernels", ["numpy", "fast"])
def test_many_numbers_are_interpolated_in_parts(kernels, monkeypatch):
    monkeypatch.setenv("LOCALDP_THREADS", "3")
    monkeypatch.setattr(cubics, "_PART", 1000)
    table = _table(np.polynomial.Polynomial([0.0, 0.0, 1.0]), 0.0, 1.0, 11, poor=[7])
    x = np.random.default_rng(0).uniform(-1, 11, 12_345)
    with dispatch.kernels(kernels):
        found, missing = table.interpolate(x)
    outside = (x < 0) | (x >= 10) | (np.floor(x) == 7)
    assert missing.tolist() == np.flatnonzero(outside).tolist()
    assert np.allclose(found[~outside], x[~outside] ** 2)


def test_the_promise_to_stay_within_the_grid_changes_no_value():
    table = _table(np.polynomial.Polynomial([3.0, -1.0, 0.5, 0.1]), -4.0, 0.5, 17)
    x = np.random.default_rng(0).uniform(-3.99, 3.99, 100_000)
    with dispatch.kernels("numpy"):
        assert np.array_equal(table.interpolate(x)[0], table.interpolate(x, within=True)[0])


def test_nothing_to_interpolate_is_fine():
    found, missing = _table(np.polynomial.Polynomial([1.0]), 0.0, 1.0, 3).interpolate(np.zeros(0))
    assert found.size == missing.size == 0


@pytest.mark.parametrize("kernels", ["numpy", "fast"])
def test_sums_are_those_of_the_interpolated_values(kernels, monkeypatch):
    monkeypatch.setattr(cubics, "_PART", 1000)
    tables = [_table(np.polynomial.Polynomial(c), 0.0, 0.3, 11) for c in ([2.0, -1.0, 1.0], [0.0, 1.0, 0.0, 0.5])]
    x = np.append(np.random.default_rng(0).uniform(-0.1, 3.1, 12_345), [0.0, 3.0])
    with dispatch.kernels(kernels):
        sums, outside = summed(tables, x)
        found = [table.interpolate(x) for table in tables]
    assert sorted(outside.tolist()) == found[0][1].tolist()
    assert sums == pytest.approx([np.nansum(values) for values, _ in found], rel=1e-12)
