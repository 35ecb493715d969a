"""Trials and clones: studies of their own, and a trial leaves nothing behind when the real survey begins."""

from __future__ import annotations

import json

import pytest
from running import running

import localdp as ldp
from audits import recount

KINDS = {
    "plan": {"kind": "plan", "items": ["tea", "coffee"], "epsilon": 2.0},
    "scale": {"kind": "plan", "scale": {"low": 1, "high": 5}, "epsilon": 2.0},
    "discovery": {"kind": "discovery", "bits": 16, "epsilon": 2.0, "users": 2_000},
    "sets": {"kind": "sets", "items": ["tea", "milk", "bread"], "epsilon": 2.0, "users": 2_000},
    "questionnaire": {"kind": "questionnaire", "questions": {"a": ["yes", "no"], "b": ["yes", "no"]}, "epsilon": 2.0},
}
TABLES = (
    "collections", "parts", "uploads", "aggregates", "sources", "usage", "tokens", "trail", "wordings", "shown",
)  # fmt: skip


@pytest.fixture
def collector(database_url):
    with running(database_url) as started:
        yield started


@pytest.fixture
def plain(tmp_path):
    with running(tmp_path / "x.db") as started:
        yield started


def made(collector, **asked):
    answer = collector.ask("POST", "/v1/studies", json={"minimum": 1, **KINDS["plan"], **asked})
    assert answer.status_code == 201, answer.text
    return answer.json()


def copied(collector, study, what, status=201, **terms):
    answer = collector.ask("POST", f"/v1/studies/{study['id']}/{what}", json=terms)
    assert answer.status_code == status, answer.text
    return answer.json()


def plan_of(collector, study):
    return ldp.Plan.from_json(collector.client.get(f"/v1/plans/{study['fingerprint']}/document").content)


@pytest.mark.parametrize("kind", KINDS)
def test_a_trial_and_a_clone_of_every_kind_share_no_fingerprint_with_it(plain, kind):
    study = plain.ask("POST", "/v1/studies", json={**KINDS[kind], "title": "Drinks"}).json()
    trial, clone = copied(plain, study, "trial"), copied(plain, study, "clone", title="Again")
    another, third = copied(plain, study, "trial"), copied(plain, clone, "clone")
    prints = [
        {one["fingerprint"], *(part["fingerprint"] for part in one["parts"])}
        for one in (study, trial, clone, another, third)
    ]
    assert len(set.union(*prints)) == sum(map(len, prints))
    assert (trial["title"], trial["trial_of"], trial["minimum"]) == ("Trial: Drinks", study["id"], 1)
    assert (clone["title"], clone["clone_of"], clone["trial_of"]) == ("Again", study["id"], None)
    assert (clone["minimum"], clone["epsilon"], clone["kind"]) == (100, study["epsilon"], study["kind"])
    assert trial["state"] == clone["state"] == "open"


def test_a_copy_asks_exactly_the_same(plain):
    for asked in KINDS.values():
        study = plain.ask("POST", "/v1/studies", json=asked).json()
        clone = copied(plain, study, "clone")
        one, other = (plain.client.get(f"/v1/studies/{one['id']}/document").json() for one in (study, clone))
        for document in (one, other):
            document.pop("name", None)
            document.pop("part", None)
        assert one == other


def test_a_trial_of_a_study_without_a_title_is_named_by_its_question(plain):
    for told, title in (({"name": "a", "question": "What?"}, "Trial: What?"), ({"survey": "drinks"}, "Trial: drinks")):
        study = plain.ask("POST", "/v1/studies", json={**KINDS["plan"], "title": "", **told})
        assert study.status_code == 201, study.text
        assert copied(plain, study.json(), "trial")["title"] == title


def test_the_same_name_is_the_same_copy(plain):
    study = made(plain)
    first = copied(plain, study, "trial", name="monday")
    assert copied(plain, study, "trial", 200, name="monday")["id"] == first["id"]
    assert copied(plain, study, "trial", 409, name="monday", minimum=7)["code"] == "study-exists"
    assert copied(plain, study, "clone", name="monday")["id"] != first["id"]


@pytest.mark.parametrize(
    "body",
    [
        *([], {"epsilon": 1}, {"name": "No spaces"}, {"name": 7}, {"minimum": -1}, {"draft": "yes"}, "x"),
        *({"labels": None}, {"automatic": None}, {"title": None}),
    ],
)
def test_what_a_copy_cannot_be(plain, body):
    study = made(plain)
    for what in ("trial", "clone"):
        answer = plain.ask("POST", f"/v1/studies/{study['id']}/{what}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
        assert plain.ask("POST", f"/v1/studies/c{'0' * 20}/{what}", json={}).status_code == 404
    trial = copied(plain, study, "trial")
    for what in ("trial", "clone"):
        assert copied(plain, trial, what, 409)["code"] == "is-a-trial"
    assert plain.ask("POST", f"/v1/studies/{trial['id']}/begin").json()["code"] == "is-a-trial"


def test_a_device_under_trial_answers_the_real_survey_as_if_it_had_never_been_asked(plain, tmp_path):
    study = made(plain, items=[f"item {number}" for number in range(200)], mechanism="oue", other="item 199")
    trial = copied(plain, study, "trial")
    store = tmp_path / "device"
    plans = [plan_of(plain, one) for one in (trial, study)]
    devices = [ldp.Client(plan, store=store, upload=plain.url) for plan in plans]
    for device in devices:
        assert device.send("item 7").delivered == 1
    assert [plain.state(plan)["reports"] for plan in plans] == [1, 1]
    assert (
        plans[0].privatize(["item 7"], seed=1).to_bytes()[-20:]
        == plans[1].privatize(["item 7"], seed=1).to_bytes()[-20:]
    )
    bodies = [bytes(row[0]) for row in _rows(plain, "SELECT body FROM uploads ORDER BY seq")]
    assert bodies[0] != bodies[1]  # permanent responses of 200 bits: the same by chance once in 10^40 times


def _rows(collector, sql):
    with collector.service.database.reading() as session:
        return session.execute(sql)


@pytest.mark.parametrize("way", ["begin", "delete"])
def test_a_trial_leaves_no_trace_in_counts(collector, way):
    study = made(collector, title="Drinks", draft=True)
    assert study["state"] == "planned"
    real = plan_of(collector, study)
    refused = collector.upload(real, real.privatize(["tea"]).to_bytes())
    assert (refused.status_code, refused.json()["code"]) == (403, "plan-not-open")
    trial = copied(collector, study, "trial", title="Only a trial", labels={"tea": "a nice cup"})
    tried = plan_of(collector, trial)
    assert collector.upload(tried, tried.privatize(["tea"] * 700).to_bytes(), Wording="1").status_code == 201
    collector.ask("PATCH", f"/v1/studies/{trial['id']}", json={"question": "Only a trial?"})
    token = collector.ask("POST", "/v1/tokens", json={"scope": "read", "plan": trial["id"]}).json()
    assert collector.ask("GET", f"/v1/plans/{tried.fingerprint}/estimates", "read").json()["n"] == 700
    if way == "begin":
        begun = collector.ask("POST", f"/v1/studies/{study['id']}/begin")
        assert (begun.status_code, begun.json()["state"], begun.json()["draft"]) == (200, "open", False)
        assert collector.ask("POST", f"/v1/studies/{study['id']}/begin").status_code == 200
    else:
        assert collector.ask("DELETE", f"/v1/studies/{trial['id']}").status_code == 204
        assert collector.ask("POST", f"/v1/studies/{study['id']}/begin").status_code == 200
    assert collector.upload(real, real.privatize(["coffee"] * 300).to_bytes()).status_code == 201
    assert collector.upload(tried, tried.privatize(["tea"]).to_bytes()).status_code == 404
    estimates = collector.ask("GET", f"/v1/plans/{real.fingerprint}/estimates", "read").json()
    assert estimates["n"] == 300
    assert recount.differences(collector.service.database) == []
    number = collector.service.collections.find(real.fingerprint).id
    for table in TABLES:
        for row in _rows(collector, f"SELECT * FROM {table}"):  # noqa: S608
            text = str(row)
            assert "nly a trial" not in text, table
            assert tried.fingerprint not in text, table
    for table in ("uploads", "aggregates", "parts", "usage", "wordings", "shown"):
        assert {row[0] for row in _rows(collector, f"SELECT collection FROM {table}")} <= {number}, table  # noqa: S608
    assert all(row[0] is None for row in _rows(collector, "SELECT collection FROM tokens"))
    gone = collector.client.get("/v1/token", headers={"Authorization": f"Bearer {token['token']}"})
    assert gone.status_code == 401


def test_deleting_a_study_deletes_its_trials(plain):
    study = made(plain)
    trial = copied(plain, study, "trial")
    other = copied(plain, made(plain, epsilon=1.0), "trial")
    plain.ask("POST", f"/v1/studies/{study['id']}/close")
    assert plain.ask("DELETE", f"/v1/studies/{study['id']}").status_code == 204
    assert plain.ask("GET", f"/v1/studies/{trial['id']}").status_code == 404
    assert plain.ask("GET", f"/v1/studies/{other['id']}").status_code == 200


def test_the_trail_names_what_was_made_and_who_began_it(plain):
    study = made(plain, draft=True)
    trial = copied(plain, study, "trial")
    plain.ask("POST", f"/v1/studies/{study['id']}/begin")
    trail = plain.ask("GET", "/v1/trail", params={"study": study["id"]}).json()["trail"]
    assert [(one["what"], one["detail"]) for one in trail] == [
        ("POST /v1/studies/{study}/begin", ""),
        ("POST /v1/studies/{study}/trial", f"made {trial['id']}"),
        ("POST /v1/studies", ""),
    ]


def test_what_a_draft_is_and_when_it_begins_survive_a_restart(tmp_path):
    with running(tmp_path / "x.db") as first:
        study = made(first, draft=True, opens="2001-01-01", closes="2999-01-01")
        trial = copied(first, study, "trial")
        assert (trial["opens"], trial["closes"]) == (None, None)
    with running(tmp_path / "x.db") as second:
        assert second.ask("GET", f"/v1/studies/{study['id']}").json()["state"] == "planned"
        second.ask("POST", f"/v1/studies/{study['id']}/begin")
        found = second.ask("GET", f"/v1/studies/{study['id']}").json()
        assert (found["state"], found["closes"]) == ("open", "2999-01-01")
        assert json.loads(second.client.get(f"/v1/studies/{study['id']}/document").text)
