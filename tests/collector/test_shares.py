"""Tokens for one study, and for some time: what a shared link holds."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from running import PATIENCE, running

from localdp.collector.routes import ROUTES
from localdp.collector.storage import tokens


@pytest.fixture
def collector(database_url):
    with running(database_url) as started:
        yield started


def shared(collector, plan, **more):
    body = {"scope": "read", "plan": plan.fingerprint, "expires": "2999-01-01", **more}
    answer = collector.ask("POST", "/v1/tokens", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def asked(collector, token, path, method="GET"):
    return collector.client.request(method, path, headers={"Authorization": f"Bearer {token['token']}"})


def test_it_opens_one_study_and_nothing_else(collector):
    plan, other = collector.collection(), collector.collection(epsilon=1.0)
    for one in (plan, other):
        collector.upload(one, one.privatize(["tea"] * 300).to_bytes())
    token = shared(collector, plan)
    assert (token["plan"], token["expires"]) == (plan.fingerprint, "2999-01-02T00:00:00Z")
    mine = asked(collector, token, "/v1/token").json()
    assert (mine["id"], mine["scope"], mine["plan"]) == (token["id"], "read", plan.fingerprint)
    study = asked(collector, token, f"/v1/studies/{plan.fingerprint}").json()["id"]
    names = {"{plan}": plan.fingerprint, "{study}": study}
    tried = 0
    for route in ROUTES:
        if route.scope not in ("read", "admin") or "{discovery}" in route.path:
            continue
        path = route.path
        for word, name in names.items():
            path = path.replace(word, name)
        own = asked(collector, token, path, route.method).status_code
        if route.scope == "admin" or path == route.path:
            assert own == (200 if path == "/v1/token" else 403), (route.method, path)
            continue
        assert own not in (401, 403), path
        elsewhere = path.replace(plan.fingerprint, other.fingerprint).replace(study, other.fingerprint)
        assert asked(collector, token, elsewhere, route.method).status_code == 403, elsewhere
        assert (
            asked(collector, token, path.replace(plan.fingerprint, "0" * 64).replace(study, "0" * 64)).status_code
            == 403
        )
        tried += 1
    assert tried >= 7
    assert asked(collector, token, f"/v1/plans/{plan.fingerprint}/estimates").json()["n"] == 300


def test_it_ends_by_itself_or_when_it_is_revoked(collector, monkeypatch):
    plan = collector.collection()
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    token, revoked = shared(collector, plan, expires=soon), shared(collector, plan)
    path = f"/v1/plans/{plan.fingerprint}"
    assert asked(collector, token, path).status_code == asked(collector, revoked, path).status_code == 200
    assert collector.ask("DELETE", f"/v1/tokens/{revoked['id']}").status_code == 204
    assert asked(collector, revoked, path).status_code == 401
    later = time.time() + 3601
    monkeypatch.setattr("localdp.collector.tokens.time.time", lambda: later)
    answer = asked(collector, token, path)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    assert "expired" in answer.json()["detail"]


def test_the_last_day_that_has_a_date_can_be_the_end(collector):
    made = collector.ask("POST", "/v1/tokens", json={"scope": "read", "expires": "9999-12-31"})
    assert (made.status_code, made.json()["expires"]) == (201, "9999-12-31T23:59:59Z")
    assert made.json()["id"] in [one["id"] for one in collector.ask("GET", "/v1/tokens").json()["tokens"]]


@pytest.mark.parametrize("expires", ["2001-01-01", "soon", 7, [], "2999-13-01"])
def test_an_end_that_is_none_is_refused(collector, expires):
    answer = collector.ask("POST", "/v1/tokens", json={"scope": "read", "expires": expires})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")


def test_a_token_that_ends_is_not_the_one_that_must_stay(collector):
    made = collector.ask("POST", "/v1/tokens", json={"scope": "admin", "expires": "2999-01-01"}).json()
    others = [one["id"] for one in collector.ask("GET", "/v1/tokens").json()["tokens"] if one["scope"] == "admin"]
    headers = {"Authorization": f"Bearer {made['token']}"}
    last = [one for one in others if one != made["id"]]
    for one in last[:-1]:
        assert collector.client.delete(f"/v1/tokens/{one}", headers=headers).status_code == 204
    assert collector.client.delete(f"/v1/tokens/{last[-1]}", headers=headers).json()["code"] == "last-admin"
    assert collector.ask("POST", "/v1/tokens", json={"scope": "admin", "plan": "0" * 64}).status_code == 422


def test_the_last_use_is_noted_and_only_a_hash_is_stored(collector):
    plan = collector.collection()
    token = shared(collector, plan, name="for the board")
    assert token["used"] is None
    asked(collector, token, "/v1/token")
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        (listed,) = [one for one in collector.ask("GET", "/v1/tokens").json()["tokens"] if one["id"] == token["id"]]
        if listed["used"] is not None:
            break
    assert listed["used"].startswith("20")
    assert listed["expires"] == token["expires"]
    with collector.service.database.reading() as session:
        assert token["token"] not in str(tokens.every(session))


def test_a_write_token_of_one_study_may_end_too(collector):
    plan = collector.collection(write_token=True)
    token = shared(collector, plan, scope="write")
    body, bearer = plan.privatize(["tea"]).to_bytes(), f"Bearer {token['token']}"
    assert collector.upload(plan, body, Authorization=bearer).status_code == 201
    assert asked(collector, token, "/v1/token").status_code == 403
