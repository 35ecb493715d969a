"""Plans of a collector: what can be asked for, what is refused, and what is told about them."""

from __future__ import annotations

import json
import time

import pytest
from running import ITEMS, running

import localdp as ldp


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    with running(tmp_path_factory.mktemp("collections") / "x.db", most_items=1_000) as started:
        yield started


def _create(collector, **asked):
    return collector.ask("POST", "/v1/plans", json=asked)


def test_a_plan_is_created_listed_read_and_never_changed(collector):
    asked = {"title": "Drinks", "question": "What do you drink?\nOne answer.", "items": ITEMS, "epsilon": 1.5}
    asked |= {"mechanism": "oue", "minimum": 50, "opens": "2026-01-01", "closes": "2999-12-31T12:00:00Z"}
    made = _create(collector, **asked)
    assert made.status_code == 201
    answer = made.json()
    assert made.headers["location"] == f"/v1/plans/{answer['fingerprint']}"
    assert {key: answer[key] for key in asked if key != "items"} == {k: v for k, v in asked.items() if k != "items"}
    assert (answer["state"], answer["reports"], answer["size"]) == ("open", 0, 4)
    assert answer["fingerprint"] == ldp.Plan(ITEMS, "oue", 1.5).fingerprint
    assert _create(collector, **asked).status_code == 200
    other = _create(collector, **{**asked, "minimum": 1})
    assert (other.status_code, other.json()["code"]) == (409, "plan-exists")
    listed = collector.ask("GET", "/v1/plans", "read").json()["plans"]
    assert answer["fingerprint"] in [plan["fingerprint"] for plan in listed]
    for name in (answer["fingerprint"], answer["short"]):
        read = collector.ask("GET", f"/v1/plans/{name}", "read").json()
        assert read["title"] == "Drinks"
        assert read["progress"]["released"] is False


def test_the_document_is_the_canonical_plan_with_its_fingerprint_as_etag(collector):
    plan = ldp.Plan(ITEMS, "auto", 4.0, once=1.0, other="something else")
    made = _create(collector, items=ITEMS, epsilon=4, once=1, other="something else").json()
    got = collector.client.get(f"/v1/plans/{made['short']}/document")
    assert got.content == plan.to_json().encode()
    assert got.headers["etag"] == f'"{plan.fingerprint}"'
    assert "max-age" in got.headers["cache-control"]
    again = collector.client.get(f"/v1/plans/{made['short']}/document", headers={"If-None-Match": got.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == got.headers["etag"]


def test_a_plan_can_be_given_whole_or_as_a_size(collector):
    plan = ldp.Plan(ITEMS, "ss", 1.0)
    assert _create(collector, plan=json.loads(plan.to_json())).json()["fingerprint"] == plan.fingerprint
    assert _create(collector, size=77, epsilon=1.0).json()["size"] == 77


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ([], "JSON object"),
        ({"epsilon": 1}, 'a plan needs "items", a list of items, or "size", their number, or "scale" for numbers'),
        ({"items": ITEMS, "size": 4, "epsilon": 1}, 'either "items"'),
        ({"items": "tea", "epsilon": 1}, "list of items"),
        ({"items": ["tea"], "epsilon": 1}, "at least two items"),
        ({"items": ["tea", "tea"], "epsilon": 1}, "tea"),
        ({"items": [["tea"], "b"], "epsilon": 1}, "item"),
        ({"size": True, "epsilon": 1}, "whole number of items"),
        ({"size": 1001, "epsilon": 1}, "at most 1,000 items"),
        ({"size": 5}, "needs an epsilon"),
        ({"size": 5, "epsilon": 99}, "at most 16"),
        ({"size": 5, "epsilon": "1"}, "epsilon must be a number"),
        ({"size": 5, "epsilon": 1, "mechanism": "magic"}, "magic"),
        ({"size": 5, "epsilon": 1, "mechanism": 7}, "is a name"),
        ({"size": 5, "epsilon": 1, "once": 2}, "once"),
        ({"size": 5, "epsilon": 1, "nonsense": 2}, "nonsense"),
        ({"size": 5, "epsilon": 1, "title": 5}, "title"),
        ({"size": 5, "epsilon": 1, "title": "\x1b[2J"}, "title"),
        ({"size": 5, "epsilon": 1, "minimum": -1}, "minimum"),
        ({"size": 5, "epsilon": 1, "minimum": True}, "minimum"),
        ({"size": 5, "epsilon": 1, "write_token": "yes"}, "true or false"),
        ({"size": 5, "epsilon": 1, "opens": "tomorrow"}, "a date such as"),
        ({"size": 5, "epsilon": 1, "closes": 20260131}, "a date such as"),
        ({"size": 5, "epsilon": 1, "opens": "2026-02-01", "closes": "2026-01-31"}, "later than"),
        ({"plan": {"format": "other"}}, "not a plan"),
        ({"plan": {}, "epsilon": 1}, "one or the other"),
        ({"size": 5, "epsilon": 1, "other": {"a": 1}}, "item"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_sentence(collector, asked, sentence):
    answer = collector.ask("POST", "/v1/plans", json=asked)
    assert answer.status_code == 422, answer.text
    assert sentence in answer.json()["detail"]
    assert len(answer.text) < 2_000


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"size": 5, "size": 6}', b"[" * 100_000, b'{"size": NaN}'])
def test_what_is_not_json_is_refused(collector, body):
    answer = collector.ask("POST", "/v1/plans", content=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-json")


def test_retention_drops_bodies_and_export_says_so(tmp_path):
    with running(tmp_path / "x.db", keep_days=0) as collector:
        plan = collector.collection()
        body = plan.privatize(ITEMS * 3).to_bytes()
        assert collector.upload(plan, body, "ab" * 16).status_code == 201
        collector.fold(plan)
        assert collector.service.retention.drop() == 0  # those of today stay
        assert collector.service.retention.drop(now=time.time() + 86_400) == 1
        exported = collector.ask("GET", f"/v1/plans/{plan.fingerprint}/export")
        assert exported.headers["reports-dropped"] == "12"
        assert collector.upload(plan, body, "ab" * 16).status_code == 200
        assert collector.state(plan)["counted"] == 12


def test_metrics_are_text_that_prometheus_reads(collector):
    plan = collector.collection(epsilon=1.1)
    collector.upload(plan, plan.privatize(["tea"] * 7).to_bytes())
    collector.fold(plan)
    text = collector.client.get("/metrics").text
    figures = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert int(figures["localdp_reports_stored_total"]) >= 7
    assert int(figures["localdp_uploads_folded_total"]) >= 1
    assert figures['localdp_commit_seconds_bucket{le="+Inf"}'] == figures["localdp_commit_seconds_count"]
    assert float(figures["localdp_database_bytes"]) > 0
    for name in {line.partition("{")[0].partition(" ")[0] for line in text.splitlines() if not line.startswith("#")}:
        assert "# TYPE " + name.replace("_bucket", "").replace("_sum", "").removesuffix("_count") in text
    assert plan.fingerprint[:16] not in text
