"""The golden vectors of domains with a catch-all item."""

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
    assert plan.domain.indices(case["values"]).tolist() == case["indices"]
    assert (
        case["plan"]["domain"]["other"]
        == plan.domain.items[plan.domain.indices([object()] if "items" in case["plan"]["domain"] else [-1])[0]]
    )
