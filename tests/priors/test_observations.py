"""The estimates as priors are fitted to them: bins that keep what matters, the far tail, and the nodes of sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from localdp.priors import Noise, Observations
from localdp.priors.fitting.observations import BINS_PER_DEVIATION, CORE_DEVIATIONS, NOISE_REACH

N = 1_000_000
values = st.lists(st.floats(-1e5, 2e6), min_size=1, max_size=60).map(np.array)
noises = st.builds(Noise, st.floats(0.01, 1e8), st.floats(-0.5, 50))


@given(estimates=values, noise=noises)
def test_bins_and_tail_together_count_every_item_once(estimates, noise):
    found = Observations(estimates, noise, N, N)
    points, counts = found.binned
    assert counts.sum() + found.tail.size == pytest.approx(estimates.size, rel=1e-12)
    assert (counts > 0).all()
    assert (np.diff(points) > 0).all()


@given(estimates=values, noise=noises)
def test_bins_keep_the_mean_and_hardly_widen(estimates, noise):
    found = Observations(estimates, noise, N, N)
    lowest = -CORE_DEVIATIONS * noise.deviation
    core = np.maximum(estimates[estimates <= found.cut], lowest)
    points, counts = found.binned
    if not core.size:
        assert points.size == counts.size == 0
        return
    step = max(noise.deviation, np.sqrt(max(noise.excess, 0))) / BINS_PER_DEVIATION
    scale = max(np.abs(core).max(), step)
    mean = counts @ points / core.size
    assert mean == pytest.approx(core.mean(), abs=1e-9 * scale)
    widened = counts @ (points - mean) ** 2 / core.size - core.var()
    assert -1e-9 * scale**2 <= widened <= step**2 / 4 + 1e-9 * scale**2


def test_an_estimate_between_two_points_is_split_in_proportion():
    points, counts = Observations(np.array([0.0, 1.25]), Noise(64.0), N, N).binned  # points are 1 apart
    assert points.tolist() == [0, 1, 2]
    assert counts.tolist() == [1, 0.75, 0.25]


def test_estimates_far_below_zero_do_not_stretch_the_grid():
    points, counts = Observations(np.array([-1e9, -1e7, 3.0]), Noise(1.0), N, N).binned
    assert points[0] == -CORE_DEVIATIONS
    assert counts[0] == 2
    assert points.size <= 3


def test_the_core_ends_where_noise_is_small_beside_the_frequency():
    assert Observations(np.zeros(2), Noise(25.0), N, N).cut == 40 * 5
    assert Observations(np.zeros(2), Noise(25.0, 3.0), N, N).cut == 225 * 3
    assert Observations(np.zeros(2), Noise(25.0, -0.5), N, N).cut == 40 * 5
    at_cut = Observations(np.zeros(2), Noise(1.0, 3.0), N, N).cut
    assert at_cut / np.sqrt(3.0 * at_cut) == pytest.approx(15)


def test_the_tail_ascends_and_ends_at_n():
    found = Observations(np.array([900.0, 5.0, 1e9, 201.0, 200.0]), Noise(25.0), 1000, 1000)
    assert found.tail.tolist() == [201, 900, 1000]
    assert found.binned[1].sum() == pytest.approx(2)


def test_nothing_but_a_tail_has_no_bins():
    found = Observations(np.array([900.0, 950.0]), Noise(1.0), 1000, 1000)
    assert found.binned[0].size == found.binned[1].size == 0
    assert found.likelihood(np.arange(3.0))[0].shape == (0, 3)


def test_the_spread_is_the_variance_of_the_estimates_less_that_of_the_noise():
    estimates = np.array([0.0, 10.0, 20.0, 50.0])
    found = Observations(estimates, Noise(16.0, 0.5), 80, 80)
    assert found.mean == 20
    assert found.spread == pytest.approx(estimates.var() - (16 + 0.5 * 20))
    assert Observations(estimates, Noise(1e6), 80, 80).spread == 0


@given(estimates=values, variance=st.one_of(st.floats(0, 1e300), st.just(np.inf)), n=st.integers(1, 10**6))
def test_usable_observations_are_finite_and_within_a_thousand_deviations(estimates, variance, n):
    found = Observations.usable(estimates, Noise(variance), n, n)
    reach = 1e3 * found.noise.deviation
    assert 0 < found.noise.deviation <= 1e6 * n
    assert (found.estimates >= -reach).all()
    assert (found.estimates <= n + reach).all()
    near = (estimates >= -reach) & (estimates <= n + reach)
    assert (found.estimates[near] == estimates[near]).all()


def test_likelihoods_are_those_of_the_normal_distribution_with_a_scale_for_each_row():
    noise = Noise(30.0, 2.0)
    found = Observations(np.array([-20.0, 3.0, 90.0, 250.0]), noise, N, N)
    k = np.array([0.0, 1.0, 40.0, 300.0])
    likelihood, row_logs = found.likelihood(k)
    assert (likelihood.max(axis=1) == 1).all()
    exact = norm.logpdf(found.binned[0][:, None], k, np.sqrt(30 + 2 * k)) + 0.5 * np.log(2 * np.pi)
    assert np.allclose(likelihood, np.exp(exact - row_logs[:, None]), rtol=1e-10, atol=0)
    assert np.allclose(row_logs, exact.max(axis=1), rtol=1e-12)


@pytest.mark.parametrize("noise", [Noise(0.25), Noise(100.0), Noise(1e6), Noise(100.0, 30.0)], ids=str)
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("n", [3, 50, 20_000])
def test_the_density_of_every_bin_is_the_plain_sum(noise, first, n):
    """Under k^-1.5, smooth enough for panels a deviation wide and steep enough to need the whole numbers."""
    found = Observations(np.linspace(-5, 45, 200) * noise.deviation, noise, n, n)
    quadrature = found.quadrature(first)
    every = np.arange(float(first), min(n, found.cut + NOISE_REACH * noise.deviation) + 1)
    sums = []
    for nodes, weights in ((quadrature.nodes, quadrature.weights), (every, np.ones(every.size))):
        logs = noise.log_likelihood(found.binned[0], nodes)
        sums.append((np.exp(logs) * weights) @ (nodes + 1) ** -1.5)
    seen = sums[1] > 1e-200
    assert np.allclose(sums[0][seen], sums[1][seen], rtol=2e-4)


def test_panels_end_at_the_breaks():
    found = Observations(np.zeros(2), Noise(1e4), N, N)
    breaks = np.array([10.5, 1_000.5, 2_345.5])
    quadrature = found.quadrature(0, breaks)
    for place in breaks:
        assert quadrature.weights[quadrature.nodes < place].sum() == pytest.approx(place + 0.5, rel=1e-12)
    without = found.quadrature(0)
    off = [abs(without.weights[without.nodes < place].sum() - place - 0.5) for place in breaks]
    assert max(off) > 1
