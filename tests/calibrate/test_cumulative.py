"""Quantiles and shortest intervals of one posterior, against all frequencies and all intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from localdp.calibrate.cumulative import quantile, quantiles, shortest_interval
from localdp.kernels.quadrature import panels

level = st.floats(0.01, 0.99)
masses = st.lists(st.integers(0, 9), min_size=1, max_size=14).filter(any).map(lambda some: np.array(some) / sum(some))


def _whole(masses, data):
    steps = data.draw(st.lists(st.integers(1, 5), min_size=masses.size, max_size=masses.size))
    return np.cumsum(masses), np.cumsum(steps).astype(np.float64)


@given(masses=masses, level=level, data=st.data())
def test_the_quantile_of_whole_numbers_is_the_first_with_enough_below(masses, level, data):
    total, k = _whole(masses, data)
    expected = min(value for value, below in zip(k, total, strict=True) if below >= level - 1e-9)
    assert quantile(total, k, level) == expected
    assert quantiles(total, k, np.array([level, level])).tolist() == [expected, expected]


@given(masses=masses, level=level, data=st.data())
def test_no_interval_of_whole_numbers_is_shorter_or_as_short_and_more_probable(masses, level, data):
    total, k = _whole(masses, data)
    enough = [
        (k[end] - k[start], -masses[start : end + 1].sum())
        for start in range(k.size)
        for end in range(start, k.size)
        if masses[start : end + 1].sum() >= level - 1e-9
    ]
    low, high = shortest_interval(total, k, level)
    held = masses[(k >= low) & (k <= high)].sum()
    assert held >= level - 1e-9
    assert high - low == min(enough)[0]
    assert held == pytest.approx(-min(enough)[1])


@pytest.fixture(scope="module")
def bell():
    """The cumulative normal distribution with mean 5,000 and deviation 100, on the nodes of panels."""
    quadrature = panels(np.linspace(3_800.5, 6_200.5, 25), 8)
    weights = quadrature.weights * norm.pdf(quadrature.nodes, 5_000, 100)
    return np.cumsum(weights) - 0.5 * weights, quadrature.nodes


@pytest.mark.parametrize("level", [0.01, 0.3, 0.5, 0.95])
def test_quantiles_between_the_nodes_of_panels_are_interpolated(bell, level):
    exact = norm.ppf(level, 5_000, 100)
    assert quantile(*bell, level) == pytest.approx(exact, abs=2)
    assert quantiles(*bell, np.array([level]))[0] == pytest.approx(exact, abs=2)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_the_shortest_interval_of_a_bell_is_that_around_its_middle(bell, level):
    low, high = shortest_interval(*bell, level)
    assert high - low == pytest.approx(2 * norm.ppf((1 + level) / 2) * 100, abs=4)
    assert norm.cdf(high, 5_000, 100) - norm.cdf(low, 5_000, 100) == pytest.approx(level, abs=0.005)


def test_a_level_that_rounding_hides_is_reached_at_the_end():
    total, k = np.array([0.5, 1 - 1e-9]), np.array([3.0, 4.0])
    assert quantile(total, k, 1 - 1e-10) == 4
    assert shortest_interval(total, k, 1 - 1e-10) == (3, 4)
