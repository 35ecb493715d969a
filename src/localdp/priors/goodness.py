r"""Test whether the estimates look as a prior and the noise predict: a goodness-of-fit test.

The paper assumes that the family of p_f is known, and names hypothesis tests as a way to find it. This one compares the
distribution of the d estimates with the distribution that the fitted prior and the noise predict (Eq. 21). The
statistic is that of Anderson and Darling (1952), which weighs differences in the tails as much as those in the middle.
It is computed at J fixed points x_j:

    A^2 = d sum_j w_j (F_d(x_j) - F(x_j))^2 / (F(x_j) (1 - F(x_j))),     w_j: the probability around x_j

F_d is the share of the estimates up to x_j, and F the predicted share. Single estimates that are far too large or too
small hardly change these shares. So two points are chosen beyond which one survey in ten has an estimate, and for each
of them the deviance N log(N/E) - (N - E) is added, where N estimates lie beyond it and E are expected to.

The prior was fitted to the same estimates, so the statistic is smaller than for a prior known beforehand, by an amount
that depends on the family. Its distribution is therefore simulated (a parametric bootstrap; see W. Stute and others,
Bootstrap based goodness-of-fit-tests, Metrika 1993): draw frequencies from the fitted prior, add noise, fit the family
again in the same way, and compute the statistic. The p-value is the share of all these statistics, the real one
included, that are at least as large as the real one.

**Power.** A family that is not contradicted may be right, or there may be too few items or too much noise to tell. So
another family can be named: it is fitted to the same estimates, surveys are drawn from it, and the power is the share
of them in which the test would reject the first family at 5%.

The noise of different items is taken as independent and Gaussian, as everywhere in Calibrate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localdp.errors import InvalidInputError
from localdp.priors.base import FittedPrior, Prior
from localdp.priors.fitting.noise import Noise
from localdp.priors.fitting.noise_by_item import NoiseByItem
from localdp.priors.fitting.observations_by_item import observations_of
from localdp.priors.fitting.predictive import Predictive
from localdp.types import Progress, Vector
from localdp.validation import checked_amount, checked_seed

REPLICATES = 99
"""Surveys that are simulated unless another number is given; the smallest possible p-value is 1/100."""

MOST_REPLICATES = 100_000

UNLIKELY = 0.05
"""With a p-value of at most this, the sentence says that the family does not explain the estimates."""

_LEVELS = np.concatenate([[0.001, 0.003], np.arange(0.01, 0.995, 0.02), [0.997, 0.999]])
_SAMPLE = 40_000  # predicted estimates; the points x_j are their quantiles at these levels
_LEAST_EXPECTED = 2.0  # estimates that must be expected below the first point, and above the last
_BEYOND = 0.1  # estimates that are expected beyond each of the two extreme points


@dataclass(frozen=True)
class GoodnessOfFit:
    """How well a fitted prior explains the estimates.

    `p_value` is the probability of a `statistic` at least as large if the frequencies do come from the family. `prior`
    is the fitted member. The value prints as a sentence.
    """

    statistic: float
    p_value: float
    prior: FittedPrior
    replicates: int
    against: str | None = None
    """The other family that `power` is about, if one was named."""
    power: float | None = None
    """How often the test rejects the family at 5%, if the frequencies come from the other one."""

    @property
    def family(self) -> str:
        """The name of the family."""
        return self.prior.name

    def __str__(self) -> str:
        larger = round(self.p_value * (self.replicates + 1)) - 1
        verdict = "does not explain the estimates" if self.p_value <= UNLIKELY else "does not contradict the estimates"
        return (
            f"{self.family} ({self.prior.method}) {verdict}: the statistic is {self.statistic:.3g}, and "
            f"{larger} of {self.replicates} simulated surveys have a larger one (p = {self.p_value:.2g})"
            + ("" if self.power is None else f"; it would notice {self.against} in {self.power:.0%} of such surveys")
        )


def goodness_of_fit(
    estimates: Vector,
    noise: Noise | NoiseByItem,
    n: int,
    prior: Prior | FittedPrior,
    method: str | None = None,
    *,
    against: Prior | FittedPrior | None = None,
    replicates: int = REPLICATES,
    seed: int = 0,
    progress: Progress | None = None,
) -> GoodnessOfFit:
    """Test a family, which is fitted to the estimates by `method`, or a prior that was known before.

    See `Estimate.goodness_of_fit`.
    """
    count = checked_amount(replicates, MOST_REPLICATES, "the number of simulated surveys")
    if isinstance(prior, FittedPrior) and method is not None:
        raise InvalidInputError("a fitted prior is used as it is: it takes no method")
    usable = noise.usable(n)

    def fitted(family: Prior | FittedPrior, method: str | None, seen: Vector, users: int) -> FittedPrior:
        if isinstance(family, FittedPrior):
            return family
        assumed = noise.without_excess if family.constant_noise else noise
        return family.fit(observations_of(seen, assumed, users, users), method)

    observed = fitted(prior, method, estimates, n)
    predicted = Predictive.of(observed, usable)
    surveys = count if against is None else 2 * count
    streams = np.random.SeedSequence(checked_seed(seed)).spawn(surveys + 1)
    points = _points(predicted, estimates.size, np.random.default_rng(streams[0]))
    real = discrepancy(estimates, predicted, points)

    def simulated(truth: Predictive, first: int) -> Vector:
        """The statistics of surveys that are drawn from this truth."""
        found = np.empty(count)
        for place in range(count):
            frequencies, drawn = truth.draw(estimates.size, np.random.default_rng(streams[1 + first + place]))
            # Every simulated user holds one item, so the number of users is the sum of the frequencies.
            again = fitted(prior, method, drawn, max(1, int(frequencies.sum())))
            found[place] = discrepancy(drawn, predicted if again is observed else Predictive.of(again, usable), points)
            if progress:
                progress(first + place + 1, surveys)
        return found

    null = simulated(predicted, 0)
    p_value = (1 + int((null >= real).sum())) / (count + 1)
    if against is None:
        return GoodnessOfFit(real, p_value, observed, count)
    other = fitted(against, None, estimates, n)
    theirs = simulated(Predictive.of(other, usable), count)
    rejected = (1 + (null >= theirs[:, None]).sum(axis=1)) / (count + 1) <= UNLIKELY
    return GoodnessOfFit(real, p_value, observed, count, other.name, float(rejected.mean()))


def discrepancy(estimates: Vector, predicted: Predictive, points: Vector) -> float:
    """The statistic of these estimates. The first and the last of the points are the extreme ones."""
    d = estimates.size
    shares = predicted.cdf(points)
    low, high = int((estimates <= points[0]).sum()), int((estimates > points[-1]).sum())
    extremes = _deviance(low, d * shares[0]) + _deviance(high, d * (1 - shares[-1]))
    return extremes + _anderson_darling(estimates, points[1:-1], shares[1:-1])


def _deviance(count: int, expected: float) -> float:
    """By how much the log-likelihood of a count exceeds that under its expectation (Poisson)."""
    likely = max(expected, 1e-6)
    return float(likely if count == 0 else count * np.log(count / likely) - (count - likely))


def _anderson_darling(estimates: Vector, points: Vector, shares: Vector) -> float:
    """A^2, computed at the given points, where these shares of the estimates are expected below each."""
    d = estimates.size
    seen = np.searchsorted(np.sort(estimates), points, side="right") / d
    expected = np.clip(shares, 0.5 / d, 1 - 0.5 / d)
    around = np.concatenate([[0.0], expected, [1.0]])
    weights = (around[2:] - around[:-2]) / 2
    return float(d * (weights * (seen - expected) ** 2 / (expected * (1 - expected))).sum())


def _points(predicted: Predictive, d: int, generator: np.random.Generator) -> Vector:
    """Where the two distributions are compared: quantiles of the predicted one, and an extreme point at either end."""
    least = min(_LEAST_EXPECTED / d, 0.25)
    levels = _LEVELS[np.minimum(_LEVELS, 1 - _LEVELS) >= least]
    sample = predicted.draw(_SAMPLE, generator)[1]
    reach = np.array([sample.min(), sample.max()])
    reach += np.array([-1, 1]) * (1 + reach[1] - reach[0])
    while d * predicted.cdf(reach)[0] > _BEYOND or d * (1 - predicted.cdf(reach)[1]) > _BEYOND:
        reach += np.array([-1, 1]) * (reach[1] - reach[0])
    low, high = np.array([reach[0], reach[0]]), np.array([reach[1], reach[1]])
    for _ in range(50):  # bisection, for both extreme points at once
        middle = (low + high) / 2
        above = predicted.cdf(middle) > np.array([_BEYOND / d, 1 - _BEYOND / d])
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.concatenate([low[:1], np.unique(np.quantile(sample, levels)), high[1:]])
