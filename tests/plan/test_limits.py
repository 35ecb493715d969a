"""A device can say no: plans that ask too much of it are refused, by its owner's limits or by the library's own."""

from __future__ import annotations

import numpy as np
import pytest

import localdp as ldp
from localdp.errors import EpsilonError, InvalidInputError, PlanError, PlanLimitError
from localdp.plan.limits import MOST_REPORT_BYTES, MOST_ROUNDS

PLAN = ldp.Plan(1000, "oue", 2.0)  # reports of 125 bytes


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"most_epsilon": 1.999}, "asks for epsilon 2, and this device gives at most 1.999"),
        ({"most_items": 999}, "has 1,000 items, and this device takes at most 999"),
        ({"most_report_bytes": 124}, "takes 125 bytes, and this device sends at most 124"),
    ],
)
def test_a_plan_past_a_limit_is_refused_and_one_at_the_limit_is_not(limits, message):
    with pytest.raises(PlanLimitError, match=message):
        ldp.Plan.from_json(PLAN.to_json(), **limits)
    name, limit = next(iter(limits.items()))
    at_the_limit = {"most_epsilon": 2.0, "most_items": 1000, "most_report_bytes": 125}[name]
    assert limit < at_the_limit
    assert ldp.Plan.from_json(PLAN.to_json(), **{name: at_the_limit}) == PLAN


def test_a_limit_error_is_a_plan_error():
    assert issubclass(PlanLimitError, PlanError)


@pytest.mark.parametrize(
    ("limits", "error", "message"),
    [
        ({"most_epsilon": 0}, EpsilonError, "must be above 0 and at most 16"),
        ({"most_epsilon": "1"}, EpsilonError, "an int or a float"),
        ({"most_items": 0}, InvalidInputError, "most_items must be a whole number from 1"),
        ({"most_items": 2.5}, InvalidInputError, "most_items must be a whole number from 1"),
        ({"most_report_bytes": MOST_REPORT_BYTES + 1}, InvalidInputError, "most_report_bytes must be a whole number"),
    ],
)
def test_strange_limits_are_refused(limits, error, message):
    with pytest.raises(error, match=message):
        ldp.Plan.from_json(PLAN.to_json(), **limits)


def test_a_device_may_insist_on_a_catch_all():
    with pytest.raises(PlanLimitError, match="no catch-all item"):
        ldp.Plan.from_json(PLAN.to_json(), needs_other=True)
    plan = ldp.Plan(["tea", "coffee"], "grr", 1.0, other="something else")
    assert ldp.Plan.from_json(plan.to_json(), needs_other=True) == plan


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_a_limit_is_compared_at_full_precision(kind):
    with pytest.raises(PlanLimitError, match="asks for epsilon"):
        ldp.Plan.from_json(ldp.Plan(9, "grr", 1.00000005).to_json(), most_epsilon=kind(1.0))


def test_too_many_items_are_refused_before_they_are_looked_at(monkeypatch):
    text = ldp.Plan([f"item {place}" for place in range(1000)], "oue", 1.0).to_json()
    monkeypatch.setattr("localdp.domain.checked_items", lambda _: pytest.fail("the items were looked at"))
    with pytest.raises(PlanLimitError, match="has 1,000 items"):
        ldp.Plan.from_json(text, most_items=999)


def test_numbers_as_items_cannot_be_chosen_to_collide():
    """Python does not salt the hashes of numbers, so items must never be the keys of a dictionary as numbers."""
    numbers = [(place * 2**40) % (2**53 - 1) for place in range(1, 3000)]
    for items in (numbers, ["a", *numbers]):
        domain = ldp.Domain(items)
        assert all(isinstance(key, str | tuple) for key in domain._index)
        assert domain.indices(items[-2:]).tolist() == [len(items) - 2, len(items) - 1]


@pytest.mark.parametrize("depth", [500, 990, 991, 5000, 100_000])
@pytest.mark.parametrize("key", ["epsilon", "mechanism", "domain", "format"])
def test_deep_nesting_is_refused_with_a_sentence(key, depth):
    text = PLAN.to_json().replace(f'"{key}":', f'"{key}":' + "[" * depth + "]" * depth + f',"x{key}":', 1)
    with pytest.raises(PlanError):
        ldp.Plan.from_json(text)


def test_limits_are_given_by_name():
    with pytest.raises(TypeError, match="positional"):
        ldp.Plan.from_json(PLAN.to_json(), 2.0)


def test_no_device_sends_more_than_sixteen_mebibytes():
    longest = ldp.Plan(8 * MOST_REPORT_BYTES, "oue", 1.0)
    assert ldp.Plan.from_json(longest.to_json()) == longest
    with pytest.raises(PlanLimitError, match=r"takes 16,777,217 bytes, and this device sends at most 16,777,216"):
        ldp.Plan.from_json(ldp.Plan(8 * MOST_REPORT_BYTES + 1, "oue", 1.0).to_json())
    assert ldp.Plan.from_json(ldp.Plan(2**32, "llh", 1.0).to_json()).mechanism.report_bytes < 8


def test_no_device_draws_a_subset_for_hours():
    """A subset is drawn item by item; at epsilon 0.01 that is nearly half of the domain."""
    small = ldp.Plan(2 * MOST_ROUNDS, "ss", 0.01)
    assert small.mechanism.rounds <= MOST_ROUNDS
    assert ldp.Plan.from_json(small.to_json()) == small
    large = ldp.Plan(3 * MOST_ROUNDS, "ss", 0.01)
    with pytest.raises(PlanLimitError, match="rounds of drawing, one after the other"):
        ldp.Plan.from_json(large.to_json())


@pytest.mark.parametrize("name", ["grr", "sue", "oue", "olh", "blh", "llh"])
def test_other_mechanisms_take_one_round(name):
    assert ldp.Plan(10**6, name, 1.0).mechanism.rounds == 1


def test_a_name_of_megabytes_is_refused_at_once_and_shown_short():
    document = PLAN.to_json().replace('"oue"', '"' + "q" * 5_000_000 + '"')
    with pytest.raises(PlanError, match="there is no mechanism 'qqq") as caught:
        ldp.Plan.from_json(document)
    assert len(str(caught.value)) < 1_000  # the names of all mechanisms, also of those that other tests register
