"""What the checks say about a prior that is not written as the library expects: each message says what to set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from localdp.checks import PRIOR_CHECKS, CheckFailure, check_prior
from localdp.checks.prior import check_family, check_never_far_from_the_estimate, check_posterior_mean
from localdp.priors import FittedPrior, ParametricFamily, Prior


class LogNormal(ParametricFamily):
    """A right one: the logarithm of the frequencies is Gaussian."""

    name = "log-normal"
    parameter_count = 2
    first = 1
    limits = ((-10.0, 20.0), (-2.0, 2.0))

    def log_shape(self, k, theta):
        return -np.log(k) - 0.5 * ((np.log(k) - theta[0]) / np.exp(theta[1])) ** 2

    def from_moments(self, observations):
        s2 = np.clip(np.log1p(observations.spread / observations.mean**2), 0.02, 50.0)
        return np.array([np.log(observations.mean) - s2 / 2, 0.5 * np.log(s2)]), ()


@dataclass(frozen=True, eq=False, repr=False)
class Flat(FittedPrior):
    """A right one: all frequencies from 0 to n are equally likely."""

    def log_mass(self, k):
        return np.full(np.shape(k), -np.log(self.n + 1.0))

    @property
    def first(self):
        return 0


class Uniform(Prior):
    name = "uniform"
    methods = ("given",)
    fitted: type[FittedPrior] = Flat

    def fit_observations(self, observations, method):
        return self.fitted(self.name, observations.n, method=method)


def family(base=LogNormal, **members):
    """An object of the class with some members replaced."""
    return type("Variant", (base,), members)()


def uniform(**members):
    """A uniform prior with some members of the fitted prior replaced."""
    return family(Uniform, fitted=type("Changed", (Flat,), members))


def raises(error):
    def method(*_):
        raise error

    return method


def test_the_right_ones_pass():
    check_prior(LogNormal())
    check_family(Uniform())
    check_posterior_mean(Uniform())


def divides_by_zero(self, observations, method):
    np.log(np.zeros(1))
    return Flat(self.name, observations.n, method=method)


WRONG = [
    (LogNormal, r"give an object of the family, LogNormal\(\), not the class"),
    (ParametricFamily, "ParametricFamily is not complete: write from_moments, log_shape"),
    (7, "expected an object of a class that derives from localdp.Prior, not 7"),
    (family(name=None), "Variant needs a name, such as name = "),
    (family(methods="mle"), r"Variant needs the names of the ways to fit it.*methods = \(.mle.,\), not 'mle'"),
    (family(Uniform, methods=()), "Variant needs the names of the ways to fit it"),
    (family(parameter_count=None), "needs the number of its parameters, such as parameter_count = 2, not None"),
    (family(limits=[(0.0, 1.0)]), "has 1 limits for 2 parameters; expected a pair"),
    (family(from_moments=lambda *_: np.zeros(2)), r"from_moments\(\) returns .*expected the pair \(theta, notes\)"),
    (family(from_moments=lambda *_: (np.array([np.nan, 0.0]), ())), r"from_moments\(\) returns .*nan.*an array of 2"),
    (family(from_moments=raises(ValueError("log of 0"))), r"from_moments\(observations\) raises ValueError: log of 0"),
    (family(log_shape=lambda *_: 0.0), r"log_shape\(k, theta\) returns 0.0 for k = .*; expected an array of 5 floats"),
    (family(first=0), r"log_shape.* gives \[nan\] for k = \[0.0\]; .*has no value at 0, set first = 1"),
    (family(gradient=lambda _, k, __: np.ones((k.size, 1))), r"shape \(5, 1\) for 5 frequencies and 2 parameters"),
    (family(gradient=lambda _, k, __: np.ones((k.size, 2))), r"changes by 0 for parameter [01], but differences of"),
    (family(Uniform, fit_observations=lambda *_: None), r"fit_observations\(\) returns a NoneType; expected a Fitted"),
    (family(Uniform, fit_observations=raises(KeyError("x"))), r"fit_observations\(.*\) raises KeyError: 'x'"),
    (family(Uniform, fit_observations=lambda *_: Flat("uniform", 5)), "n is 5; expected the number of users"),
    (family(log_shape=lambda _, k, __: np.full(k.size, -np.inf)), "gives -inf for all of k = .*expected some of them"),
    (
        family(Uniform, fit_observations=divides_by_zero),
        r"numbers that it cannot compute with .*; set `limits` so that theta stays",
    ),
    (uniform(first=0.5), "first is 0.5; expected 0 if log_mass also gives the mass of frequency 0, and 1"),
    (uniform(edges=[3.0, 1.0]), r"edges are \[3.0, 1.0\]; expected an array of ascending frequencies"),
    (uniform(feature=5.0), r"feature is 5.0; expected \(centre, width\) of a narrow bulk, or None"),
    (uniform(atoms=(np.array([2.0, 1.0]), np.zeros(2))), "atoms are .*expected two arrays of the same length"),
    (uniform(log_mass=lambda *_: -1.0), r"log_mass\(k\) returns -1.0 for k = .*expected an array of 5 floats"),
    (uniform(log_mass=lambda _, k: -k * np.log(k)), r"log_mass\(k\) gives \[nan\] for k = \[0.0\].*set first = 1"),
]


@pytest.mark.parametrize(("prior", "sentence"), WRONG, ids=[sentence[:40] for _, sentence in WRONG])
def test_a_wrong_definition_is_explained(prior, sentence):
    with pytest.raises(CheckFailure, match=sentence):
        check_prior(prior)


def test_the_definition_is_checked_first():
    assert PRIOR_CHECKS[0] is check_family


def test_a_narrow_bulk_is_told_to_say_so():
    """Around 3,000 with a deviation of 2, far narrower than the sums of the library would look at by themselves."""

    def log_mass(self, k):
        everything = -0.5 * ((np.arange(self.n + 1.0) - 2_999.3) / 2) ** 2
        return -0.5 * ((np.asarray(k, np.float64) - 2_999.3) / 2) ** 2 - np.log(np.exp(everything).sum())

    with pytest.raises(CheckFailure, match=r"set `edges` to where .* `feature` to the \(centre, width\) of a narrow"):
        check_prior(uniform(log_mass=log_mass))
    told = uniform(log_mass=log_mass, feature=(2_999.3, 2.0))
    check_posterior_mean(told)
    check_never_far_from_the_estimate(told)  # has light tails, and says so


def test_light_tails_can_be_stated():
    few = type("Few", (Flat,), {"log_mass": lambda _, k: -0.5 * (np.asarray(k) / 3) ** 2 - 1.5})
    with pytest.raises(CheckFailure, match=r"a heavier tail or, .* set light_tails = True"):
        check_never_far_from_the_estimate(family(Uniform, fitted=few))
    check_never_far_from_the_estimate(family(Uniform, fitted=few, light_tails=True))
