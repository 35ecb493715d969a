"""Theorem 1: under the true prior, no estimator has a smaller mean squared error than the posterior mean.

Errors are exact expectations, not samples: for every frequency k, the squared error is integrated over the noise by
Gauss-Legendre panels and averaged under the prior. Nothing is random here, so there are no false alarms.
"""

from __future__ import annotations

import numpy as np
import pytest

import localdp as ldp
from localdp.calibrate.posterior import Posterior
from localdp.kernels.quadrature import panels
from localdp.priors import Noise, Observations

N = 400
K = np.arange(N + 1.0)
PRIORS = {
    "power-law": ldp.PowerLaw().member(np.array([1.6]), N),
    "gaussian": ldp.Gaussian().member(np.array([-20.0, np.log(60.0)]), N),
    "laplace": ldp.Laplace().member(np.array([90.0, np.log(25.0)]), N),
    "poisson": ldp.Poisson().member(np.array([np.log(50.0)]), N),
    "levels": ldp.Fixed([0, 40, 300], [0.7, 0.2, 0.1]).fit(Observations(np.zeros(2), Noise(1.0), N, N)),
}
NOISES = {"equal noise": Noise(25.0**2), "growing noise": Noise(20.0**2, 3.0)}


class Setting:
    """A prior and a noise: nodes x for integrals over the estimate, and the joint density of frequency and estimate."""

    def __init__(self, prior, noise):
        self.prior, self.noise = prior, noise
        reach = 12 * float(np.sqrt(noise.variance_at(np.array(float(N)))))
        # Far below 0 the posterior clips estimates where noise grows; hardly any density is there.
        low = max(-reach, -noise.variance / noise.excess) if noise.excess else -reach
        nodes = panels(np.linspace(low, N + reach, 600), 8)
        self.x = nodes.nodes
        lowest = 0 if prior.atoms else prior.first
        mass = np.exp(prior.log_mass(np.maximum(K, lowest))) * (np.arange(N + 1) >= lowest)
        density = np.exp(noise.log_likelihood(self.x, K)) / np.sqrt(2 * np.pi)
        self.joint = density * (mass / mass.sum()) * nodes.weights[:, None]

    def error(self, estimates):
        """The expected squared error of an estimator, given as its value at every x."""
        return float((self.joint * (estimates[:, None] - K) ** 2).sum())

    def distance(self, one, other):
        """The expected squared distance of two estimators."""
        return float(self.joint.sum(axis=1) @ (one - other) ** 2)

    def posterior(self, prior=None, noise=None):
        return Posterior(prior or self.prior, noise or self.noise, self.x)


@pytest.fixture(params=[(prior, noise) for prior in PRIORS for noise in NOISES], ids="-".join)
def setting(request):
    prior, noise = request.param
    return Setting(PRIORS[prior], NOISES[noise])


def _others(setting):
    """Other estimators, by name."""
    x, best = setting.x, setting.posterior().means()
    yield "raw", x
    for factor in (0.0, 0.2, 0.5, 0.8, 0.95, 1.05):
        yield f"raw shrunk by {factor}", factor * x
    mean = float(setting.joint.sum(axis=0) @ K)
    for factor in (0.0, 0.3, 0.6, 0.9):
        yield f"shrunk to the mean by {factor}", mean + factor * (x - mean)
    for threshold in (0.0, 25.0, 60.0, 120.0):
        yield f"zero below {threshold}", np.where(x > threshold, x, 0.0)
        yield f"soft threshold {threshold}", np.maximum(x - threshold, 0.0)
    yield "clipped to 0..n", np.clip(x, 0, N)
    for level in (0.25, 0.5, 0.75):
        yield f"posterior quantile {level}", setting.posterior().quantiles(level)
    yield "most probable frequency", K[np.argmax(setting.joint, axis=1)]
    for name, prior in PRIORS.items():
        if prior is not setting.prior:
            yield f"posterior mean under {name}", setting.posterior(prior).means()
    for factor in (0.25, 4.0):
        wrong = Noise(factor * setting.noise.variance, setting.noise.excess)
        yield f"posterior mean under {factor} times the noise", setting.posterior(noise=wrong).means()
    for factor in (0.98, 1.02):
        yield f"posterior mean times {factor}", factor * best
    for shift in (-1.0, 1.0):
        yield f"posterior mean and {shift}", best + shift
    for period in (5.0, 40.0, 200.0):
        yield f"posterior mean with a wave of {period}", best + np.sin(x / period)
    yield "rounded posterior mean", best.round()


def test_no_other_estimator_is_better_than_the_posterior_mean(setting):
    best = setting.posterior().means()
    least = setting.error(best)
    found = {name: setting.error(other) for name, other in _others(setting)}
    assert len(found) > 30
    assert {name: error for name, error in found.items() if error <= least} == {}


def test_every_other_estimator_loses_by_its_distance_from_the_posterior_mean(setting):
    """The error of an estimator g is that of the posterior mean m plus E(g - m)^2: what the proof rests on."""
    best = setting.posterior().means()
    least = setting.error(best)
    for name, other in _others(setting):
        assert setting.error(other) == pytest.approx(least + setting.distance(other, best), rel=1e-6), name


def test_the_expectations_are_complete(setting):
    """All of the probability lies at the nodes, except what the clipping of estimates far below 0 leaves out."""
    assert setting.joint.sum() == pytest.approx(1, abs=1e-6 if setting.noise.excess == 0 else 1e-2)
