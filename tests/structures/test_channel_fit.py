"""The posterior through a channel: compressed counts, and a second route to the same numbers."""

import numpy as np
import pytest

from localdp.mechanisms import SquareWave
from localdp.structures import Ordered
from localdp.structures.calibration import _start, channel_calibration
from localdp.structures.compressed import Compressed
from localdp.structures.likelihood import ChannelLikelihood
from localdp.structures.ordered import KNOTS_OF_TURNS
from localdp.structures.posterior import bounded_interval
from localdp.structures.through_channel import MORE_DOUBT, ChannelPart, SlowGround


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
    slow, start, total = SlowGround.of(ground, 40), _start(ground, float(held.sum())), float(held.sum())
    part = ChannelPart(Compressed.of(likelihood), slow, start, ground.strengths[0], 0.0, np.zeros(40), start)
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
    slow, start = SlowGround.of(ground, 40), _start(ground, float(held.sum()))
    part = ChannelPart(Compressed.of(likelihood), slow, start, ground.strengths[0], 0.3, np.full(40, 0.1), start)
    means, variances = part.moments
    for cell in (0, 7, 39):
        value, variance = part.sum_moments(np.eye(40)[cell])
        assert value == pytest.approx(means[cell])
        assert variance == pytest.approx(variances[cell], rel=1e-6)
    assert part.sum_moments(np.ones(40)) == pytest.approx((held.sum(), 0.0), abs=1e-6)
    points, shares = part.points(slice(None))
    np.testing.assert_allclose((points * shares).sum(axis=1), means, rtol=0.05, atol=1e-6)


def test_moments_are_those_of_the_gaussian_model_written_out(seen):
    """Around its own mode, a part is a Gaussian given what was observed: the same with full matrices."""
    ground, total = Ordered(apart=1).ground(40), float(seen[1].sum())
    compressed, slow, start = Compressed.of(seen[0]), SlowGround.of(ground, 39), _start(ground, total)
    own = np.where(np.arange(40) == 12, 2.0, 0.0)
    part = ChannelPart(compressed, slow, start, ground.strengths[0], 0.7, own, start)
    x, moves = part.ground, np.zeros((40, 38))
    for place in range(38):
        people = 0.7 * np.sqrt(x[place] * x[place + 1])
        moves[place, place], moves[place + 1, place] = -people, people
    by_logs = np.diag(x) - np.outer(x, x) / total
    smooth = np.linalg.inv(ground.strengths[0] * ground.penalties[0].toarray() + np.diag(ground.ridge))
    prior = by_logs @ (smooth + np.diag(own + 1 / x)) @ by_logs + moves @ moves.T
    directions = compressed.directions
    gain = prior @ directions.T @ np.linalg.inv(directions @ prior @ directions.T + compressed.noise)
    left = prior - gain @ directions @ prior
    for weights in (np.arange(40) < 17, np.arange(40.0), np.eye(40)[12], np.eye(40)[39]):
        doubt = MORE_DOUBT if np.count_nonzero(weights) > 1 else 1.0
        assert part.sum_moments(weights * 1.0)[1] == pytest.approx(doubt * (weights @ left @ weights), rel=1e-5)
    np.testing.assert_allclose(part.moments[1], np.diag(left), rtol=1e-5)
    expected = x + gain @ (compressed.values - directions @ (x - by_logs @ (part.eta - start)))
    expected -= by_logs @ (part.eta - start)
    np.testing.assert_allclose(part.unbounded, expected, atol=0.01 * x.mean())


def test_ranges_of_a_comb_hold():
    """Values in fives on single cells. Where nobody may have moved, 0.78 of these intervals hold, and 0.98 otherwise.

    Of 160 intervals that hold with a probability of at least 0.95, in 8 groups that go together, fewer than 0.85 hold
    with a probability below 1e-3.
    """
    mechanism, rng = SquareWave(120, 3.0), np.random.default_rng(5)
    shares = np.where(np.arange(120) % 5 == 0, np.exp(-0.5 * ((np.arange(120) - 50) / 22) ** 2), 0.0)
    channel, inside = mechanism._outcome_law.T, []
    for seed in range(8):
        held = rng.multinomial(200_000, shares / shares.sum())
        counts = mechanism.simulate(held, seed).astype(float)
        posterior = channel_calibration(Ordered(), counts, channel).posterior
        for _ in range(20):
            low, high = np.sort(rng.choice(120, 2, replace=False))
            weights = ((np.arange(120) >= low) & (np.arange(120) <= high)) * 1.0
            found = posterior.linear(weights, 0.9)
            inside.append(found.low - 0.5 <= weights @ held <= found.high + 0.5)
    assert np.mean(inside) > 0.85


def test_the_slowest_vectors_give_the_covariance_of_the_ground():
    ground = Ordered(apart=1).ground(60)
    slow = SlowGround.of(ground, 59)
    strength = ground.strengths[0]
    exact = np.linalg.inv(strength * ground.penalties[0].toarray() + np.diag(ground.ridge))
    found = (slow.vectors / (strength * slow.eigenvalues + 1)) @ slow.vectors.T
    np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-9)


def test_many_cells_find_the_same_vectors_by_iteration(monkeypatch):
    ground = Ordered().ground(200)
    monkeypatch.setattr("localdp.structures.through_channel.SLOWEST", 30)
    direct = SlowGround.of(ground, 200)
    monkeypatch.setattr("localdp.structures.through_channel._SMALL", 10)
    iterated = SlowGround.of(ground, 200)
    np.testing.assert_allclose(iterated.eigenvalues, direct.eigenvalues, rtol=1e-6, atol=1e-6)
    both = [(slow.vectors / (slow.eigenvalues + 1)) @ slow.vectors.T for slow in (direct, iterated)]
    np.testing.assert_allclose(both[1], both[0], rtol=1e-5, atol=1e-6)


def test_the_smoothest_ground_leaves_normal_curves_free():
    """Its limit is a normal distribution, so squares of the place cost nothing, and cubes do."""
    smooth, steps, turning = Ordered(apart=1).channel_grounds(60)
    assert (smooth.coefficients, steps.coefficients) == (60, 60)
    place = np.append(np.arange(59) / 58, 0.0)
    penalty = turning.penalties[0].toarray()
    assert abs(place**2 @ penalty @ place**2) < 1e-12
    assert place**3 @ penalty @ place**3 > 1e-8
    assert Ordered().channel_grounds(2000)[2].coefficients == KNOTS_OF_TURNS


def test_compressed_counts_keep_the_cells_that_hold_people():
    """Nearly without noise, a comb is found again: the numbers kept were once those of its empty cells."""
    held = np.where(np.arange(256) % 3 == 0, 300, 0)
    mechanism = SquareWave(256, 8.0)
    counts = mechanism.simulate(held, 1).astype(float)
    posterior = channel_calibration(Ordered(), counts, mechanism._outcome_law.T).posterior
    away = np.abs(np.cumsum(posterior.means()) - np.cumsum(held)).max() / held.sum()
    assert away < 0.005


@pytest.mark.parametrize(
    ("value", "variance", "bounds"),
    [(0.02, 0.0195, (0.0, 1.0)), (0.98, 0.0195, (0.0, 1.0)), (0.01, 1.0, (0.0, np.inf)), (-0.01, 1.0, (-np.inf, 0.0))],
)
def test_an_interval_next_to_a_bound_holds_the_mean(value, variance, bounds):
    low, high = bounded_interval(value, variance, 0.9, *bounds)
    assert bounds[0] <= low < value < high <= bounds[1]


def test_a_sum_that_seems_impossible_still_has_a_width():
    """Means are approximate: one beyond a bound says that the sum is near it, not that nothing is in doubt."""
    assert bounded_interval(-0.1, 0.04, 0.9, 0.0, 1.0) == pytest.approx((0.0, 0.329), abs=1e-3)
    assert bounded_interval(1.1, 0.04, 0.9, 0.0, 1.0) == pytest.approx((0.671, 1.0), abs=1e-3)
    assert bounded_interval(1.1, 0.0, 0.9, 0.0, 1.0) == (1.0, 1.0)
