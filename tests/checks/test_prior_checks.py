"""The checks of priors against priors that are wrong, and the messages that they give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from localdp.checks import PRIOR_CHECKS, CheckFailure, check_prior
from localdp.checks.prior import (
    check_equivariance,
    check_monotone,
    check_never_far_from_the_estimate,
    check_posterior_mean,
    check_sums_to_one,
    synthetic_truth,
)
from localdp.priors import FittedPrior, Prior
from localdp.priors.base import AtomicPrior


class Atoms(Prior):
    """A prior with atoms that `atoms` gives."""

    name = "atoms"
    methods = ("given",)

    def atoms(self, observations):
        raise NotImplementedError

    def fit_observations(self, observations, method):
        values, masses = self.atoms(observations)
        logs = np.log(np.asarray(masses, np.float64))
        return AtomicPrior(
            self.name, observations.n, method=method, values=np.asarray(values, np.float64), log_masses=logs
        )


class HalfIsMissing(Atoms):
    def atoms(self, observations):  # noqa: ARG002
        return [0, 100], [0.25, 0.25]


class NoRoom(Atoms):
    def atoms(self, observations):  # noqa: ARG002
        return [0, 3], [0.5, 0.5]


class NotNumbers(Atoms):
    def atoms(self, observations):  # noqa: ARG002
        return [0, 100], [np.nan, 0.5]


class Moody(Atoms):
    fits = 0

    def atoms(self, observations):  # noqa: ARG002
        Moody.fits += 1
        return [0, 100 + Moody.fits], [0.5, 0.5]


class FirstComeFirstServed(Atoms):
    def atoms(self, observations):
        return [0, 1 + round(abs(observations.estimates[0]))], [0.5, 0.5]


@dataclass(frozen=True, eq=False, repr=False)
class Spike(FittedPrior):
    """Mass at one frequency in the middle of a smooth law, without saying so."""

    def log_mass(self, k):
        return np.logaddexp(-1.5 * np.log(k), np.log(0.5) - ((k - 2999) / 0.2) ** 2) - np.log(self.total)

    @property
    def total(self):
        k = np.arange(1.0, self.n + 1)
        return np.exp(np.logaddexp(-1.5 * np.log(k), np.log(0.5) - ((k - 2999) / 0.2) ** 2)).sum()


class HiddenSpike(Prior):
    name = "spike"
    methods = ("given",)

    def fit_observations(self, observations, method):
        return Spike(self.name, observations.n, method=method)


MESSAGES = [
    (check_sums_to_one, HalfIsMissing, r"the probabilities of <atoms .*> sum to 0\.[45]\d*; expected 1"),
    (check_posterior_mean, HiddenSpike, "the posterior mean is .*; the sum over all frequencies gives"),
    (check_monotone, NotNumbers, "gives calibrated frequencies that are infinite or not numbers"),
    (check_equivariance, Moody, r"Moody\(\), run twice on the same estimates, gives different frequencies"),
    (
        check_equivariance,
        FirstComeFirstServed,
        "other frequencies when the items are in another order; expected the same",
    ),
    (check_never_far_from_the_estimate, NoRoom, "moves the estimate of a frequent item by .*; expected 3 at most"),
]


@pytest.mark.parametrize(("check", "family", "message"), MESSAGES, ids=lambda case: getattr(case, "__name__", ""))
def test_a_wrong_prior_is_caught_and_the_message_says_how(check, family, message):
    with pytest.raises(CheckFailure, match=message):
        check(family())


def test_the_whole_suite_takes_objects_and_names():
    with pytest.raises(CheckFailure, match="sum to"):
        check_prior(HalfIsMissing())
    check_prior("power-law")
    assert len(PRIOR_CHECKS) == len(set(PRIOR_CHECKS)) == 7


def test_the_truth_of_the_checks_is_heavy_tailed_and_seeded():
    truth = synthetic_truth(3)
    assert truth.sum() == 6_000
    assert truth.size == 1_000
    assert truth.max() > 100 > 10 * np.median(truth)
    assert np.array_equal(truth, synthetic_truth(3))
