"""Posteriors that know the sum of all frequencies: against a sum over all ways to divide the users."""

from __future__ import annotations

import numpy as np
import pytest

import localdp as ldp
from localdp.calibrate.known_total import FARTHEST
from localdp.calibrate.posterior import Posterior
from localdp.priors import CellPrior, Cells, Noise

PRIORS = ("smooth", "bulk", "auto")
N = 30


def _estimate(truth, epsilon, mechanism="oue", seed=1):
    return ldp.Plan(truth.size, mechanism, epsilon).simulate(truth, seed=seed).estimate()


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("mechanism", ["oue", "grr"])
@pytest.mark.parametrize("d", [60, 3_000])
def test_means_add_up_to_the_total(prior, mechanism, d):
    truth = np.random.default_rng(d).poisson(np.random.default_rng(0).gamma(1.0, 300.0, d))
    found = _estimate(truth, 2.0, mechanism).calibrate(prior)
    assert found.frequencies.sum() == pytest.approx(truth.sum(), rel=1e-6)


@pytest.mark.parametrize("by_item", [False, True])
def test_means_of_equal_items_add_up_to_the_total(by_item):
    """Their posteriors are skewed: a pull as for Gaussian ones leaves out 0.3% of the users."""
    truth = np.random.default_rng(1).multinomial(20_000, np.full(200, 1 / 200))
    estimate = _estimate(truth, 1.0)
    if by_item:
        variances = estimate.variance * np.where(np.arange(200) % 2, 1.0, 1.5)
        estimate = ldp.Estimate(estimate.frequencies, n=20_000, variance=variances)
    found = estimate.calibrate(warn=False)
    assert found.frequencies.sum() == pytest.approx(20_000, rel=1e-6)


def test_a_total_that_contradicts_the_estimates_pulls_no_harder_than_its_limit():
    values = np.full(200, 50.0)
    without = ldp.Estimate(values, n=20_000, variance=25.0, total=None).calibrate("smooth", warn=False)
    reach = FARTHEST * np.sqrt((without.std**2).sum())
    found = Posterior(
        without.prior, without.noise, without.estimates, total=float(without.frequencies.sum() + 100 * reach)
    )
    assert 0 < found.means().sum() - without.frequencies.sum() < 1.5 * reach


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
