"""The mean-variance method: fitted priors have the wanted moments, by plain sums over all frequencies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import localdp as ldp
from localdp.errors import InvalidInputError
from localdp.priors import Noise, Observations
from localdp.priors.fitting.moments import _bisected, moments

FAMILIES = [ldp.Gaussian(), ldp.Laplace()]
PAPER = [ldp.PowerLaw, ldp.Gaussian, ldp.Laplace, ldp.Poisson]


def _observations(mean, variance, n, noise=4.0):
    """Estimates with exactly this spread, and about this mean: half lie above the mean and half below."""
    d = max(2, 2 * round(n / mean / 2))
    away = np.sqrt(variance + noise) * np.where(np.arange(d) % 2, 1.0, -1.0)
    return Observations(n / d + away, Noise(noise), n, n)


def _brute_force(prior):
    """The total, mean and variance by a sum over every frequency."""
    k = np.arange(prior.n + 1.0)
    mass = np.exp(prior.log_mass(np.maximum(k, prior.first))) * (k >= prior.first)
    mean = mass @ k / mass.sum()
    return mass.sum(), mean, mass @ (k - mean) ** 2 / mass.sum()


REACHABLE = [
    (55, 100, 900_000),  # far from both ends
    (55, 2_000, 900_000),  # cut off at 0
    (55, 3_000, 900_000),  # nearly geometric
    (1_000, 200**2, 300_000),
    (5_000, 4_900**2, 200_000),
    (5_000, 3_000**2, 20_000),  # cut off at both ends
    (50, 500, 100),  # a mean of n/2
    (2, 0.8, 1_000),  # hardly more than one whole number
]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@pytest.mark.parametrize(("mean", "variance", "n"), REACHABLE)
def test_fitted_moments_are_the_wanted_ones(family, mean, variance, n):
    prior = family.fit(_observations(mean, variance, n), "mean-variance")
    total, found_mean, found_variance = _brute_force(prior)
    assert total == pytest.approx(1, abs=1e-6)
    assert found_mean == pytest.approx(n / round(n / mean), rel=1e-6)
    assert found_variance == pytest.approx(variance, rel=2e-6)
    assert prior.notes == ()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@pytest.mark.parametrize(("mean", "n"), [(55, 900_000), (0.5, 1_000), (50, 100), (5_000, 60_000)])
def test_frequencies_that_vary_too_much_get_the_geometric_member_and_a_note(family, mean, n):
    observations = _observations(mean, 50 * (mean + 1) ** 2, n)
    prior = family.fit(observations, "mean-variance")
    _, found_mean, found_variance = _brute_force(prior)
    assert f"vary more than any {family.name} distribution" in prior.notes[0]
    assert found_mean == pytest.approx(observations.mean, rel=1e-5)
    k = np.arange(n + 1.0)
    decay = prior.log_mass(np.array([1.0])) - prior.log_mass(np.array([0.0]))
    geometric = np.exp(decay * k)
    geometric /= geometric.sum()
    largest = geometric @ (k - geometric @ k) ** 2
    assert found_variance == pytest.approx(largest, rel=1e-4)
    assert np.abs(np.exp(prior.log_mass(k)) - geometric).max() < 1e-5 * geometric.max()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_equal_estimates_get_the_narrowest_member_with_the_known_mean(family):
    prior = family.fit(Observations(np.full(300, 7.3), Noise(4.0), 2_190, 2190), "mean-variance")
    _, mean, variance = _brute_force(prior)
    assert "no more than their noise" in prior.notes[0]
    assert mean == pytest.approx(7.3, rel=1e-9)
    assert variance < 0.6


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_items_that_hardly_anybody_holds_have_their_mean(family):
    observations = Observations(np.random.default_rng(0).normal(0, 3, 5_000), Noise(9.0), 50, 50)
    prior = family.fit(observations, "mean-variance")
    assert _brute_force(prior)[1] == pytest.approx(0.01, rel=1e-6)


@given(
    mean=st.floats(-2, 4.5).map(lambda power: 10.0**power),
    share=st.floats(0.01, 1.5),
    extra=st.floats(0.35, 6).map(lambda power: 10.0**power),
    family=st.sampled_from(FAMILIES),
)
@settings(max_examples=60, deadline=None)
def test_moments_are_matched_or_a_note_says_why_not(mean, share, extra, family):
    n = max(2, int(min(mean * extra, 3e10)))
    observations = _observations(mean, share * mean * (1 + mean), n)
    theta, notes = family.from_moments(observations)
    found_mean, found_variance = moments(family, theta, n)
    assert found_mean == pytest.approx(observations.mean, rel=1e-5)
    too_narrow = theta[1] <= np.log(0.5) + 1e-9
    assert found_variance == pytest.approx(observations.spread, rel=1e-5) or notes or too_narrow


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@pytest.mark.parametrize(("mean", "variance"), [(3e4, 2e4**2), (3e4, 0.99 * 3e4**2), (1.5e10, 8e9**2)])
def test_thirty_billion_users(family, mean, variance):
    theta, notes = family.from_moments(_observations(mean, variance, 30_000_000_000))
    assert moments(family, theta, 30_000_000_000) == pytest.approx((mean, variance), rel=1e-6)
    assert notes == ()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_both_ways_to_solve_the_equations_agree(family):
    theta, _ = family.from_moments(_observations(400, 300**2, 40_000))
    slowly = _bisected(family, 400.0, 300.0**2, 40_000, float(np.log(1e5)) if family.name == "gaussian" else 6.0)
    assert theta == pytest.approx(slowly, rel=1e-6)


def test_a_poisson_distribution_cut_off_at_n_has_the_known_mean():
    prior = ldp.Poisson().fit(Observations(np.array([9.0, 3.0]), Noise(4.0), 12, 12), "mean-variance")
    assert _brute_force(prior)[1] == pytest.approx(6, rel=1e-9)
    assert prior.parameters["level"] > 6.01


def test_retail_has_its_mean_under_every_family():
    retail = ldp.datasets.load("retail")
    estimate = ldp.Plan(retail.d, "oue", 4.0).simulate(retail.frequencies, seed=1).estimate()
    for kind in PAPER:
        prior = estimate.calibrate(kind()).prior
        assert _brute_force(prior)[1] == pytest.approx(retail.n / retail.d, rel=1e-5)


@pytest.mark.parametrize("method", ["mean-variance", "mle"])
@pytest.mark.parametrize(("location", "scale"), [(-600.0, 500.0), (100.0, 300.0), (900.0, 120.0)])
def test_a_gaussian_cut_off_at_zero_is_recovered(method, location, scale):
    """The tolerances are six standard errors or more over seeds, so the false-alarm rate is below 1e-6."""
    rng = np.random.default_rng(4)
    drawn = rng.normal(location, scale, 1_500_000)
    truth = drawn[drawn > -0.5].round()[:60_000]
    observations = Observations(
        truth + rng.normal(0, 50, truth.size), Noise(2_500.0), int(truth.sum()), int(truth.sum())
    )
    prior = ldp.Gaussian().fit(observations, method)
    k = np.arange(0.0, 6_000.0)
    expected = np.exp(-0.5 * ((k - location) / scale) ** 2)
    gap = np.abs(np.cumsum(expected / expected.sum()) - np.cumsum(np.exp(prior.log_mass(k)))).max()
    assert gap < 0.02


@pytest.mark.parametrize("method", ["mean-variance", "mle"])
def test_a_location_below_zero_calibrates_like_the_plain_sum(method):
    rng = np.random.default_rng(5)
    truth = rng.geometric(1 / 200, 4_000) - 1
    noise = Noise(80.0**2)
    estimates = truth + rng.normal(0, 80, truth.size)
    n = int(truth.sum())
    calibrated = ldp.Estimate(estimates, n=n, variance=noise.variance).calibrate("gaussian", method)
    assert calibrated.prior.parameters["location"] < 0
    k = np.arange(8_000.0)
    shown = np.sort(estimates)[:: truth.size // 50]
    logs = calibrated.prior.log_mass(k) + noise.log_likelihood(shown, k)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    exact = weights @ k / weights.sum(axis=1)
    assert np.sort(calibrated.frequencies)[:: truth.size // 50] == pytest.approx(exact, rel=1e-6)
    low, high = calibrated.interval(0.9)
    # 4,000 items: six standard errors of a share of 0.9 are 0.028, which fails by chance once in 1e9.
    assert np.mean((low <= truth) & (truth <= high)) == pytest.approx(0.9, abs=0.03)


def test_maximum_likelihood_is_not_worse_than_its_start():
    """The log-likelihood of the fit by maximum likelihood, on skewed frequencies that no Gaussian fits."""
    from localdp.priors.ranking import core_log_likelihood

    rng = np.random.default_rng(6)
    truth = np.minimum(rng.zipf(1.7, 5_000), 3_000)  # all of them in the core
    observations = Observations(truth + rng.normal(0, 100, truth.size), Noise(1e4), int(truth.sum()), int(truth.sum()))
    for family in (*FAMILIES, ldp.PowerLaw(), ldp.Poisson()):
        start, found = (
            core_log_likelihood(family.fit(observations, method), observations) for method in family.methods
        )
        assert found >= start - 1e-3


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_maximum_likelihood_under_overwhelming_noise_keeps_to_small_frequencies(family):
    """Noise a hundred thousand times as large as the mean says nothing; the fit must not follow its scale."""
    estimates = np.random.default_rng(8).normal(0, 5e6, 2_000)
    prior = family.fit(Observations.usable(estimates, Noise(25e12), 100_000, 100000), "mle")
    assert _brute_force(prior)[1] < 5_000


@pytest.mark.parametrize("kind", PAPER, ids=lambda kind: kind.name)
def test_the_mean_is_known_or_that_of_the_estimates(kind):
    rng = np.random.default_rng(7)
    estimates = rng.poisson(40, 500) + rng.normal(3, 5, 500)  # about 3 more than the known mean, on average
    observations = Observations(estimates, Noise(25.0), 500 * 40, 500 * 40)
    known, estimated = kind(), kind(mean="estimates")
    assert repr(known) == f"{kind.__name__}()"
    assert repr(estimated) == f"{kind.__name__}(mean='estimates')"
    assert _brute_force(known.fit(observations))[1] == pytest.approx(40, rel=1e-6)
    fitted = estimated.fit(observations)
    assert _brute_force(fitted)[1] == pytest.approx(estimates.mean(), rel=1e-6)
    assert "used as in Eq. 19; the known mean is 40" in fitted.notes[0]
    assert kind().fit(observations, "mle").notes == ()


@pytest.mark.parametrize("kind", PAPER, ids=lambda kind: kind.name)
@pytest.mark.parametrize("level", [-50.0, 1e6])
def test_a_mean_of_the_estimates_that_no_frequencies_have_is_replaced(kind, level):
    observations = Observations(np.array([level, level + 9.0, level - 9.0]), Noise(25.0), 600, 600)
    fitted = kind(mean="estimates").fit(observations)
    assert "so the nearest possible one" in fitted.notes[1]
    assert np.isfinite(fitted.log_mass(np.array([1.0, 300.0, 600.0]))).all()


def test_other_means_are_refused():
    with pytest.raises(InvalidInputError, match=r"is 'known' .* or that of the 'estimates', not 'median'"):
        ldp.PowerLaw(mean="median")
