"""The golden vectors of domains with a catch-all item, and of scales."""

from __future__ import annotations

import json

import pytest
from paths import VECTORS

import localdp as ldp

CASES = json.loads((VECTORS / "domain.json").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["fingerprint"][:8])
def test_values_get_the_indices_of_the_vectors(case):
    plan = ldp.Plan.from_json(json.dumps(case["plan"]))
    assert plan.fingerprint == case["fingerprint"]
    assert plan.question.read(case["values"]).items.tolist() == case["indices"]


@pytest.mark.parametrize(
    "case", [one for one in CASES if "domain" in one["plan"]], ids=lambda one: one["fingerprint"][:8]
)
def test_what_is_not_listed_gets_the_catch_all(case):
    plan, domain = ldp.Plan.from_json(json.dumps(case["plan"])), case["plan"]["domain"]
    place = plan.domain.indices([object()] if "items" in domain else [-1])[0]
    assert plan.domain.items[place] == domain["other"]
