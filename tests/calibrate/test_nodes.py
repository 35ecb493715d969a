"""Quadrature nodes of the posterior: sums over them against sums over all frequencies."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import localdp as ldp
from localdp.calibrate.nodes import _union, posterior_nodes
from localdp.kernels.quadrature import EXACT_UP_TO
from localdp.priors import Noise, Observations

N = 40_000
RNG = np.random.default_rng(0)
TRUTH = np.minimum(RNG.zipf(1.6, 2_000), N)


def _nodes(prior, noise, estimates, breaks=()):
    return posterior_nodes(prior, noise, estimates, (float(estimates.min()), float(estimates.max())), breaks)


def _log_masses(prior, k):
    logs = prior.log_mass(np.maximum(k, prior.first))
    if prior.first > 0:
        logs[k == 0] = prior.zero
    return logs


def _sums(nodes, noise, x, g=lambda k: np.ones(k.size)):
    """E[g | x] and the logarithm of p_fhat(x), for each x, over these nodes."""
    k, log_weights = nodes
    logs = log_weights + noise.log_likelihood(x, k)
    largest = logs.max(axis=1, keepdims=True)
    weights = np.exp(logs - largest)
    return weights @ g(k) / weights.sum(axis=1), np.log(weights.sum(axis=1)) + largest[:, 0]


def _errors(prior, noise, x, breaks, g):
    """How far sums over the nodes are from sums over all frequencies: E[g | x], and the density of x in logarithms."""
    found = _nodes(prior, noise, x, breaks)
    every = np.arange(prior.n + 1.0)
    mean, density = _sums((found.k, found.log_weights), noise, x, g)
    exact_mean, exact_density = _sums((every, _log_masses(prior, every)), noise, x, g)
    assert (np.diff(found.k) > 0).all()  # a node that comes twice would count twice
    assert found.k[-1] <= prior.n
    return np.abs(mean - exact_mean), exact_mean, np.abs(density - exact_density).max()


def _check_means(prior, noise, x):
    off, exact, density_off = _errors(prior, noise, x, (), lambda k: k)
    assert (off / np.maximum(exact, 1e-9)).max() < 1e-6
    assert density_off < 2e-5  # a kink or step of the prior costs this much


def _step_error(prior, noise, x, threshold, breaks):
    """The largest error of Pr(f > threshold | x); at the step itself the sum and the integral differ by up to 3e-7."""
    return _errors(prior, noise, x, breaks, lambda k: (k > threshold + 0.25).astype(np.float64))[0].max()


def _smooth(n=N):
    return ldp.Smooth().fit(Observations(TRUTH + RNG.normal(0, 5, TRUTH.size), Noise(25.0), n, n))


def _monotone(n=N):
    return ldp.Monotone().fit(Observations(TRUTH + RNG.normal(0, 5, TRUTH.size), Noise(25.0), n, n))


HEAVY = {
    "power law": ldp.PowerLaw().member(np.array([1.4]), N),
    "steep power law": ldp.PowerLaw().member(np.array([4.0]), N),
    "flat": ldp.PowerLaw().member(np.array([0.0]), N),
    "smooth": _smooth(),
    "monotone": _monotone(),
    "few users": ldp.PowerLaw().member(np.array([1.4]), 700),
}
NOISES = {
    "half a person": Noise(0.25),
    "little": Noise(9.0),
    "some": Noise(60.0**2),
    "much": Noise(900.0**2),
    "growing": Noise(30.0**2, 5.0),
}


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("prior", HEAVY.values(), ids=HEAVY)
def test_sums_under_heavy_tails_are_the_plain_ones(prior, noise):
    x = np.concatenate([np.linspace(-5, 10, 15) * noise.deviation, np.linspace(0, prior.largest, 25)])
    x = x[(x <= prior.largest + 3 * noise.deviation) & (x >= -noise.variance / max(noise.excess, 1e-9))]
    _check_means(prior, noise, x)


# The three ways to cover a bulk: by whole numbers, by windows around the estimates, and by fine panels.
LIGHT = {
    "narrow bulk": (50.0, 90.0),
    "wide bulk, little noise": (300.0, 20.0),
    "wide bulk, much noise": (300.0, 400.0),
    "little noise": (50.0, 1.0),
}


@pytest.mark.parametrize("family", [ldp.Gaussian(), ldp.Laplace()], ids=lambda family: family.name)
@pytest.mark.parametrize(("width", "deviation"), LIGHT.values(), ids=LIGHT)
@pytest.mark.parametrize("place", [5_000.0, 200.0])
def test_sums_under_light_tails_are_the_plain_ones(family, width, deviation, place):
    prior = family.member(np.array([place, np.log(width)]), N)
    reach = 25 * (width + deviation)
    x = np.clip(np.linspace(place - reach, place + reach, 31), -5 * deviation, N)
    _check_means(prior, Noise(deviation**2), x)


def test_sums_under_a_poisson_prior_are_the_plain_ones():
    prior = ldp.Poisson().member(np.array([np.log(6_000.0)]), N)
    _check_means(prior, Noise(70.0**2), np.linspace(5_000, 8_000, 31))


@pytest.mark.parametrize(("width", "deviation", "x"), [(400.0, 400.0, 25_000.0), (300.0, 70.0, 60_000.0)])
def test_far_estimates_are_pulled_towards_a_light_tailed_prior_and_have_nodes_there(width, deviation, x):
    """The posterior of a Gaussian prior is Gaussian, here more than 20 deviations of the noise below the estimate."""
    prior = ldp.Gaussian().member(np.array([5_000.0, np.log(width)]), 10**6)
    noise, estimate = Noise(deviation**2), np.array([x])
    found = _nodes(prior, noise, estimate)
    exact = (x * width**2 + 5_000 * deviation**2) / (width**2 + deviation**2)
    assert x - exact > 20 * deviation
    assert _sums((found.k, found.log_weights), noise, estimate, lambda k: k)[0] == pytest.approx(exact, rel=1e-9)


def test_a_small_population_is_visited_whole():
    for prior in (ldp.Gaussian().member(np.array([90.0, 2.0]), 700), HEAVY["few users"]):
        found = _nodes(prior, Noise(30.0**2), np.array([-5.0, 1_000.0]))
        assert found.k.tolist() == list(range(prior.first, 701))
        assert not found.in_panel.any()


@pytest.mark.parametrize("noise", [Noise(1.0), Noise(50.0**2), Noise(50.0**2, 2.0)], ids=str)
def test_windows_cover_every_estimate_however_far(noise):
    n = 10**9
    prior = ldp.PowerLaw().member(np.array([1.2]), n)
    x = np.concatenate([10 ** np.random.default_rng(1).uniform(0, 9, 300), [n - 1.0, n + 7.0, 3.0 * n]])
    found = _nodes(prior, noise, x)
    assert found.k.size < 1_500_000
    assert (np.diff(found.k) > 0).all()
    for value in np.minimum(x, n):
        deviation = float(np.sqrt(noise.variance_at(np.array(value))))
        low, high = max(1.0, value - 10 * deviation), min(n, value + 10 * deviation)
        inside = found.k[(found.k >= low) & (found.k <= high)]
        gaps = np.diff(np.concatenate([[low], inside, [high]]))
        assert gaps.max() <= max(1.0, 0.5 * deviation)
        if 40 * deviation < value < n - 10 * deviation:  # the prior is flat there: the density is its mass
            density = _sums((found.k, found.log_weights), noise, np.array([value]))[1]
            mass = prior.log_mass(np.array([value])) + 0.5 * np.log(2 * np.pi)
            assert density == pytest.approx(mass, abs=5e-3)


LIGHT_PRIOR = ldp.Gaussian().member(np.array([5_000.0, np.log(300.0)]), N)


@pytest.mark.parametrize("prior", [HEAVY["power law"], HEAVY["monotone"], LIGHT_PRIOR], ids=lambda prior: prior.name)
@pytest.mark.parametrize("threshold", [1_500, 5_321, 9_876])
def test_a_break_makes_the_average_of_a_step_exact(prior, threshold):
    noise, x = Noise(400.0**2), np.linspace(threshold - 1_500, threshold + 1_500, 41)
    assert _step_error(prior, noise, x, threshold, (threshold + 0.5,)) < 1e-6
    if prior is HEAVY["power law"]:
        assert _step_error(prior, noise, x, threshold, ()) > 1e-3


def test_atoms_are_the_nodes():
    observations = Observations(np.array([1.0, 2.0]), Noise(1.0), 90, 90)
    prior = ldp.Fixed([3, 50, 80], [0.5, 0.25, 0.25]).fit(observations)
    found = _nodes(prior, Noise(1e4), np.array([-1e3, 1e9]), (20.5,))
    assert found.k.tolist() == [3, 50, 80]
    assert np.exp(found.log_weights) == pytest.approx([0.5, 0.25, 0.25])
    assert not found.in_panel.any()


def test_a_mass_at_zero_that_stands_apart_is_a_node():
    prior = HEAVY["smooth"]
    found = _nodes(prior, Noise(100.0), np.array([0.0, 50.0]))
    assert found.k[0] == 0
    assert found.log_weights[0] == prior.zero
    assert _nodes(HEAVY["power law"], Noise(100.0), np.array([0.0, 50.0])).k[0] == 1


def test_nodes_of_panels_are_marked_and_all_others_are_whole():
    found = _nodes(HEAVY["power law"], Noise(200.0**2), np.array([0.0, 30_000.0]))
    assert (found.k[~found.in_panel] == np.arange(1, EXACT_UP_TO + 1)).all()
    assert found.in_panel[EXACT_UP_TO:].all()


def test_frequencies_without_mass_are_no_nodes():
    observations = Observations(np.repeat([0.0, 3.0, 2_000.0], 50), Noise(25.0), N, N)
    prior = ldp.Monotone().fit(observations)
    found = _nodes(prior, Noise(9.0), np.array([0.0, 2.0 * N]))
    assert found.k.max() == prior.largest < 2_100
    assert np.isfinite(found.log_weights).all()


intervals = st.lists(st.tuples(st.integers(0, 60), st.integers(-3, 12)), min_size=1, max_size=12)


@given(pairs=intervals)
def test_the_union_of_intervals_is_theirs_and_disjoint(pairs):
    low = np.array([start for start, _ in pairs], np.float64)
    high = low + [length for _, length in pairs]
    cells = np.arange(80) + 0.5
    inside = ((cells[:, None] > low) & (cells[:, None] < high)).any(axis=1)
    found = list(_union(low, high))
    covered = np.array([any(begin < cell < end for begin, end in found) for cell in cells])
    assert (covered == inside).all()
    assert all(first[1] < second[0] for first, second in itertools.pairwise(found))
