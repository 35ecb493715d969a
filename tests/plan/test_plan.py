"""Plans: what they are made of, and what is said about what they cannot be made of."""

from __future__ import annotations

import pytest

import localdp as ldp
from localdp.errors import (
    EmptyError,
    EpsilonError,
    InvalidInputError,
    SeedError,
)
from localdp.mechanisms import MECHANISMS

NAMES = list(MECHANISMS)


@pytest.fixture
def plan():
    return ldp.Plan(["tea", "coffee", "water"], mechanism="oue", epsilon=1.0)


def test_plan_asks_for_an_epsilon_in_words():
    with pytest.raises(EpsilonError, match="privacy budget"):
        ldp.Plan(3, "oue")
    with pytest.raises(InvalidInputError, match=r"epsilon=1\.0"):
        ldp.Plan(3, 1.0)
    with pytest.raises(InvalidInputError, match="size of the domain"):
        ldp.Plan(3, MECHANISMS["oue"](4, 1.0))


def test_plan_is_frozen(plan):
    with pytest.raises(AttributeError, match="Plan is a value"):
        plan.domain = ldp.Domain(3)


def test_a_mechanism_under_a_borrowed_name_is_refused():
    class Evil(MECHANISMS["grr"]):
        pass

    with pytest.raises(InvalidInputError, match="name of its own"):
        ldp.Plan(5, Evil(5, 1.0))


def test_nobody_is_refused(plan):
    with pytest.raises(EmptyError, match="no values"):
        plan.privatize([])
    with pytest.raises(EmptyError, match="n = 0"):
        ldp.Aggregate(plan).estimate()
    with pytest.raises(EmptyError, match="sum to 0"):
        plan.simulate([0, 0, 0])


@pytest.mark.parametrize("seed", [-1, 0.5, "x"])
def test_bad_seeds_are_refused(plan, seed):
    with pytest.raises(SeedError, match="a seed is a whole number of at least 0, not"):
        plan.privatize(["tea"], seed=seed)
    with pytest.raises(SeedError, match="a seed is a whole number of at least 0, not"):
        plan.simulate([1, 2, 3], seed=seed)
