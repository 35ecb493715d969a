"""Means, percentiles and ranges of ordered cells, beside a posterior that is a list of tables."""

import numpy as np
import pytest

from localdp.calibrate.base import Quantity
from localdp.calibrate.ordered_cells import OrderedCells


class Tables:
    """A posterior as equally likely tables: intervals of sums are read off the sums of all tables."""

    def __init__(self, tables):
        self.tables = tables

    def linear(self, weights, level):
        sums = np.sort(self.tables @ weights)
        beyond = round((1 - level) / 2 * (sums.size - 1))
        return Quantity(float(sums.mean()), float(sums[beyond]), float(sums[-1 - beyond]), level)

    def ordered(self, starts, ends):
        return OrderedCells(self.linear, self.tables.mean(axis=0), starts, ends)


def quantiles(values, level):
    ordered = np.sort(values)
    beyond = round((1 - level) / 2 * (ordered.size - 1))
    return ordered[beyond], ordered[-1 - beyond]


@pytest.fixture(params=[(2, 0), (5, 1), (24, 0), (24, 2)])
def tables(request):
    cells, apart = request.param
    rng = np.random.default_rng(cells + apart)
    drawn = rng.dirichlet(rng.uniform(0.3, 6, cells + apart), 2001) * rng.uniform(500, 1500, (2001, 1))
    return drawn, cells


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_the_mean_is_that_of_every_table(tables, level):
    drawn, cells = tables
    starts = 3.0 * np.arange(cells) - 4
    found = Tables(drawn).ordered(starts, starts + 3).mean(level)
    means = drawn[:, :cells] @ (starts + 1.5) / drawn[:, :cells].sum(axis=1)
    np.testing.assert_allclose([found.low, found.high], quantiles(means, level), rtol=1e-7)
    assert found.value == pytest.approx(
        drawn[:, :cells].mean(axis=0) @ (starts + 1.5) / drawn[:, :cells].sum(axis=1).mean()
    )
    assert found.level == level


@pytest.mark.parametrize("percent", [1, 10, 50, 90, 99.5])
def test_a_percentile_is_that_of_every_table(tables, percent):
    drawn, cells = tables
    whole = np.arange(cells) + 1.0
    found = Tables(drawn).ordered(whole, whole).percentile(percent, 0.9)
    shares = np.cumsum(drawn[:, :cells], axis=1) / drawn[:, :cells].sum(axis=1, keepdims=True)
    each = 1.0 + (shares < percent / 100 - 1e-12).sum(axis=1)
    value = 1.0 + np.searchsorted(
        np.cumsum(drawn.mean(axis=0)[:cells]) / drawn.mean(axis=0)[:cells].sum(), percent / 100
    )
    assert found.value == value

    def inside(first, last):
        return np.mean((first <= each) & (each <= last))

    # Chances are read off intervals, as if both halves were Gaussian: 4% is what that may miss here.
    assert inside(found.low, found.high) > 0.9 - 0.04
    width = found.high - found.low
    shorter = [inside(low, low + width - 1) for low in whole if width and low <= value <= low + width - 1]
    assert max(shorter, default=0.0) < 0.9 + 0.04


def test_inside_a_bin_people_are_spread_evenly_and_intervals_have_whole_bins():
    certain = Tables(np.array([[10.0, 30, 60, 7]]))
    found = certain.ordered(np.array([0.0, 5, 10]), np.array([5.0, 10, 15])).percentile(25, 0.9)
    assert (found.value, found.low, found.high) == (7.5, 5.0, 10.0)


def test_a_range_is_a_sum(tables):
    drawn, cells = tables
    place = np.arange(float(cells))
    found = Tables(drawn).ordered(place, place).amount(1, cells - 1, 0.9)
    np.testing.assert_allclose([found.low, found.high], quantiles(drawn[:, 1:cells].sum(axis=1), 0.9))


def test_if_nobody_may_be_in_an_ordered_cell_the_mean_may_be_anything():
    drawn = np.array([[0.0, 0, 0, 9], [0.0, 0, 0, 9], [0.0, 0, 0, 9]])
    place = np.array([1.0, 2, 3])
    found = Tables(drawn).ordered(place, place)
    assert (found.mean(0.9).low, found.mean(0.9).high) == (1.0, 3.0)
    assert found.percentile(50, 0.9).value == 2.0
