"""Quadratures against sums and integrals that are known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import zeta

from localdp.kernels.quadrature import (
    EXACT_UP_TO,
    SMOOTH_SCALE,
    Quadrature,
    growing_edges,
    logarithmic,
    panels,
    whole_numbers,
)

gaps = st.lists(st.floats(0.1, 10), min_size=1, max_size=6)


def test_whole_numbers_have_weight_one_each():
    found = whole_numbers(3, 7)
    assert found.nodes.tolist() == [3, 4, 5, 6, 7]
    assert found.weights.tolist() == [1, 1, 1, 1, 1]
    assert whole_numbers(5, 5).nodes.tolist() == [5]
    assert whole_numbers(5, 4).nodes.size == whole_numbers(5, 4).weights.size == 0


@given(start=st.floats(-20, 20), widths=gaps, points=st.integers(1, 12), data=st.data())
def test_panels_integrate_polynomials_of_twice_as_many_degrees_as_points(start, widths, points, data):
    edges = start + np.append(0.0, np.cumsum(widths))
    degree = data.draw(st.integers(0, 2 * points - 1))
    found = panels(edges, points)
    scale = np.abs(edges).max()
    nodes = found.nodes / scale
    integral = (edges[-1] / scale) ** (degree + 1) - (edges[0] / scale) ** (degree + 1)
    assert found.weights @ nodes**degree / scale == pytest.approx(integral / (degree + 1), abs=1e-12)


def test_panels_do_not_integrate_one_degree_more():
    found = panels(np.array([0.0, 1.0]), 3)
    assert found.weights @ found.nodes**5 == pytest.approx(1 / 6, abs=1e-14)
    assert abs(found.weights @ found.nodes**6 - 1 / 7) > 1e-4


@given(start=st.floats(-20, 20), widths=gaps, points=st.integers(1, 12))
def test_nodes_of_panels_ascend_inside_their_panels(start, widths, points):
    edges = start + np.append(0.0, np.cumsum(widths))
    found = panels(edges, points)
    assert (np.diff(found.nodes) > 0).all()
    assert (np.searchsorted(edges, found.nodes) == np.repeat(np.arange(1, edges.size), points)).all()
    assert (found.weights > 0).all()


def test_one_edge_makes_no_panel():
    assert panels(np.array([4.0]), 8).nodes.size == 0


def test_joined_parts_are_in_order_and_keep_their_weights():
    parts = (
        Quadrature(np.array([5.0, 9.0]), np.array([0.5, 0.9])),
        Quadrature(np.array([1.0, 7.0]), np.array([0.1, 0.7])),
    )
    found = Quadrature.join(*parts)
    assert found.nodes.tolist() == [1, 5, 7, 9]
    assert found.weights.tolist() == [0.1, 0.5, 0.7, 0.9]


@pytest.mark.parametrize("last", [1, 2, 255, 256, 257, 5_000, 10**6, 10**12])
@pytest.mark.parametrize("alpha", [1.05, 1.5, 2.5, 30.0])
def test_sums_of_power_laws_are_those_of_the_zeta_function(alpha, last):
    found = logarithmic(1, last)
    total = zeta(alpha) - zeta(alpha, last + 1)
    assert found.weights @ found.nodes**-alpha == pytest.approx(total, rel=1e-7)


@pytest.mark.parametrize("first", [0, 1, 300, 9_000])
@pytest.mark.parametrize("count", [1, 2, 700, 10**6])
def test_sums_of_small_powers_are_those_of_the_closed_forms(first, count):
    last = first + count - 1
    found = logarithmic(first, last)
    assert found.weights.sum() == pytest.approx(count, rel=1e-9)
    assert found.weights @ found.nodes == pytest.approx((first + last) * count / 2, rel=1e-7)
    assert found.nodes[0] == first
    assert found.nodes[-1] < last + 0.5


def test_small_frequencies_are_nodes_themselves():
    found = logarithmic(1, 10**6)
    whole = EXACT_UP_TO // 4
    assert found.nodes[:whole].tolist() == list(range(1, whole + 1))
    assert (found.weights[:whole] == 1).all()
    assert found.nodes[whole] > whole + 0.5
    assert found.nodes.size < whole + 8 * 30


def test_finer_steps_make_more_panels():
    assert logarithmic(1, 10**6, step=0.1).nodes.size > 2 * logarithmic(1, 10**6, step=0.35).nodes.size


@given(start=st.floats(0.5, 1e4), length=st.floats(1e-3, 1e5), widest=st.floats(10.0, 1e4))
def test_edges_grow_with_their_start_and_no_wider_than_told(start, length, widest):
    stop = start + length
    edges = growing_edges(start, stop, widest)
    assert (edges[0], edges[-1]) == (start, stop)
    widths = np.diff(edges)
    assert (widths > 0).all()
    assert (widths <= np.minimum(edges[:-1], widest) * (1 + 1e-9)).all()
    assert edges.size <= 3 + np.log2(max(widest / start, 1.0)) + length / widest


@pytest.mark.parametrize("stop", [7.0, 5.0])
def test_nothing_to_cover_has_one_edge(stop):
    assert growing_edges(7.0, stop, 2.0).tolist() == [7.0]


@pytest.mark.parametrize("shift", [0.0, 0.25, 0.5])
def test_a_gaussian_of_the_smooth_scale_sums_as_it_integrates(shift):
    k = np.arange(-100.0, 101.0)
    total = np.exp(-0.5 * ((k - shift) / SMOOTH_SCALE) ** 2).sum()
    assert total == pytest.approx(np.sqrt(2 * np.pi) * SMOOTH_SCALE, rel=1e-15)


def test_a_narrow_gaussian_does_not():
    total = np.exp(-0.5 * (np.arange(-9.0, 10.0) / 0.4) ** 2).sum()
    assert total != pytest.approx(np.sqrt(2 * np.pi) * 0.4, rel=0.01)
