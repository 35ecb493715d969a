"""A device whose user holds a set: one response for each set, whatever the order, and a payment for each."""

from __future__ import annotations

import json

import pytest
from command import localdp

import localdp as ldp
from localdp.errors import BudgetError, InvalidInputError

PLAN = ldp.Plan(["tea", "milk", "bread", "rice"], "grr", 1.0, set_size=2)


def test_the_same_set_gives_the_same_report_in_any_order_and_form(tmp_path):
    client = ldp.Client(PLAN, store=tmp_path)
    first = client.report(["tea", "milk"])
    assert {client.report(held) for held in (["milk", "tea"], ("milk", "tea", "tea"), {"tea", "milk"})} == {first}
    assert ldp.Client(PLAN, store=tmp_path).report(["milk", "tea"]) == first
    assert client.spent == PLAN.mechanism.epsilon
    assert len(PLAN.read(first)) == 1


def test_every_other_set_is_paid_for(tmp_path):
    client = ldp.Client(PLAN, store=tmp_path, most=3.0)
    for held in ([], ["tea"], ["tea", "rice"], []):
        client.report(held)
    assert client.spent == pytest.approx(3 * PLAN.mechanism.epsilon)
    with pytest.raises(BudgetError, match="spent 3 of at most 3"):
        client.report(["rice"])


def test_the_reports_of_many_devices_estimate_the_holders(tmp_path):
    """Half of 600 devices hold tea; the estimate is within 5 deviations, which fails by chance once in a million."""
    plan = ldp.Plan(["tea", "milk", "bread"], "grr", 4.0, set_size=2)
    aggregate = ldp.Aggregate(plan)
    for device in range(600):
        client = ldp.Client(plan, store=tmp_path / str(device))
        aggregate.add(plan.read(client.report(["tea", "milk"] if device % 2 else [])))
    estimate = aggregate.estimate()
    for found, true in zip(estimate.frequencies, (300, 300, 0), strict=True):
        assert abs(found - true) < 5 * estimate.std_error_at([true])[0]


def test_one_item_instead_of_a_set_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="give a list for each user"):
        ldp.Client(PLAN, store=tmp_path).report("tea")


def test_a_set_is_typed_with_semicolons(tmp_path):
    (tmp_path / "plan.json").write_text(PLAN.to_json())
    shown = [
        localdp("report", "--plan", "plan.json", "--store", "device", typed, cwd=tmp_path)
        for typed in ("tea; milk", "milk;tea", "")
    ]
    assert [done.returncode for done in shown] == [0, 0, 0]
    assert shown[0].stdout == shown[1].stdout
    assert json.loads(shown[0].stdout)["plan"] == PLAN.fingerprint
    assert "spent epsilon 2 of at most 8" in shown[2].stderr
