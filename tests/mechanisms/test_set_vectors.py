"""The golden vectors of sets, made by the library and by a client that is written from the documentation."""

from __future__ import annotations

import base64
import json

import pytest
import reference_client as reference
from paths import VECTORS

import localdp as ldp
from localdp.errors import WireError
from localdp.item_sets import ItemSets
from vectors.replay import Replay

CASES = json.loads((VECTORS / "sets.json").read_text("utf-8"))
GOOD = CASES["good"]
NAMES = {json.loads(case["plan"])["mechanism"] for case in GOOD}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_the_library_makes_the_pinned_reports(name):
    for case in GOOD:
        plan = ldp.Plan.from_json(case["plan"])
        if plan.mechanism.name != name:
            continue
        source = Replay(bytes.fromhex(case["random"]))
        rows = plan.mechanism.privatize_sets(ItemSets.read([case["values"]], plan.domain), source)
        assert base64.b64encode(rows.tobytes()).decode() == case["report"]
        assert source.used == len(case["random"]) // 2
        assert plan.fingerprint == case["fingerprint"]
        assert plan.read(base64.b64decode(case["batch"])).rows.tobytes() == rows.tobytes()


def test_malformed_batches_are_refused_with_their_code():
    for case in CASES["bad"]:
        plan = ldp.Plan.from_json(case["plan"])
        with pytest.raises(WireError) as refused:
            plan.read(case["json"] if "json" in case else base64.b64decode(case["batch"]))
        assert refused.value.code.value == case["code"], case["what"]
    codes = {case["code"] for case in CASES["bad"]}
    assert {"symbol-out-of-range", "nonzero-padding", "wrong-weight"} <= codes


@pytest.mark.parametrize("name", ["grr", "oue", "privset", "sue"])
def test_a_client_written_from_the_documentation_makes_the_same_reports(name):
    tried = 0
    for case in GOOD:
        plan = reference.read(case["plan"])
        if plan["mechanism"] == name:
            items = plan["domain"].get("items", range(plan["domain"].get("size", 0)))
            words = reference.Words(bytes.fromhex(case["random"]))
            bits = reference.of_set(plan, [items.index(value) for value in case["values"]], words)
            assert base64.b64encode(reference.packed(bits)).decode() == case["report"]
            assert words.used == len(words.data)
            tried += 1
    assert tried >= 4
