"""Shapes: every one has the mean that is known, and is the distribution that its name says."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.advice.shapes import SEVERAL, several_shapes, shaped


@pytest.mark.parametrize("like", [*SEVERAL, "power-law", [3, 0, 9], "kosarak-100k"])
@pytest.mark.parametrize(("items", "users"), [(2, 10), (50, 1_000), (40_000, 900_000), (1_000, 30)])
def test_every_shape_has_the_mean_that_is_known(like, items, users):
    shape = shaped(like, items, users)
    assert shape.name == (like if isinstance(like, str) else "the list given")
    assert shape.masses @ shape.frequencies == pytest.approx(users / items, rel=1e-9)
    assert shape.masses.sum() == pytest.approx(1)
    assert (shape.frequencies == np.floor(shape.frequencies)).all()
    assert 0 <= shape.frequencies[0] <= shape.frequencies[-1] <= users


@pytest.mark.parametrize(("like", "exponent"), [("zipf-0.5", 0.5), ("zipf", 1.0), ("zipf-1.5", 1.5)])
def test_zipf_is_the_law_whatever_the_grouping(like, exponent):
    shape = shaped(like, 20_000, 10**9)
    plain = np.arange(1, 20_001) ** -exponent
    plain *= 10**9 / plain.sum()
    assert shape.frequencies[-1] == pytest.approx(plain[0], abs=1)
    assert shape.masses @ shape.frequencies**2 == pytest.approx((plain**2).mean(), rel=1e-5)


def test_an_exponential_distribution_has_its_quantiles():
    shape, mean = shaped("exponential", 100_000, 10**9), 10_000
    below = np.cumsum(shape.masses)
    for quantile in (0.1, 0.5, 0.9, 0.99):
        found = shape.frequencies[np.searchsorted(below, quantile)]
        assert found == pytest.approx(-mean * np.log(1 - quantile), rel=0.06)


def test_a_share_of_the_items_is_held_equally_often():
    shape = shaped("held-1%", 5_000, 200_000)
    assert shape.frequencies.tolist() == [0.0, 4_000.0]
    assert shape.masses.tolist() == [0.99, 0.01]
    assert shaped("equal", 4, 20).frequencies.tolist() == [5.0]


def test_shapes_with_less_than_one_held_item_are_left_out():
    assert [shape.name for shape in several_shapes(5_000, 100)] == list(SEVERAL)
    assert [shape.name for shape in several_shapes(2, 100)] == [n for n in SEVERAL if not n.startswith("held")]
    assert "held-30%" in [shape.name for shape in several_shapes(4, 100)]
