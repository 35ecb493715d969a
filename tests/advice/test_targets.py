"""Targets: the number of users and the epsilon that they need, solved in closed form."""

from __future__ import annotations

import math

import pytest

from localdp.advice.options import Option
from localdp.advice.shapes import shaped
from localdp.advice.targets import Target, checked_target, percent
from localdp.errors import InvalidInputError
from localdp.mechanisms import create


@pytest.mark.parametrize("name", ["grr", "oue", "llh"])
def test_users_are_the_fewest_that_reach_the_target(name):
    mechanism = create(name, 300, 2.0).mechanism
    error, share = Target(error=0.003), Target(share=0.02)
    needed = error.users(mechanism)
    assert math.sqrt(mechanism.variance(needed)) / needed <= 0.003
    assert math.sqrt(mechanism.variance(needed - 1)) / (needed - 1) > 0.003
    needed = share.users(mechanism)
    assert Option(mechanism, shaped("zipf", 300, needed)).smallest_share <= 0.02
    assert Option(mechanism, shaped("zipf", 300, needed - 1)).smallest_share > 0.02
    assert Target(error=0.003, share=0.02).users(mechanism) == max(error.users(mechanism), share.users(mechanism))


def test_the_epsilon_is_the_smallest_step_that_is_enough():
    target = Target(share=0.01)
    epsilon = target.epsilon(300, 50_000)
    assert epsilon == pytest.approx(round(epsilon, 2))
    assert target.users(create("auto", 300, epsilon).mechanism) <= 50_000
    assert target.users(create("auto", 300, epsilon - 0.01).mechanism) > 50_000


def test_a_target_out_of_reach_says_what_epsilon_4_needs():
    target = Target(share=1e-6)
    needed = target.users(create("auto", 10, 4.0).mechanism)
    with pytest.raises(
        InvalidInputError, match=f"too few to detect an item .* at epsilon 4, {needed:,} users would be"
    ):
        target.epsilon(10, 100)


def test_targets_are_words_that_end_a_sentence():
    assert str(Target(error=0.001)) == "for a standard error of 0.1% of the users"
    both = "for a standard error of 0.1% of the users and to detect an item held by 1% of the users"
    assert str(Target(error=0.001, share=0.01)) == both
    assert percent(0.123456) == "12.3%"


def test_targets_may_be_missing_but_not_impossible():
    assert checked_target(None, None) is None
    assert checked_target("1%", None) == Target(error=0.01)
    assert checked_target(None, 0.5) == Target(share=0.5)
    for bad in (0, 1, 2, -1, "x", True):
        with pytest.raises(InvalidInputError, match="a smallest share is a share of the users"):
            checked_target(None, bad)
