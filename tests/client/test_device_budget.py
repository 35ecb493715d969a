"""The cap, the limits on plans, and what a device refuses."""

from __future__ import annotations

import math

import pytest

import localdp as ldp
from localdp.errors import BudgetError, InvalidInputError, PlanLimitError, UnknownItemError


def test_the_cap_refuses_new_values_and_not_old_ones(tmp_path):
    plan = ldp.Plan(10, "grr", 1.0)
    client = ldp.Client(plan, store=tmp_path, most=3.0)
    first = [client.report(value) for value in range(3)]
    with pytest.raises(BudgetError, match=r"spent 3 of at most 3: it reports no new values, and nothing was released"):
        client.report(3)
    assert client.spent == 3 * plan.mechanism.epsilon <= client.most == 3.0
    assert [client.report(value) for value in range(3)] == first
    assert [ldp.Client(plan, store=tmp_path, most=0.5).report(value) for value in range(3)] == first
    ldp.Client(plan, store=tmp_path, most=4.0).report(3)


def test_the_cap_holds_for_all_plans_together(tmp_path):
    for epsilon in (1.0, 2.0):
        ldp.Client(ldp.Plan(10, "grr", epsilon), store=tmp_path, most=4.0).report(0)
    client = ldp.Client(ldp.Plan(9, "grr", 1.5), store=tmp_path, most=4.0)
    with pytest.raises(BudgetError, match=r"would spend epsilon 1\.5, and this device has spent 3 of at most 4"):
        client.report(0)
    assert client.spent == pytest.approx(3.0)


def test_ten_times_a_tenth_is_one(tmp_path):
    plan = ldp.Plan(20, "grr", 0.1)
    for most, reported in ((1.0, 10), (math.nextafter(1.0, 0), 9)):
        client = ldp.Client(plan, store=tmp_path / str(most), most=most)
        for value in range(reported):
            client.report(value)
        with pytest.raises(BudgetError, match="reports no new values"):
            client.report(reported)
        assert client.spent <= client.most


@pytest.mark.parametrize("most", [0, -1.0, float("inf"), float("nan"), "much"])
def test_a_cap_is_a_number(tmp_path, most):
    with pytest.raises(InvalidInputError, match="most, the cap of a device, is a"):
        ldp.Client(ldp.Plan(4, epsilon=1.0), store=tmp_path, most=most)


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize(
    ("plan", "limits", "says"),
    [
        (ldp.Plan(4, epsilon=5.0), {}, "asks for epsilon 5, and this device gives at most 4"),
        (ldp.Plan(40_000, "oue", 1.0), {}, "takes 5,000 bytes, and this device sends at most 4,096"),
        (ldp.Plan(100_001, "llh", 1.0), {}, "has 100,001 items, and this device takes at most 100,000"),
        (ldp.Plan(["a", "b"], epsilon=1.0), {"needs_other": True}, "has no catch-all item"),
        (ldp.Plan(4, epsilon=1.0), {"most_epsilon": 0.5}, "asks for epsilon 1, and this device gives at most 0.5"),
    ],
)
def test_a_plan_that_asks_too_much_is_refused_before_anything_is_stored(tmp_path, plan, limits, says, as_text):
    with pytest.raises(PlanLimitError, match=says):
        ldp.Client(plan.to_json() if as_text else plan, store=tmp_path / "device", **limits)
    assert not (tmp_path / "device").exists()


def test_a_plan_may_be_given_as_its_json(tmp_path):
    plan = ldp.Plan(["a", "b"], epsilon=1.0, other="rest")
    client = ldp.Client(plan.to_json().encode(), store=tmp_path, needs_other=True)
    assert client.plan == plan
    with pytest.raises(InvalidInputError, match="needs a plan, or the JSON of one, not int"):
        ldp.Client(7, store=tmp_path)


def test_a_value_that_is_not_an_item_spends_nothing(tmp_path):
    client = ldp.Client(ldp.Plan(["a", "b"], epsilon=1.0), store=tmp_path)
    with pytest.raises(UnknownItemError, match="not among the 2 items"):
        client.report("c")
    assert client.spent == 0


def test_a_client_shows_what_it_has_spent_and_no_secret(tmp_path):
    client = ldp.Client(ldp.Plan(["a", "b"], "grr", 1.0), store=tmp_path)
    client.report("a")
    assert "spent 1 of 8" in repr(client)
    assert client._store.secret.hex() not in repr(client._store.read())
