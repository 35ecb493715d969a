"""The golden vectors of plans: fingerprints and realised epsilons of good ones, and the error codes of bad ones."""

from __future__ import annotations

import json

import pytest
from paths import VECTORS

from localdp.errors import PlanError
from localdp.plan import Plan

PLANS = json.loads((VECTORS / "plans.json").read_text("utf-8"))


def test_good_plans_have_their_fingerprints_and_epsilons():
    for case in PLANS["good"]:
        plan = Plan.from_json(case["plan"])
        assert plan.to_json() == case["plan"]
        assert plan.fingerprint == case["fingerprint"]
        assert plan.mechanism.epsilon == case["epsilon"]
        assert plan.mechanism.epsilon_once == case["epsilon_once"]


@pytest.mark.parametrize("case", PLANS["bad"], ids=lambda case: case["what"][:60])
def test_bad_plans_are_refused_with_their_code(case):
    with pytest.raises(PlanError, match=r"^(this|a report|NaN)") as refused:
        Plan.from_json(case["plan"], **case["limits"])
    assert refused.value.code == case["code"]


def test_the_vectors_show_both_codes():
    assert {case["code"] for case in PLANS["bad"]} == {"bad-plan", "plan-limit"}
