"""Checks of a prior: its definition, a proper distribution, an exact posterior, the limits of small and large noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from localdp.calibrate.posterior import Posterior
from localdp.checks.failure import require
from localdp.checks.prior_definition import require_family, require_fit
from localdp.priors import CellPrior, FittedPrior, Noise, Observations, Prior, prior_named
from localdp.types import Vector

_USERS = 6_000
_ITEMS = 1_000
_DEVIATIONS = (0.5, 5.0, 80.0)  # of the noise: much smaller than the frequencies, similar, and much larger


def check_prior(prior: Prior | str, seed: int = 0) -> None:
    """Run all checks on a prior family, or on one of the library's priors by its name.

    Raises `CheckFailure` at the first check that fails. The seed makes the data of the checks reproducible.
    """
    family = prior_named(prior) if isinstance(prior, str) else prior
    for check in PRIOR_CHECKS:
        check(family, seed)


def check_family(family: Prior, seed: int = 0) -> None:
    """The family must be complete, and its methods must return values of the types and shapes that the library needs.

    Catches what is forgotten or misunderstood: no name, a mass of 0/0 at frequency 0, a gradient that is not that of
    the formula.
    """
    require_family(family)
    for observations in _data(seed):
        for method in family.methods:
            require_fit(family, observations, method)


def check_sums_to_one(family: Prior, seed: int = 0) -> None:
    """The probabilities of all frequencies 0..n must sum to 1, within 1e-5.

    Catches a density with a wrong or missing normalising constant.
    """
    for fitted, _ in _fits(family, seed):
        total = float(np.exp(logsumexp(_log_masses(fitted))))
        require(
            abs(total - 1) < 1e-5,
            f"the probabilities of {fitted!r} sum to {total}; expected 1: subtract the logarithm of their sum in "
            "log_mass(), and look at `first` and `zero`, which say where frequency 0 gets its mass from",
        )


def check_posterior_mean(family: Prior, seed: int = 0) -> None:
    """The posterior mean must equal the plain sum over all frequencies, to a relative 1e-6.

    With `edges` it is 1e-5, since a panel that ends at a step, halfway between two whole numbers, differs from the sum
    over these by a 24th of the slope there; for priors in cells it is 1e-4.

    Catches nodes that are too coarse for this prior. It tries noise that is the same for all items, and noise that
    grows with the frequency.
    """
    rng = np.random.default_rng(seed)
    for fitted, noise in _fits(family, seed):
        log_masses, k = _log_masses(fitted), np.arange(_USERS + 1.0)
        deviation = noise.deviation
        around_zero = rng.uniform(-9 * deviation, 25 * deviation, 120)
        x = np.concatenate([around_zero, rng.uniform(0, _USERS, 30), rng.normal(0, deviation, 300)])
        x = x[x < fitted.largest + deviation]
        if fitted.feature is not None:
            centre, width = fitted.feature
            x = x[np.abs(x - centre) < 30 * (width + deviation)]
            x = np.append(x, rng.normal(centre, width + deviation, 100))
        for excess in (0.0, 1.0):
            varying = Noise(noise.variance, excess)
            x = x if excess == 0 else x[x >= 0]  # with growing noise, the posterior clips estimates far below zero
            found = Posterior(fitted, varying, x).means()
            logs = log_masses + varying.log_likelihood(x, k)
            weights = np.exp(logs - logs.max(axis=1, keepdims=True))
            exact = weights @ k / weights.sum(axis=1)
            off = np.abs(found - exact) / np.maximum(exact, 1e-9)
            worst = int(np.argmax(off))
            # A prior in cells has a small step at the end of each, and sums do not stop there.
            require(
                off[worst] < (1e-4 if isinstance(fitted, CellPrior) else 1e-5 if fitted.edges.size else 1e-6),
                f"{fitted!r} with noise of deviation {deviation:g}: for the estimate {x[worst]:.6g} the posterior mean "
                f"is {found[worst]:.10g}; the sum over all frequencies gives {exact[worst]:.10g}. The sums of the "
                "library step over something: set `edges` to where the mass function has a step or a kink, `feature` "
                "to the (centre, width) of a narrow bulk, or `atoms` if only a few frequencies have mass",
            )


def check_monotone(family: Prior, seed: int = 0) -> None:
    """A larger estimate must not give a smaller calibrated frequency, and all of them must lie in 0..n.

    Catches interpolation that oscillates, and numbers that overflow.
    """
    for fitted, noise in _fits(family, seed):
        x = np.sort(np.random.default_rng(seed).uniform(-8 * noise.deviation, min(_USERS, 60 * noise.deviation), 3_000))
        means = Posterior(fitted, Noise(noise.variance), x).means()
        require(np.isfinite(means).all(), f"{fitted!r} gives calibrated frequencies that are infinite or not numbers")
        require(
            (means >= 0).all() and (means <= fitted.n).all(),
            f"{fitted!r} gives calibrated frequencies from {means.min():g} to {means.max():g}; expected 0..{fitted.n}",
        )
        drop = float(np.max(means[:-1] - means[1:], initial=0.0))
        require(
            drop <= 1e-6 * max(1.0, float(means.max())),
            f"{fitted!r} gives a calibrated frequency that falls by {drop:g} while the estimate grows; expected it "
            "never to fall: set `edges` or `feature` as for the posterior mean",
        )


def check_limits(family: Prior, seed: int = 0) -> None:
    """Without noise the estimate must come back; with infinite noise, the mean of the prior.

    Catches divisions by zero and lost digits at extreme variances. "Comes back" means the nearest frequency that the
    prior holds possible.
    """
    fitted, _ = next(_fits(family, seed))
    masses = np.exp(_log_masses(fitted))
    mean = float(masses @ np.arange(masses.size) / masses.sum())
    x = np.array([-5.0, 0.2, 3.0, 700.4, 2.0 * _USERS])
    for variance in (1e30, np.inf):
        found = Posterior(fitted, Noise(variance), x).means()
        require(
            np.allclose(found, mean, rtol=1e-3),
            f"{fitted!r} with noise of variance {variance:g} gives the posterior mean {found[0]:g}; expected the mean "
            f"of the prior, {mean:g}: `largest` must be the largest frequency that has mass, and log_mass() must be "
            "good up to there",
        )
    possible = np.flatnonzero(np.isfinite(_log_masses(fitted)))
    nearest = np.array([possible[np.argmin(np.abs(possible - value))] for value in x])
    for variance in (0.0, 5e-324, 1e-9):
        found = Posterior(fitted, Noise(variance), x).means()
        require(
            np.abs(np.abs(found - x) - np.abs(nearest - x)).max() < 1e-6,
            f"{fitted!r} with noise of variance {variance:g} gives {found.tolist()} for the estimates {x.tolist()}; "
            f"expected the nearest possible frequencies, {nearest.tolist()}: a frequency without mass needs a log_mass "
            "of -inf",
        )


def check_equivariance(family: Prior, seed: int = 0) -> None:
    """The order of the items must not matter, and a second run must give the same result.

    Catches randomness and state that is kept between fits.
    """
    rng = np.random.default_rng(seed)
    for observations in _data(seed):
        once, again = (_calibrated(family, observations) for _ in range(2))
        require(
            np.array_equal(once, again),
            f"{family!r}, run twice on the same estimates, gives different frequencies: use no randomness without a "
            "fixed seed, and keep nothing on the family between fits",
        )
        order = rng.permutation(observations.d)
        shuffled = replace(observations, estimates=observations.estimates[order])
        require(
            np.allclose(_calibrated(family, shuffled), once[order], rtol=1e-6, atol=1e-6),
            f"{family!r} gives other frequencies when the items are in another order; expected the same, reordered: a "
            "prior says how many items have each frequency, not which",
        )


def check_never_far_from_the_estimate(family: Prior, seed: int = 0) -> None:
    """Items with frequencies far above the noise must keep their estimate, within six standard deviations.

    Catches a prior that has no room for frequent items and pulls them down. Priors with light tails do this by design
    and are not checked.
    """
    truth = synthetic_truth(seed)
    observations = next(_data(seed))
    heavy = truth > 200 * observations.noise.deviation
    if family.light_tails or family.fit(observations).feature is not None:
        return
    off = np.abs(_calibrated(family, observations) - observations.estimates)[heavy]
    most = 6 * observations.noise.deviation
    require(
        (off <= most).all(),
        f"{family!r} moves the estimate of a frequent item by {off.max():g}; expected {most:g} at most. Give the prior "
        "a heavier tail or, if it is meant for items around a level, set light_tails = True",
    )


PRIOR_CHECKS: tuple[Callable[[Prior, int], None], ...] = (
    check_family,
    check_sums_to_one,
    check_posterior_mean,
    check_monotone,
    check_limits,
    check_equivariance,
    check_never_far_from_the_estimate,
)
"""Each takes a prior family and a seed."""


def synthetic_truth(seed: int = 0) -> NDArray[np.int64]:
    """Heavy-tailed frequencies of 1,000 items that sum to 6,000 users."""
    rng = np.random.default_rng(seed)
    shares = rng.pareto(1.1, _ITEMS) + 0.05
    return rng.multinomial(_USERS, shares / shares.sum())


def _data(seed: int) -> Iterator[Observations]:
    """Estimates of the same frequencies under little, some and much noise."""
    rng = np.random.default_rng(seed + 1)
    truth = synthetic_truth(seed)
    for deviation in _DEVIATIONS:
        estimates = truth + rng.normal(0, deviation, _ITEMS)
        yield Observations.usable(estimates, Noise(deviation**2), _USERS, _USERS)


def _fits(family: Prior, seed: int) -> Iterator[tuple[FittedPrior, Noise]]:
    """The family fitted to each of these data by each of its methods."""
    for observations in _data(seed):
        for method in family.methods:
            yield family.fit(observations, method), observations.noise


def _calibrated(family: Prior, observations: Observations) -> Vector:
    return Posterior(family.fit(observations), observations.noise, observations.estimates).means()


def _log_masses(fitted: FittedPrior) -> Vector:
    """The log probability of every frequency 0..n."""
    k = np.arange(_USERS + 1.0)
    if fitted.atoms is not None:
        return fitted.log_mass(k)
    logs = fitted.log_mass(np.maximum(k, fitted.first))
    if fitted.first > 0:
        logs[0] = fitted.zero
    return logs
