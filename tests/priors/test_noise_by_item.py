"""Noise that differs by item: its classes, and priors fitted under it, beside direct sums over all items."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from localdp.priors import (
    NPMLE,
    Auto,
    Fixed,
    Gaussian,
    Noise,
    NoiseByItem,
    Observations,
    PowerLaw,
    Smooth,
    observations_of,
)
from localdp.priors.cells import Cells
from localdp.priors.fitting.noise_by_item import GOOD_ENOUGH
from localdp.priors.fitting.observations_by_item import ObservationsByItem
from localdp.priors.fitting.predictive import Predictive
from localdp.priors.ranking import core_log_likelihood

TWO = np.array([4.0, 900.0])


def _power_law(alpha, n, size, rng):
    mass = np.arange(1, n + 1) ** -alpha
    return rng.choice(np.arange(1.0, n + 1), size, p=mass / mass.sum())


def test_few_variances_are_classes_of_their_own():
    variances = np.array([9.0, 4.0, 4.0 * (1 + 1e-14), 0.1, 9.0])
    classes = NoiseByItem(variances, 0.5).classes(8)
    assert [part.items.tolist() for part in classes] == [[3], [1, 2], [0, 4]]
    assert [part.noise for part in classes[::2]] == [Noise(0.1, 0.5), Noise(9.0, 0.5)]


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e-7, 5e11])
def test_equal_variances_are_one_class_with_that_very_variance(value):
    (only,) = NoiseByItem(np.full(1_000, value)).classes(8)
    assert only.noise.variance == value
    assert only.items.size == 1_000


@pytest.mark.parametrize(("scatter", "most", "lost"), [(0.1, 32, GOOD_ENOUGH), (1.0, 32, 0.003), (1.0, 8, 0.04)])
def test_many_variances_lose_as_little_as_stated(scatter, most, lost):
    """An optimal quantizer of a normal distribution loses 0.0345 with 8 levels and 0.0025 with 32 (Max, 1960)."""
    variances = np.exp(np.random.default_rng(1).normal(3, scatter, 100_000))
    classes = NoiseByItem(variances).classes(most)
    assert len(classes) <= most
    assert np.array_equal(np.sort(np.concatenate([part.items for part in classes])), np.arange(variances.size))
    deltas = np.concatenate([np.log(variances[part.items] / part.noise.variance) for part in classes])
    assert np.mean(deltas**2) < lost * 1.05
    assert sum(part.noise.variance * part.items.size for part in classes) == pytest.approx(variances.sum())


def test_items_in_no_order_stay_with_their_variance():
    variances = np.exp(np.random.default_rng(2).normal(0, 2, 500))
    for part in NoiseByItem(variances).classes(16):
        own = variances[part.items]
        assert own.min() <= part.noise.variance <= own.max()
        assert own.max() / own.min() < 40


def test_one_class_is_observed_as_before():
    estimates = np.array([9.5, -2.0, 800.0])
    seen = observations_of(estimates, NoiseByItem(np.full(3, 16.0)), 900, 900)
    assert type(seen) is Observations
    assert seen.noise == Noise(16.0)


def test_the_likelihood_is_that_of_every_item_with_its_own_noise():
    """Direct sums over all frequencies, for two members of a family. Bins add 0.25% to the variance, no more."""
    rng, n = np.random.default_rng(3), 3_000
    truth = _power_law(1.6, n, 400, rng)
    variances = TWO[rng.integers(0, 2, truth.size)]
    estimates = truth + rng.normal(0, np.sqrt(variances))
    seen = observations_of(estimates, NoiseByItem(variances), n, None)
    assert isinstance(seen, ObservationsByItem)
    k, found, direct = np.arange(1.0, n + 1), [], []
    near = estimates <= seen.cut
    for alpha in (1.6, 2.5):
        prior = PowerLaw().member(np.array([alpha]), n)
        found.append(core_log_likelihood(prior, seen))
        logs = prior.log_mass(k) - 0.5 * (estimates[near, None] - k) ** 2 / variances[near, None]
        direct.append(np.log(np.exp(logs).sum(axis=1)).sum())
    assert found[1] - found[0] == pytest.approx(direct[1] - direct[0], rel=0.005)
    assert direct[1] - direct[0] < -20


def test_estimates_far_above_their_own_noise_stay_within_the_core_of_the_noisiest():
    """A hundredth of the items is exact: some are frequent, but below the core of the others. None may get lost."""
    rng = np.random.default_rng(4)
    variances = np.where(np.arange(2_000) % 100, 1e6, 1.0)
    estimates = np.where(np.arange(2_000) % 100, rng.normal(0, 1e3, 2_000), np.geomspace(1, 39_000, 2_000))
    seen = observations_of(estimates, NoiseByItem(variances), 10**6, None)
    assert seen.tail.size == 0
    points, counts = seen.binned
    assert counts.sum() == pytest.approx(2_000)
    assert counts @ points == pytest.approx(estimates.sum(), rel=1e-9, abs=1e-3)
    middles = Cells.of(seen).middles
    for rung in seen._rungs:  # some cell is near each point, beside the noise of its rung
        nearest = np.abs(middles - rung.binned[0][:, None])[rung.binned[0] >= 0].min(axis=1)
        assert nearest.max() < 0.6 * max(rung.noise.deviation, 1.0)


def test_the_ladder_keeps_sums_short_and_fine():
    variances = np.where(np.arange(100) % 2, 1.0, 1e10)
    seen = observations_of(np.linspace(-1e5, 4e6, 100), NoiseByItem(variances), 10**8, None)
    assert Cells.of(seen).ends.size < 5_000
    assert seen.quadrature(1).nodes.size < 5_000
    deviations = [deviation for deviation, _ in seen.scales]
    assert all(after > before for before, after in pairwise(deviations))


@pytest.mark.parametrize("alpha", [1.5, 2.2])
def test_a_power_law_is_recovered_from_mixed_noise(alpha):
    """Over 40 seeds, alpha has a deviation of 0.004 or 0.012: five of the larger ones."""
    rng, n = np.random.default_rng(5), 20_000
    truth = _power_law(alpha, n, 20_000, rng)
    variances = np.array([1.0, 100.0, 2_500.0])[rng.integers(0, 3, truth.size)]
    seen = observations_of(truth + rng.normal(0, np.sqrt(variances)), NoiseByItem(variances), n, None)
    assert PowerLaw().fit(seen, "mle").parameters["alpha"] == pytest.approx(alpha, abs=0.06)


def test_a_gaussian_is_recovered_from_mixed_noise():
    """Over 20 seeds, the location has a deviation of 0.6 and the scale one of 0.44: five of these."""
    rng, n = np.random.default_rng(6), 10**7
    truth = rng.normal(1_000, 30, 5_000).round()
    variances = np.exp(rng.normal(6, 1, truth.size))
    estimates = truth + rng.normal(0, np.sqrt(variances))
    seen = observations_of(estimates, NoiseByItem(variances), n, float(truth.sum()))
    assert seen.spread**0.5 == pytest.approx(30, abs=3)
    for method in ("mean-variance", "mle"):
        fitted = Gaussian().fit(seen, method)
        assert fitted.parameters["location"] == pytest.approx(1_000, abs=3)
        assert fitted.parameters["scale"] == pytest.approx(30, abs=2.2)


def test_levels_are_found_by_the_exact_items_and_used_for_the_noisy_ones():
    rng = np.random.default_rng(7)
    truth = np.where(np.arange(2_000) % 4, 50.0, 400.0)
    variances = np.where(np.arange(2_000) % 2, 25.0, 10_000.0)[rng.permutation(2_000)]
    estimates = truth + rng.normal(0, np.sqrt(variances))
    prior = NPMLE().fit(observations_of(estimates, NoiseByItem(variances), int(truth.sum()), None))
    k = np.arange(0.0, 1_000)
    mass = np.exp(prior.log_mass(k))
    near = (np.abs(k - 50) < 6) | (np.abs(k - 400) < 6)
    assert mass[near].sum() > 0.95


@pytest.mark.parametrize("family", [Smooth(), Auto()], ids=lambda family: family.name)
def test_all_classes_equal_but_for_a_hair_give_the_fit_of_one(family):
    """Two classes with nearly the same variance: the fit is nearly that of one class."""
    rng, n = np.random.default_rng(8), 20_000
    truth = _power_law(1.7, n, 1_500, rng)
    estimates = truth + rng.normal(0, 10, truth.size)
    split = NoiseByItem(np.where(np.arange(truth.size) % 2, 100.0, 100.0001))
    one = family.fit(Observations.usable(estimates, Noise(100.0), n, float(truth.sum())))
    two = family.fit(observations_of(estimates, split, n, float(truth.sum())))
    k = np.geomspace(1, 5_000, 30).round()
    # The bins of the two classes begin at different places, which moves estimates by a fraction of an eighth deviation.
    assert two.log_mass(k) == pytest.approx(one.log_mass(k), abs=0.03)


def test_the_predicted_distribution_is_the_average_over_the_items():
    variances = np.repeat([16.0, 400.0], [30, 10])
    prior = Fixed([10, 20]).fit(Observations(np.zeros(40), Noise(1.0), 30, None))
    x = np.array([-20.0, 5.0, 15.0, 31.0])
    mixed = Predictive.of(prior, NoiseByItem(variances))
    parts = [Predictive.of(prior, Noise(variance)).cdf(x) for variance in (16.0, 400.0)]
    assert mixed.cdf(x) == pytest.approx(0.75 * parts[0] + 0.25 * parts[1], abs=1e-15)
    rng = np.random.default_rng(9)
    drawn = np.array([np.subtract(*mixed.draw(40, rng)[::-1]) for _ in range(4_000)])
    # The standard deviation of a sample deviation is 1/sqrt(2 * 4000): five of these.
    assert drawn.std(axis=0) == pytest.approx(np.sqrt(variances), rel=5 / np.sqrt(8_000))
    assert mixed.draw(7, rng)[0].size == 7
