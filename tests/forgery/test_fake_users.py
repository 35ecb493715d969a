"""What forged reports do: the push is exact, no report pushes more, and mechanisms are compared fairly."""

from __future__ import annotations

import math

import numpy as np
import pytest

import localdp as ldp
from localdp.advice import fake_users
from localdp.mechanisms import CHAINS, MECHANISMS

PLANS = [
    *(ldp.Plan(5, name, 0.6) for name in MECHANISMS if name not in ("olh", "blh")),
    *(ldp.Plan(5, name, 1.0, once=0.5) for name in CHAINS),
]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.mechanism.name)
def test_no_report_pushes_an_item_further_or_more_items_than_stated(plan):
    answer = fake_users(plan, 1_000)
    honest = plan.simulate([400, 300, 200, 100, 0], seed=1)
    rows = plan.mechanism.channel().reports
    supported = np.array([plan.mechanism.count(rows[place : place + 1]) for place in range(len(rows))])
    assert supported.sum(axis=1).max() == answer.items_at_once
    before = honest.estimate().frequencies
    pushes = []
    for row in supported:
        with_one = ldp.Estimate.from_counts(
            honest.counts + row, n=1_001, p_star=plan.mechanism.p, q_star=plan.mechanism.q
        )
        pushes.append((with_one.frequencies - before).max())
    assert max(pushes) == pytest.approx(answer.push, rel=1e-9)


def test_the_number_needed_moves_an_item_by_one_standard_error_and_no_smaller_number_does():
    plan = ldp.Plan(1_000, "llh", 1.0)
    answer = fake_users(plan, 100_000)
    q = plan.mechanism.q_star
    assert answer.needed == math.ceil(math.sqrt(100_000 * q / (1 - q)))
    assert answer.needed * answer.push >= answer.own.std_error > (answer.needed - 1) * answer.push


def test_mechanisms_are_compared_in_the_same_units():
    answer = fake_users(ldp.Plan(1_000, "oue", 1.0), 100_000)
    table = answer.table()
    pushes = dict(zip(table["mechanism"], table["push"].tolist(), strict=True))
    assert pushes["sue"] < pushes["oue"] < pushes["grr"]
    assert table["push"].tolist() == sorted(table["push"])
    here = dict(zip(table["mechanism"], table["needed here"].tolist(), strict=True))
    assert here["oue"] == answer.needed
    assert here["sue"] > answer.needed > here["grr"]
    assert answer.harder[0].mechanism == "blh"
    assert "blh makes it hardest" in answer.sentences[1]
    assert "up to 1,000 items at once" in answer.sentences[0]


def test_a_plan_that_is_hardest_says_so():
    answer = fake_users(ldp.Plan(1_000, "blh", 1.0), 100_000)
    assert answer.harder == ()
    assert answer.sentences[1] == "No other mechanism at this budget makes that harder."


def test_chains_are_compared_with_chains():
    answer = fake_users(ldp.Plan(50, "auto", 2.0, once=0.5), 1_000)
    assert {other.mechanism for other in answer.others} == set(CHAINS)


def test_plans_for_sets_are_compared_with_plans_for_sets():
    plan = ldp.Plan(20, "grr", 1.0, set_size=3)
    found = fake_users(plan, 1_000)
    mechanism = plan.mechanism
    assert found.push == pytest.approx(float((1 - mechanism.q) / (mechanism.p - mechanism.q)))
    assert found.items_at_once == 1
    by_name = {other.mechanism: other for other in found.others}
    assert by_name["grr"] == found.own
    assert by_name["oue"].push == pytest.approx(3 * fake_users(ldp.Plan(21, "oue", 1.0), 1_000).push)
    assert by_name["oue"].items_at_once == 20
