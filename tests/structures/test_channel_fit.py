"""The posterior through a channel: compressed counts, and a second route to the same numbers."""

import numpy as np
import pytest

from localdp.mechanisms import SquareWave
from localdp.structures import Ordered
from localdp.structures.calibration import _start
from localdp.structures.compressed import Compressed
from localdp.structures.likelihood import ChannelLikelihood
from localdp.structures.through_channel import ChannelPart, SlowGround


@pytest.fixture
def seen():
    mechanism = SquareWave(40, 1.0)
    held = np.round(2000 * np.exp(-0.5 * ((np.arange(40) - 15) / 7) ** 2)).astype(int)
    counts = mechanism.simulate(held, 3)
    return ChannelLikelihood(counts.astype(float), mechanism._outcome_law.T), held


def test_compressed_values_are_unbiased_and_have_the_noise_that_they_state(seen):
    """Over 400 simulations: deviations of means below 5 (1e-6 each), variances within 30%."""
    mechanism, held = SquareWave(40, 1.0), seen[1]
    one = Compressed.of(seen[0])
    found = []
    for seed in range(400):
        counts = mechanism.simulate(held, seed).astype(float)
        other = Compressed.of(ChannelLikelihood(counts, seen[0].channel))
        # Signs and order of directions differ, so sums of cells are compared: the first half, told by all directions.
        weights = (np.arange(40) < 20) * 1.0
        solved = np.linalg.lstsq(other.directions.T, weights, rcond=None)[0]
        found.append((solved @ other.values, solved @ other.noise @ solved, solved @ other.directions @ held))
    values, variances, truth = np.array(found).T
    away = values - truth
    assert abs(away.mean()) < 5 * away.std() / 20
    assert away.var() == pytest.approx(variances.mean(), rel=0.3)
    assert one.total == held.sum()


def test_the_fit_is_the_mode_of_the_exact_posterior_where_counts_are_large(seen):
    """Newton's method on the multinomial likelihood itself, with the same ground, finds the same distribution."""
    likelihood, held = seen
    ground = Ordered().ground(40)
    slow, start, total = SlowGround.of(ground), _start(ground, float(held.sum())), float(held.sum())
    part = ChannelPart(Compressed.of(likelihood), slow, start, ground.strengths[0], np.full(40, 1e-6), start)
    precision = ground.strengths[0] * ground.penalties[0].toarray() + np.diag(ground.ridge)
    eta = start.copy()
    for _ in range(100):
        f = np.exp(eta - eta.max())
        f *= total / f.sum()
        jacobian = np.diag(f) - np.outer(f, f) / total
        gradient, information = likelihood.slopes(f)
        step = np.linalg.solve(
            jacobian @ information @ jacobian + precision, jacobian @ gradient - precision @ (eta - start)
        )
        eta = eta + 0.5 * step
    assert part.settled
    np.testing.assert_allclose(np.cumsum(part.moments[0]) / total, np.cumsum(f) / total, atol=0.004)


def test_moments_of_sums_agree_with_those_of_cells(seen):
    likelihood, held = seen
    ground = Ordered().ground(40)
    slow, start = SlowGround.of(ground), _start(ground, float(held.sum()))
    part = ChannelPart(Compressed.of(likelihood), slow, start, ground.strengths[0], np.full(40, 0.1), start)
    means, variances = part.moments
    for cell in (0, 7, 39):
        value, variance = part.sum_moments(np.eye(40)[cell])
        assert value == pytest.approx(means[cell])
        assert variance == pytest.approx(variances[cell], rel=1e-6)
    assert part.sum_moments(np.ones(40)) == pytest.approx((held.sum(), 0.0), abs=1e-6)
    points, shares = part.points(slice(None))
    np.testing.assert_allclose((points * shares).sum(axis=1), means, rtol=0.05, atol=1e-6)


def test_the_slowest_vectors_give_the_covariance_of_the_ground():
    ground = Ordered(apart=1).ground(60)
    slow = SlowGround.of(ground)
    strength = ground.strengths[0]
    exact = np.linalg.inv(strength * ground.penalties[0].toarray() + np.diag(ground.ridge))
    found = (slow.vectors / (strength * slow.eigenvalues + 1)) @ slow.vectors.T
    np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-9)


def test_many_cells_find_the_same_vectors_by_iteration(monkeypatch):
    ground = Ordered().ground(200)
    monkeypatch.setattr("localdp.structures.through_channel.SLOWEST", 30)
    direct = SlowGround.of(ground)
    monkeypatch.setattr("localdp.structures.through_channel._SMALL", 10)
    iterated = SlowGround.of(ground)
    np.testing.assert_allclose(iterated.eigenvalues, direct.eigenvalues, rtol=1e-6, atol=1e-6)
    both = [(slow.vectors / (slow.eigenvalues + 1)) @ slow.vectors.T for slow in (direct, iterated)]
    np.testing.assert_allclose(both[1], both[0], rtol=1e-5, atol=1e-6)
