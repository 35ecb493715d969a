"""The words of a study can be corrected, outside its fingerprint; what people were shown is known, by day."""

from __future__ import annotations

import pytest
from running import running

from audits import recount


@pytest.fixture
def collector(database_url):
    with running(database_url) as started:
        yield started


def test_labels_are_corrected_and_reports_are_counted_by_what_people_were_shown(collector):
    plan = collector.collection(question="What?", title="For us")
    address = f"/v1/studies/{plan.fingerprint}"
    first = collector.client.get(f"{address}/wording")
    assert first.json() == {"version": 1, "question": "What?", "labels": {}}
    again = {"If-None-Match": first.headers["etag"]}
    assert collector.client.get(f"{address}/wording", headers=again).status_code == 304
    body = plan.privatize(["tea"] * 5).to_bytes()
    for told in ("1", "1", "2", "none", "-1", "99999999999"):  # version 2 is not there yet
        assert collector.upload(plan, body, Wording=told).status_code == 201
    assert collector.upload(plan, body).status_code == 201
    changed = collector.ask("PATCH", address, json={"labels": {"tea": "Tee"}, "question": "Was?"})
    assert changed.json()["wording"] == 2
    assert changed.json()["fingerprint"] == plan.fingerprint
    same = {"labels": {"tea": "Tee"}, "archived": True}
    assert collector.ask("PATCH", address, json=same).json()["wording"] == 2
    new = collector.client.get(f"{address}/wording", headers=again)
    assert (new.status_code, new.json()["labels"], new.json()["version"]) == (200, {"tea": "Tee"}, 2)
    upload_id = "ab" * 16
    for _ in range(3):  # sent again, it is still one
        assert collector.upload(plan, body, upload_id, Wording="2").status_code in (200, 201)
    every = collector.ask("GET", f"{address}/wordings", "read").json()
    assert [(one["version"], one["question"], one["labels"]) for one in every["wordings"]] == [
        (1, "What?", {}),
        (2, "Was?", {"tea": "Tee"}),
    ]
    assert every["wordings"][0]["until"] == every["wordings"][1]["since"]
    assert [(one["version"], one["reports"]) for one in every["shown"]] == [(1, 10), (2, 5)]
    assert collector.state(plan)["reports"] == 40
    collector.fold(plan)
    assert recount.differences(collector.service.database) == []


def test_labels_are_for_what_people_read(collector):
    asked = {"kind": "questionnaire", "questions": {"a": ["yes", "no"], "b": {"low": 1, "high": 5}}, "epsilon": 2.0}
    labels = {"a": "Do you?", "yes": "Ja", "5": "very good"}
    study = collector.ask("POST", "/v1/studies", json={**asked, "labels": labels})
    assert (study.status_code, study.json()["labels"]) == (201, labels)
    assert collector.client.get(f"/v1/studies/{study.json()['id']}/wording").json()["labels"] == labels
    plan = collector.collection()
    for wrong in ({"cocoa": "x"}, {"tea": ""}, {"tea": "x" * 201}, {"tea": 7}, {"tea": "two\nlines"}, ["tea"]):
        answer = collector.ask("PATCH", f"/v1/studies/{plan.fingerprint}", json={"labels": wrong})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request"), wrong
        answer = collector.ask("POST", "/v1/plans", json={"items": ["tea", "milk"], "epsilon": 1, "labels": wrong})
        assert answer.status_code == 422, wrong


def test_pages_may_send_the_header(collector):
    plan = collector.collection()
    asked = collector.client.options(f"/v1/plans/{plan.fingerprint}/reports")
    assert "Wording" in asked.headers["access-control-allow-headers"]
