"""Posteriors that know the sum of all frequencies: against a sum over all ways to divide the users."""

from __future__ import annotations

import numpy as np
import pytest

import localdp as ldp
from localdp.calibrate.posterior import Posterior
from localdp.priors import CellPrior, Cells, Noise

PRIORS = ("smooth", "bulk", "auto")
N = 30


def _estimate(truth, epsilon, mechanism="oue", seed=1):
    return ldp.Plan(truth.size, mechanism, epsilon).simulate(truth, seed=seed).estimate()


def _moments(posterior):
    """The sums over all items of the posterior means, variances and third central moments."""
    sums = np.zeros(3)
    for _, weights, start in posterior._weights(posterior.estimates):
        k = posterior.nodes[start : start + weights.shape[1]]
        means = weights @ k
        away = k - means[:, None]
        sums += [means.sum(), (weights * away**2).sum(), (weights * away**3).sum()]
    return sums


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("mechanism", ["oue", "grr"])
@pytest.mark.parametrize("d", [60, 3_000])
def test_means_add_up_to_the_total_except_for_their_skewness(prior, mechanism, d):
    """The other items count as Gaussian. Their skewness is left out, so the sum misses the total by

    -K (1 - missing^2/V) / (2V), to first order, where K is the sum of the third central moments of all posteriors.
    """
    truth = np.random.default_rng(d).poisson(np.random.default_rng(0).gamma(1.0, 300.0, d))
    found = _estimate(truth, 2.0, mechanism).calibrate(prior)
    mean, variance, third = _moments(Posterior(found.prior, found.noise, found.estimates))
    missing, deviation = truth.sum() - mean, np.sqrt(variance)
    expected = -third / (2 * variance) * (1 - missing**2 / variance)
    assert found.frequencies.sum() - truth.sum() == pytest.approx(expected, abs=0.03 * deviation)


@pytest.mark.parametrize("prior", PRIORS)
def test_means_of_three_items_nearly_add_up(prior):
    truth = np.array([180, 323, 40])
    found = _estimate(truth, 2.0).calibrate(prior)
    deviation = np.sqrt((found.std**2).sum())
    assert abs(found.frequencies.sum() - truth.sum()) < 0.3 * deviation


def test_a_lone_item_holds_everybody():
    cells = Cells(np.arange(N + 1.0))
    prior = CellPrior("flat", N, cells=cells, log_masses=np.full(N + 1, -np.log(N + 1)))
    for estimate in (-50.0, 12.0, 90.0):
        found = Posterior(prior, Noise(100.0), np.array([estimate]), total=float(N))
        limit = 6 * Posterior(prior, Noise(100.0), np.array([estimate])).deviations()[0]
        if abs(N - estimate) < limit:
            assert found.means()[0] == pytest.approx(N, abs=0.2)
        assert 0 <= found.means()[0] <= N


@pytest.mark.filterwarnings("ignore::localdp.errors.DoubtfulEstimateWarning")
@pytest.mark.parametrize("prior", PRIORS)
def test_without_a_total_every_item_has_its_own_posterior(prior):
    values = np.array([5.0, 9.0, 40.0, -3.0] * 20)
    fitted = ldp.Estimate(values, n=2_000, variance=25.0).calibrate(prior).prior
    found = ldp.Estimate(values, n=2_000, variance=25.0, total=None).calibrate(fitted)
    k = np.arange(2_001.0)
    logs = fitted.log_mass(np.maximum(k, fitted.first))
    if fitted.first > 0:
        logs[0] = fitted.zero
    logs = logs + Noise(25.0).log_likelihood(values[:4], k)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    assert found.frequencies[:4] == pytest.approx(weights @ k / weights.sum(axis=1), rel=1e-3, abs=1e-3)
    assert found.total is None


@pytest.mark.parametrize("prior", ["power-law", "gaussian", "laplace", "poisson", ldp.Fixed([0, 10, 500])])
def test_the_papers_families_and_known_distributions_do_not_use_the_total(prior):
    truth = np.random.default_rng(0).poisson(90, 200)
    values = truth + np.random.default_rng(1).normal(0, 20, 200)
    found = ldp.Estimate(values, n=int(truth.sum()), variance=400.0).calibrate(prior)
    free = ldp.Estimate(values, n=int(truth.sum()), variance=400.0, total=None).calibrate(found.prior)
    assert found.total is None
    assert np.array_equal(found.frequencies, free.frequencies)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("d", [20, 400])
def test_the_order_of_the_items_does_not_matter(prior, d):
    truth = np.random.default_rng(0).zipf(1.6, d).clip(0, 3_000)
    values = truth + np.random.default_rng(1).normal(0, 8, d)
    order = np.random.default_rng(2).permutation(d)
    once, again = (
        ldp.Estimate(some, n=int(truth.sum()), variance=64.0).calibrate(prior) for some in (values, values[order])
    )
    assert again.frequencies == pytest.approx(once.frequencies[order], rel=1e-6, abs=1e-6)
    assert again.interval()[1] == pytest.approx(once.interval()[1][order], abs=1)
