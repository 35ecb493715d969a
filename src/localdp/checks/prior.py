"""What a prior must satisfy, once fitted: a distribution, an exact posterior, and the limits that any posterior has."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from localdp.calibrate.posterior import Posterior
from localdp.checks.failure import require
from localdp.priors import FittedPrior, Noise, Observations, Prior, prior_named
from localdp.types import Vector

_USERS = 6_000
_ITEMS = 1_000
_DEVIATIONS = (0.5, 5.0, 80.0)


def check_prior(prior: Prior | str, seed: int = 0) -> None:
    """Run every check on a prior family (or the name of one of ours); `CheckFailure` if one fails."""
    family = prior_named(prior) if isinstance(prior, str) else prior
    for check in PRIOR_CHECKS:
        check(family, seed)


def check_sums_to_one(family: Prior, seed: int = 0) -> None:
    """The mass of all frequencies is 1, to 1e-6."""
    for fitted, _ in _fits(family, seed):
        total = float(np.exp(logsumexp(_log_masses(fitted))))
        require(abs(total - 1) < 1e-6, f"the masses of {fitted!r} sum to {total}")


def check_posterior_mean(family: Prior, seed: int = 0) -> None:
    """The posterior mean is the sum over all frequencies, to a relative 1e-6, with constant and with growing noise."""
    rng = np.random.default_rng(seed)
    for fitted, noise in _fits(family, seed):
        log_masses, k = _log_masses(fitted), np.arange(_USERS + 1.0)
        deviation = noise.deviation
        some = rng.uniform(-9 * deviation, 25 * deviation, 120)
        x = np.concatenate([some, rng.uniform(0, _USERS, 30), rng.normal(0, deviation, 300)])
        x = x[x < fitted.largest + deviation]
        if fitted.feature is not None:
            x = x[np.abs(x - fitted.feature[0]) < 30 * (fitted.feature[1] + deviation)]
        for excess in (0.0, 1.0):
            varying = Noise(noise.variance, excess)
            x = x if excess == 0 else x[x >= 0]  # below zero, growing noise is not taken at its word
            found = Posterior(fitted, varying, x).expect()
            logs = log_masses + varying.log_likelihood(x[:, None], k)
            weights = np.exp(logs - logs.max(axis=1, keepdims=True))
            exact = weights @ k / weights.sum(axis=1)
            off = np.abs(found - exact) / np.maximum(exact, 1e-9)
            worst = int(np.argmax(off))
            require(
                off[worst] < 1e-6,
                f"{fitted!r} with deviation {deviation:g}: the posterior mean at {x[worst]:.6g} is "
                f"{exact[worst]:.10g}, not {found[worst]:.10g}",
            )


def check_monotone(family: Prior, seed: int = 0) -> None:
    """A larger estimate never gives a smaller calibrated frequency, and all lie in the support."""
    for fitted, noise in _fits(family, seed):
        x = np.sort(np.random.default_rng(seed).uniform(-8 * noise.deviation, min(_USERS, 60 * noise.deviation), 3_000))
        means = Posterior(fitted, Noise(noise.variance), x).expect()
        require(np.isfinite(means).all(), f"{fitted!r} gives a frequency that is not finite")
        require((means >= 0).all() and (means <= fitted.n).all(), f"{fitted!r} leaves the range 0..n")
        drop = float(np.max(means[:-1] - means[1:], initial=0.0))
        require(
            drop <= 1e-6 * max(1.0, float(means.max())), f"{fitted!r} decreases by {drop:g} where the estimate grows"
        )


def check_limits(family: Prior, seed: int = 0) -> None:
    """No noise gives the nearest frequency in the support back; boundless noise gives the mean of the prior."""
    fitted, _ = next(_fits(family, seed))
    masses = np.exp(_log_masses(fitted))
    mean = float(masses @ np.arange(masses.size) / masses.sum())
    x = np.array([-5.0, 0.2, 3.0, 700.4, 2.0 * _USERS])
    for variance in (1e30, np.inf):
        found = Posterior(fitted, Noise(variance), x).expect()
        require(
            np.allclose(found, mean, rtol=1e-3), f"{fitted!r} under boundless noise gives {found[0]:g}, not {mean:g}"
        )
    support = np.flatnonzero(np.isfinite(_log_masses(fitted)))
    nearest = np.array([support[np.argmin(np.abs(support - value))] for value in x])
    for variance in (0.0, 5e-324, 1e-9):
        found = Posterior(fitted, Noise(variance), x).expect()
        require(
            np.abs(np.abs(found - x) - np.abs(nearest - x)).max() < 1e-6,
            f"{fitted!r} without noise gives {found.tolist()} for {x.tolist()}",
        )


def check_equivariance(family: Prior, seed: int = 0) -> None:
    """Items are treated alike, whatever their order, and twice the same."""
    rng = np.random.default_rng(seed)
    for observations in _data(seed):
        once, again = (_calibrated(family, observations) for _ in range(2))
        require(np.array_equal(once, again), f"{family!r} gives other frequencies for the same estimates")
        order = rng.permutation(observations.d)
        shuffled = Observations(observations.estimates[order], observations.noise, observations.n)
        if family.name not in ("opt-in", "fixed"):
            require(
                np.allclose(_calibrated(family, shuffled), once[order], rtol=1e-6, atol=1e-6),
                f"{family!r} depends on the order of the items",
            )


def check_never_far_from_the_estimate(family: Prior, seed: int = 0) -> None:
    """Calibrating heavy-tailed frequencies does no harm where the noise is small beside them."""
    truth = synthetic_truth(seed)
    observations = next(_data(seed))
    heavy = truth > 200 * observations.noise.deviation
    if family.name in ("gaussian", "laplace", "poisson", "fixed"):
        return
    off = np.abs(_calibrated(family, observations) - observations.estimates)[heavy]
    require((off <= 6 * observations.noise.deviation).all(), f"{family!r} moves a frequent item by {off.max():g}")


PRIOR_CHECKS: tuple[Callable[[Prior, int], None], ...] = (
    check_sums_to_one,
    check_posterior_mean,
    check_monotone,
    check_limits,
    check_equivariance,
    check_never_far_from_the_estimate,
)


def synthetic_truth(seed: int = 0) -> NDArray[np.int64]:
    """Heavy-tailed frequencies of 1,000 items that sum to 6,000 users."""
    rng = np.random.default_rng(seed)
    shares = rng.pareto(1.1, _ITEMS) + 0.05
    return rng.multinomial(_USERS, shares / shares.sum())


def _data(seed: int) -> Iterator[Observations]:
    rng = np.random.default_rng(seed + 1)
    truth = synthetic_truth(seed)
    for deviation in _DEVIATIONS:
        estimates = truth + rng.normal(0, deviation, _ITEMS)
        yield Observations.usable(estimates, Noise(deviation**2), _USERS)


def _fits(family: Prior, seed: int) -> Iterator[tuple[FittedPrior, Noise]]:
    for observations in _data(seed):
        for method in family.methods:
            yield family.fit(observations, method), observations.noise


def _calibrated(family: Prior, observations: Observations) -> Vector:
    return Posterior(family.fit(observations), observations.noise, observations.estimates).expect()


def _log_masses(fitted: FittedPrior) -> Vector:
    """log p_f on every whole number 0..n."""
    k = np.arange(_USERS + 1.0)
    if fitted.atoms is not None:
        return fitted.log_mass(k)
    logs = fitted.log_mass(np.maximum(k, fitted.first))
    if fitted.first > 0:
        logs[0] = fitted.zero
    return logs
