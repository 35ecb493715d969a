"""What is told of a mechanism that is not pure, which has no p* and q*: by Gaussian noise of its own variance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from questions_outside import Gaps

import localdp as ldp
from localdp.advice import Option, fake_users
from localdp.advice.shapes import shaped
from localdp.estimate.thresholds import smallest_detected, smallest_passing


@pytest.mark.parametrize("excess", [-0.5, 0.0, 3.0])
def test_as_many_holders_as_are_named_pass_the_limit_with_the_chance(excess):
    limit, variance, holders = 300.0, 40_000.0, smallest_passing(300.0, 40_000.0, excess)
    away = (holders - limit) / math.sqrt(variance + excess * holders)
    assert away == pytest.approx(1.2815515655446004)  # the standard normal is below with a probability of 0.9


def test_it_agrees_with_the_exact_number_of_a_pure_mechanism_among_many_users():
    mechanism, users = ldp.Plan(50, "oue", 1.0).mechanism, 10**7
    option = Option(mechanism, (shaped("equal", 50, users),))
    exact = smallest_detected(users, mechanism.p, mechanism.q, 50)
    found = smallest_passing(option.threshold, mechanism.variance(users), mechanism.excess_variance)
    assert found == pytest.approx(exact, rel=1e-3)


def test_an_option_that_is_not_pure_has_all_its_figures():
    """Of 20,000 runs with the share that is said to be seen, 90% pass; 2 points are 9 deviations and more.

    The variance of a cell depends on who else is counted. The option assumes that outcomes are equally frequent.
    """
    gaps, users = Gaps(8, 2.0), 100_000
    option = Option(gaps, (shaped("zipf", 8, users),))
    rng, held = np.random.default_rng(5), option.smallest_share * users
    drawn = held + option.standard_error * rng.standard_normal(20_000)
    assert np.mean(drawn > option.threshold) == pytest.approx(0.9, abs=0.02)
    assert 1 <= option.items_seen["zipf"] <= 8
    assert option.items_detected <= 8
    forged = fake_users(ldp.Plan(8, gaps.name, 2.0), users)
    assert forged.push == gaps.push > 1
    assert "test-gaps" in [other.mechanism for other in forged.others]
