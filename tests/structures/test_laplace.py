"""Whole tables around their mode: gradient and information by differences, and channels."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.errors import InvalidInputError
from localdp.priors import Noise
from localdp.structures import Like, Ordered
from localdp.structures.calibration import structured
from localdp.structures.laplace import LaplacePart, Table
from localdp.structures.likelihood import CellLikelihood, ChannelLikelihood
from localdp.structures.posterior import StructuredPosterior


def wave(d, epsilon):
    """The channel of a square wave: outcomes near the value are more likely than others."""
    near, e = max(1, d // 5), np.exp(epsilon)
    channel = np.ones((d + 2 * near, d))
    for cell in range(d):
        channel[cell : cell + 2 * near + 1, cell] = e
    return channel / channel.sum(axis=0)


def likelihoods(d, rng):
    truth = rng.dirichlet(np.full(d, 3.0)) * 1000
    cells = CellLikelihood(truth + rng.normal(0, 20, d), Noise(400.0))
    counts = rng.multinomial(1000, wave(d, 1.0) @ truth / 1000).astype(float)
    return cells, ChannelLikelihood(counts, wave(d, 1.0))


@pytest.mark.parametrize("total", [1000.0, None])
@pytest.mark.parametrize("which", range(2))
def test_the_gradient_is_that_of_the_log_posterior(which, total):
    d, rng = 7, np.random.default_rng(which)
    likelihood = likelihoods(d, rng)[which]
    start = np.full(d, np.log(1000 / d))
    part = LaplacePart(likelihood, Table(total), start, np.eye(d) + 0.5, start)
    eta, step = start + rng.normal(0, 0.3, d), 1e-5
    moves = np.eye(d) * step
    differences = [(part.height(eta + move) - part.height(eta - move)) / (2 * step) for move in moves]
    np.testing.assert_allclose(part.gradient(eta), differences, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("which", range(2))
def test_the_information_is_minus_the_second_derivative_where_everything_is_as_expected(which):
    d, rng = 6, np.random.default_rng(which)
    eta = rng.normal(np.log(100), 0.3, d)
    f = Table(None).at(eta)
    exact = CellLikelihood(f, Noise(400.0)) if which == 0 else ChannelLikelihood(wave(d, 1.0) @ f, wave(d, 1.0))
    part = LaplacePart(exact, Table(None), eta, np.eye(d), eta)
    step = 1e-4
    moves = np.eye(d) * step
    second = np.array([(part.gradient(eta - move) - part.gradient(eta + move)) / (2 * step) for move in moves])
    np.testing.assert_allclose(part.hessian(eta), second, rtol=1e-4, atol=1e-3)


def test_a_smooth_curve_is_recovered_through_a_channel_with_more_outcomes_than_cells():
    d, n = 40, 200_000
    t = (np.arange(d) + 0.5) / d
    truth = np.exp(-0.5 * ((t - 0.4) / 0.15) ** 2)
    truth *= n / truth.sum()
    channel = wave(d, 1.0)
    counts = np.random.default_rng(3).multinomial(n, channel @ truth / n).astype(float)
    assert counts.size == d + 16
    found = structured(Ordered(), ChannelLikelihood(counts, channel), float(n))
    posterior = StructuredPosterior(found.fits, found.weights, n, float(n))
    assert np.abs(np.cumsum(posterior.means() - truth)).mean() < 0.01 * n
    assert posterior.means().sum() == pytest.approx(n)
    low, high = posterior.shortest_intervals(0.9)
    assert ((low <= truth) & (truth <= high)).mean() > 0.6


def test_an_earlier_release_helps_through_a_channel():
    """Nothing is shared between cells here, so the table is fitted as a whole."""
    d, n = 12, 50_000
    rng = np.random.default_rng(8)
    truth = rng.dirichlet(np.ones(d)) * n
    channel = wave(d, 1.0)
    seen = ChannelLikelihood(rng.multinomial(n, channel @ truth / n).astype(float), channel)
    found = structured(Like(truth), seen, float(n))
    posterior = StructuredPosterior(found.fits, found.weights, n, float(n))
    flat = structured(Like(np.ones(d)), seen, float(n))
    without = StructuredPosterior(flat.fits, flat.weights, n, float(n))
    assert posterior.means().sum() == pytest.approx(n)
    assert np.abs(posterior.means() - truth).mean() < 0.3 * np.abs(without.means() - truth).mean()


def test_bad_observations_are_refused():
    with pytest.raises(InvalidInputError, match="add up to 1"):
        ChannelLikelihood(np.ones(2), np.full((2, 2), 0.4))
    with pytest.raises(InvalidInputError, match="row for each outcome"):
        ChannelLikelihood(np.ones(3), np.full((2, 2), 0.5))
