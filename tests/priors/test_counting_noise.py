"""The exact law of counted reports: against the sum over both binomials, at its limits, and where it matters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import localdp as ldp
from localdp.priors import CountingNoise, Noise


def _exact(c, k, n, p, q):
    """Pr(c | k) for every k: the sum over the holders who support the item."""
    own = np.arange(c + 1)
    return np.array([binom.pmf(own, held, p) @ binom.pmf(c - own, n - held, q) for held in k])


def _posterior(logs):
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def _found(noise, counts, k):
    estimates = (np.asarray(counts, np.float64) - noise.users * noise.q) / (noise.p - noise.q)
    return noise.log_likelihood(estimates, k)


# The number of users, p*, q*, and how far posteriors may be from the exact ones (total variation).
LAWS = {
    "many by chance": (1_000, 0.5, 0.2, 1e-4),
    "20 by chance": (1_000, 0.5, 0.02, 1e-3),
    "2 by chance": (1_000, 0.5, 0.002, 5e-3),
    "a half by chance": (1_000, 0.5, 0.0005, 0.02),
    "a hundredth by chance": (1_000, 0.5, 1e-5, 1e-3),
    "none by chance": (1_000, 0.5, 0.0, 1e-9),
    "five users": (5, 0.6, 0.3, 5e-3),
    "one user": (1, 0.6, 0.3, 1e-9),
}


@pytest.mark.parametrize(("n", "p", "q", "most"), LAWS.values(), ids=LAWS)
def test_posteriors_are_those_of_the_sum_over_both_binomials(n, p, q, most):
    noise, k = CountingNoise.of(n, p, q), np.arange(min(n, 60) + 1.0)
    for count in sorted({0, 1, 2, 3, 8, min(15, n)} & set(range(n + 1))):
        found, exact = (_posterior(_found(noise, [count], k)[0]), _exact(count, k, n, p, q))
        assert 0.5 * np.abs(found - exact / exact.sum()).sum() <= most, count


def test_gaussian_noise_would_not_pass_where_few_reports_come_by_chance():
    n, p, q = 1_000, 0.5, 0.002
    noise, k = CountingNoise.of(n, p, q), np.arange(61.0)
    gaussian = Noise(noise.variance, noise.excess)
    exact = _exact(8, k, n, p, q)
    found = _posterior(gaussian.log_likelihood(np.array([(8 - n * q) / (p - q)]), k)[0])
    assert 0.5 * np.abs(found - exact / exact.sum()).sum() > 0.02


@pytest.mark.parametrize("q", [0.0, 1e-6, 0.002, 0.3])
def test_no_report_at_all_has_its_exact_probability(q):
    """With c = 0 the formula is exact: (1-p)^k (1-q)^(n-k), up to what is the same for all k."""
    n, p, k = 400, 0.6, np.arange(0.0, 101.0)
    found = _found(CountingNoise.of(n, p, q), [0], k)[0]
    exact = k * np.log1p(-p) + (n - k) * np.log1p(-q)
    assert found - found[0] == pytest.approx(exact - exact[0], rel=1e-4)


def test_all_reports_have_their_exact_probability():
    n, p, q, k = 40, 0.6, 0.3, np.arange(41.0)
    found = _found(CountingNoise.of(n, p, q), [n], k)[0]
    assert found - found[0] == pytest.approx(k * np.log(p / q))


@pytest.mark.parametrize(("n", "p", "q"), [(500, 0.5, 0.1), (500, 0.5, 0.002), (500, 0.5, 1e-5), (500, 0.5, 0.0)])
def test_a_larger_count_always_speaks_for_more_holders(n, p, q):
    k = np.arange(80.0)
    logs = _found(CountingNoise.of(n, p, q), np.arange(61), k)
    means = [float(_posterior(row) @ k) for row in logs]
    assert np.isfinite(logs[0]).all()
    assert (np.diff(means) > 0).all()
    if q >= 0.002:  # the ratio of any two likelihoods grows with the count
        assert (np.diff(logs[:, 40] - logs[:, 5]) > 0).all()


def test_counts_that_are_impossible_are_taken_as_the_nearest_possible():
    noise, k = CountingNoise.of(100, 0.5, 0.02), np.arange(50.0)
    assert np.array_equal(noise.log_likelihood(np.array([-1e9]), k), _found(noise, [0], k))
    assert np.isfinite(noise.log_likelihood(np.array([1e9]), k)).all()


def test_mean_and_variance_are_those_of_the_mechanism():
    noise = CountingNoise.of(1_000, 0.5, 0.1)
    assert noise.variance == pytest.approx(1_000 * 0.09 / 0.16)
    assert noise.variance_at(np.array([200.0]))[0] == pytest.approx((800 * 0.09 + 200 * 0.25) / 0.16)
    assert noise.spacing == pytest.approx(2.5)
    assert noise.lowest == pytest.approx(-250)


def test_it_matters_for_few_chance_reports_and_for_many_items():
    assert CountingNoise.of(1_000, 0.5, 0.002).matters(100)
    assert not CountingNoise.of(10**9, 0.5, 0.3).matters(10**6)
    between = CountingNoise.of(10**6, 0.5, 0.1)
    assert between.matters(10**8)
    assert not between.matters(2)
    assert CountingNoise.of(1_000, 0.5, 0.0).matters(10)
    assert not CountingNoise.of(1_000, 1.0, 0.1).matters(10)


def test_calibrate_uses_it_where_it_matters():
    few = ldp.Estimate.from_counts([9, 1, 3, 0], n=30, p_star=0.5, q_star=0.05).calibrate("smooth")
    assert isinstance(few.noise, CountingNoise)
    counts = np.random.default_rng(0).binomial(10**8, 0.3, 4) + np.array([0, 0, 0, 2 * 10**7])
    many = ldp.Estimate.from_counts(counts, n=10**8, p_star=0.5, q_star=0.3).calibrate("smooth")
    assert type(many.noise) is Noise


@pytest.mark.filterwarnings("ignore::localdp.errors.DoubtfulEstimateWarning")
@pytest.mark.parametrize("counts", [[1, 0], [0, 0], [1, 1]])
@pytest.mark.parametrize(("p", "q"), [(0.6, 0.3), (0.9, 1e-9), (0.5, 0.0), (1.0, 0.2), (1.0, 0.0)])
def test_one_user_gives_finite_results(counts, p, q):
    found = ldp.Estimate.from_counts(counts, n=1, p_star=p, q_star=q).calibrate()
    assert np.isfinite(found.frequencies).all()
    assert np.isfinite(found.std).all()
    assert (found.frequencies >= 0).all()
    assert (found.frequencies <= 1).all()


def test_two_items_whose_estimates_add_up_say_as_much_as_one_of_them():
    plan = ldp.Plan(2, "grr", 3.0)
    noise = CountingNoise.of(2_000, float(plan.mechanism.p_star), float(plan.mechanism.q_star))
    k = np.arange(1_200.0, 1_500.0)
    one = noise.log_likelihood(np.array([1_333.0]), k)[0]
    each = noise.widened(2)
    both = each.log_likelihood(np.array([1_333.0]), k)[0] + each.log_likelihood(np.array([667.0]), 2_000 - k)[0]
    np.testing.assert_allclose(both - both.max(), one - one.max(), atol=1e-9)


def test_calibrate_counts_no_information_twice_where_estimates_add_up_by_themselves():
    # grr with two items: the posterior's deviation is the standard error, not 0.7 of it.
    estimate = ldp.Plan(2, "grr", 3.0).simulate([1_333, 667], seed=1).estimate()
    low, high = estimate.calibrate().interval(0.9)
    assert float(high[0] - low[0]) == pytest.approx(2 * 1.645 * estimate.std_error, rel=0.1)
