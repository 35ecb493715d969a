"""Targets: the number of users and the epsilon that they need."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from localdp.advice.options import Option
from localdp.advice.shapes import shaped
from localdp.advice.targets import Target, checked_target, percent
from localdp.errors import InvalidInputError
from localdp.estimate.thresholds import smallest_detected
from localdp.mechanisms import create


def holders_seen(mechanism, n):
    return smallest_detected(n, mechanism.p, mechanism.q, mechanism.size)


@pytest.mark.parametrize("up_to", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("name", ["grr", "oue", "llh", "blh"])
def test_the_error_is_reached_for_every_share_it_is_meant_for(name, up_to):
    mechanism = create(name, 300, 2.0).mechanism
    needed = Target(error=0.003, up_to=up_to).users(mechanism)

    def worst(n):
        option = Option(mechanism, (shaped("zipf", 300, n),))
        return max(option.standard_error_at(share) for share in np.linspace(0, up_to, 11)) / n

    assert worst(needed) <= 0.003 < worst(needed - 1)


def test_a_target_for_frequent_items_needs_more_users():
    mechanism = create("oue", 300, 4.0).mechanism
    needed = [Target(error=0.003, up_to=up_to).users(mechanism) for up_to in (0.0, 0.1, 0.5, 1.0)]
    assert needed == sorted(needed)
    assert needed[-1] > 10 * needed[0]


@pytest.mark.parametrize(
    ("name", "items", "epsilon", "share"),
    [
        ("grr", 300, 2.0, 0.1),
        ("grr", 5, 3.0, 0.003),
        ("oue", 300, 2.0, 0.02),
        ("llh", 10_000, 6.0, 0.02),
        ("ss", 50, 1.0, 0.3),
    ],
)
def test_from_the_users_needed_on_the_item_is_always_detected(name, items, epsilon, share):
    mechanism = create(name, items, epsilon).mechanism
    needed = Target(share=share).users(mechanism)
    assert holders_seen(mechanism, needed - 1) > math.floor(share * (needed - 1))
    for n in range(needed, needed + 400):
        assert holders_seen(mechanism, n) <= math.ceil(share * n)
    both = Target(error=0.003, share=share)
    assert both.users(mechanism) == max(Target(error=0.003).users(mechanism), needed)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_many_users_are_those_of_gaussian_noise(epsilon):
    mechanism = create("oue", 1_000, epsilon).mechanism
    significant, seen = norm.isf(0.05 / 1_000), norm.ppf(0.9)
    needed, share = Target(share=1e-4).users(mechanism), 1e-4
    threshold = significant * math.sqrt(mechanism.variance(needed))
    own = math.sqrt(mechanism.variance(needed) + mechanism.excess_variance * share * needed)
    assert threshold + seen * own == pytest.approx(share * needed, rel=1e-3)


def test_nobody_can_count_beyond_the_largest_number():
    assert Target(share=1e-15).users(create("auto", 10, 1.0).mechanism) > 2**53


def test_the_epsilon_is_the_smallest_step_that_is_enough():
    target = Target(share=0.01)
    epsilon = target.epsilon(300, 50_000)
    assert epsilon == pytest.approx(round(epsilon, 2))
    assert target.users(create("auto", 300, epsilon).mechanism) <= 50_000
    assert target.users(create("auto", 300, epsilon - 0.01).mechanism) > 50_000


def test_a_smaller_epsilon_is_found_even_if_a_larger_one_is_noisier_for_frequent_items():
    target = Target(error=0.01)
    needed = {epsilon: target.users(create("auto", 1_000, epsilon).mechanism) for epsilon in (2.3, 2.4)}
    assert needed[2.4] > 1.5 * needed[2.3]
    for users in (needed[2.3], needed[2.4]):
        reached = (e / 100 for e in range(1, 1_601) if target.users(create("auto", 1_000, e / 100).mechanism) <= users)
        assert target.epsilon(1_000, users) == next(reached)


def test_a_target_out_of_reach_says_what_epsilon_4_needs():
    target = Target(share=1e-6)
    needed = target.users(create("auto", 10, 4.0).mechanism)
    with pytest.raises(
        InvalidInputError,
        match=f"too few to detect an item .* At epsilon 4 this would do: {needed:,} users instead of 100",
    ):
        target.epsilon(10, 100)


def test_targets_are_words_that_end_a_sentence():
    error = "for a standard error of at most 0.1% of the users for"
    assert str(Target(error=0.001)) == f"{error} every item"
    assert str(Target(error=0.001, up_to=0)) == f"{error} items that nobody holds"
    assert str(Target(error=0.001, up_to=0.1)) == f"{error} items that up to 10% of them hold"
    both = f"{error} every item and to detect an item held by 1% of the users"
    assert str(Target(error=0.001, share=0.01)) == both
    assert percent(0.123456) == "12.3%"


def test_targets_may_be_missing_but_not_impossible():
    assert checked_target(None, None) is None
    assert checked_target("1%", None) == Target(error=0.01)
    assert checked_target(None, 0.5) == Target(share=0.5)
    assert checked_target("1%", None, "10%") == Target(error=0.01, up_to=0.1)
    with pytest.raises(InvalidInputError, match="give target_error, too"):
        checked_target(None, 0.5, 0.1)
    for bad in (-0.1, 1.1, "x", True):
        with pytest.raises(InvalidInputError, match="up_to is a share of the users"):
            checked_target(0.1, None, bad)
    for bad in (0, 1, 2, -1, "x", True):
        with pytest.raises(InvalidInputError, match="a smallest share is a share of the users"):
            checked_target(None, bad)
