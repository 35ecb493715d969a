"""What `check_asking_again` catches: each mutant breaks one promise about the permanent response or its reports."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.checks import MECHANISM_CHECKS, CheckFailure, check_mechanism
from localdp.checks.asking_again import check_asking_again
from localdp.checks.privacy import check_exact_privacy, check_stated_privacy
from localdp.mechanisms import (
    CHAINS,
    OptimizedThenSymmetric,
    OptimizedTwice,
    OptimizedUnary,
    RandomizedResponse,
    RandomizedResponseTwice,
    SymmetricTwice,
)
from localdp.randomness.keystream import seeded


@pytest.mark.parametrize("check", MECHANISM_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", CHAINS)
def test_every_chain_passes_every_check(name, check):
    check(CHAINS[name], 0)


class WithoutSecond(OptimizedThenSymmetric):
    """Sends the permanent response itself."""

    name = "mutant-without-second"

    def randomize_again(self, permanent, source):
        super().randomize_again(permanent, source)
        return permanent


class WeakSecond(SymmetricTwice):
    """Flips with one threshold step too little, and states it honestly."""

    name = "mutant-weak-second"

    def _least_noise(self):
        return super()._least_noise() - 1


class StrongSecond(OptimizedTwice):
    """Adds one threshold step more noise than it states."""

    name = "mutant-strong-second"

    def randomize_again(self, permanent, source):
        self.__dict__["again_noise"] += 1
        rows = super().randomize_again(permanent, source)
        self.__dict__["again_noise"] -= 1
        return rows


class LeakyFirst(OptimizedThenSymmetric):
    """Keeps a response made at twice the epsilon, which the second perturbation hides in a single report."""

    name = "mutant-leaky-first"

    class first_kind(OptimizedUnary):  # noqa: N801 (it replaces a class attribute)
        name = "mutant-first"

        def thresholds(self):
            keep, noise = super().thresholds()
            return keep, max(1, noise // 2)


class Unstable(RandomizedResponseTwice):
    """Makes another permanent response each time."""

    name = "mutant-unstable"
    calls = 0

    def randomize_permanent(self, values, source):
        type(self).calls += 1
        return super().randomize_permanent(values, seeded(self.calls) if source.width == 64 else source)


class Seeded(RandomizedResponseTwice):
    """Perturbs again with a fixed seed."""

    name = "mutant-seeded"

    def randomize_again(self, permanent, source):
        return super().randomize_again(permanent, seeded(1) if source.width == 64 else source)


class Reader(SymmetricTwice):
    """Reads one word more from its stream if the permanent response has its first bit set."""

    name = "mutant-reader"

    def randomize_again(self, permanent, source):
        lit = np.flatnonzero(permanent[:, 0] & 1)
        source.integers(lit)
        return super().randomize_again(permanent, source)


class Silent(RandomizedResponse):
    """Changes its permanent response without saying so."""

    name = "mutant-silent"

    def randomize_again(self, permanent, source):
        return self.randomize(np.zeros(len(permanent), np.int64), source)


class Trusting(RandomizedResponse):
    """Takes any bytes for a permanent response."""

    name = "mutant-trusting"

    def again(self, permanent, source, *, progress=None):  # noqa: ARG002
        return permanent


@pytest.mark.parametrize(
    ("mutant", "message"),
    [
        (WithoutSecond, "makes the same 500 reports twice from its permanent responses"),
        (WeakSecond, r"leaks: it was made for epsilon .*, and over all random inputs at . bits its reports have"),
        (StrongSecond, "states epsilon .*, but over all random inputs at . bits its reports have epsilon"),
        (LeakyFirst, "leaks: it was made for epsilon .*, and over all random inputs at . bits its permanent responses"),
        (Unstable, "gives other permanent responses from the same stream"),
        (Seeded, "makes the same 500 reports twice"),
        (Reader, "does not read as many random bits for permanent response 1 as for permanent response 0"),
        (Silent, "changes its permanent response in a report, although it does not say `perturbs_again`"),
        (Trusting, "makes reports from responses that lack a byte"),
    ],
)
def test_the_check_catches_the_mutant(mutant, message):
    with pytest.raises(CheckFailure, match=message) as failure:
        check_asking_again(mutant)
    assert mutant.name in str(failure.value)


def test_a_leaky_permanent_response_is_invisible_in_one_report():
    """So the check of several reports is needed: enumeration of single reports finds nothing."""
    check_exact_privacy(LeakyFirst)


def test_stated_budgets_are_checked_for_one_report_too():
    class Overstated(OptimizedThenSymmetric):
        name = "mutant-overstated"

        @property
        def ratio_once(self):
            return self.ratio

    with pytest.raises(CheckFailure, match=r"was made for once .* and states once .*; expected at most"):
        check_stated_privacy(Overstated)


def test_a_chain_is_found_by_its_name():
    with pytest.raises(CheckFailure, match="mutant-silent"):
        check_mechanism(Silent)
    check_mechanism("grr+grr")
