"""A plan of a kilobyte is accepted or refused before it costs memory, whatever it asks for, in both languages.

`audits/large_plans.py` reads all of these plans, and measures the time too, which decides no test.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
from paths import ROOT

import localdp as ldp
from localdp.errors import PlanLimitError

MEASURE = """
import json, sys
sys.path.insert(0, sys.argv[1])
import large_plans as plans
step = int(sys.argv[3])
texts = [*list(plans.documents())[::step], *plans.valid(step)]
print(json.dumps({**getattr(plans, sys.argv[2])(texts), "most": plans.MOST_MEMORY}))
"""


@pytest.mark.parametrize(
    ("language", "step"),
    [
        ("in_python", 13),
        pytest.param(
            "in_javascript", 13, marks=pytest.mark.skipif(not shutil.which("node"), reason="Node is not installed")
        ),
    ],
)
def test_no_plan_of_a_kilobyte_takes_a_hundred_megabytes(language, step):
    """In a process of its own, whose largest memory before and after is compared."""
    line = [sys.executable, "-c", MEASURE, str(ROOT / "audits"), language, str(step)]
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=300)  # noqa: S603
    found = json.loads(done.stdout)
    assert found["bytes"] < found["most"], found
    assert found["read"] > 2_000
    assert found["accepted"] > 50


@pytest.mark.parametrize("mechanism", ["oue", "oue+sue", "privset", "grr"])
def test_too_many_numbered_items_are_refused_before_anything_is_derived(mechanism, monkeypatch):
    options = {"oue+sue": {"once": 0.2}, "privset": {"set_size": 2}}.get(mechanism, {})
    text = ldp.Plan(1_001, mechanism, 0.5, **options).to_json()
    assert ldp.Plan.from_json(text, most_items=1_001).domain.size == 1_001
    monkeypatch.setattr("localdp.plan.plan.create", lambda *_, **__: pytest.fail("a mechanism was derived"))
    with pytest.raises(PlanLimitError, match="has 1,001 items, and this device takes at most 1,000"):
        ldp.Plan.from_json(text, most_items=1_000)


@pytest.mark.parametrize("size", [2**32 + 1, 2**53, 10**300, -1, 0, True, "1001", 1e9])
def test_what_is_no_number_of_items_is_not_called_too_many(size):
    document = json.loads(ldp.Plan(10, "oue", 0.5).to_json()) | {"domain": {"size": size}}
    with pytest.raises(ldp.errors.PlanError) as caught:
        ldp.Plan.from_json(json.dumps(document), most_items=1_000)
    assert not isinstance(caught.value, PlanLimitError)
