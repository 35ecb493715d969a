"""The trail: what an administrator changes and the note of it are one transaction."""

from __future__ import annotations

import pytest
from running import running

from localdp.collector.storage import tokens, trail


@pytest.fixture
def collector(tmp_path):
    with running(tmp_path / "x.db") as started:
        yield started


def entries(collector, **query):
    return [one["what"] for one in collector.ask("GET", "/v1/trail", params=query).json()["trail"]]


def _fails(*_arguments):
    raise RuntimeError("the power went out")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/tokens", {"scope": "read"}),
        ("POST", "/v1/plans", {"items": ["a", "b"], "epsilon": 1.5}),
        ("POST", "/v1/studies", {"kind": "plan", "items": ["a", "b"], "epsilon": 1.5}),
        ("PATCH", "/v1/studies/{study}", {"title": "Other"}),
        ("POST", "/v1/studies/{study}/trial", {}),
        ("POST", "/v1/studies/{study}/clone", {}),
        ("POST", "/v1/studies/{study}/close", None),
        ("POST", "/v1/plans/{study}/close", None),
    ],
)
def test_nothing_changes_without_a_note(collector, monkeypatch, method, path, body):
    plan = collector.collection(title="Before")
    before = _everything(collector)
    monkeypatch.setattr(trail, "add", _fails)
    answer = collector.ask(method, path.replace("{study}", plan.fingerprint), json=body)
    assert answer.status_code == 500
    assert _everything(collector) == before
    monkeypatch.undo()
    assert collector.ask(method, path.replace("{study}", plan.fingerprint), json=body).status_code < 300
    assert _everything(collector) != before
    noted = [one for one in entries(collector) if one == f"{method} {path.replace('/plans/{study}', '/plans/{plan}')}"]
    assert len(noted) == (2 if path == "/v1/plans" else 1)


def _everything(collector):
    """All rows, but when tokens were used."""
    with collector.service.database.reading() as session:
        rows = {table: session.execute(f"SELECT * FROM {table}") for table in ("collections", "parts", "uploads")}  # noqa: S608
        return rows | {"tokens": [one.id for one in tokens.every(session)]}


def test_a_deletion_that_stops_half_way_is_in_the_trail(collector, monkeypatch):
    plan = collector.collection()
    collector.upload(plan, plan.privatize(["tea"] * 5).to_bytes())
    collector.ask("POST", f"/v1/plans/{plan.fingerprint}/close")
    study = collector.ask("GET", f"/v1/studies/{plan.fingerprint}").json()["id"]
    monkeypatch.setattr("localdp.collector.life.collections.delete", _fails)
    assert collector.ask("DELETE", f"/v1/studies/{study}").status_code == 500
    assert entries(collector, study=study)[0] == "DELETE /v1/studies/{study}"
    monkeypatch.undo()
    assert collector.ask("DELETE", f"/v1/studies/{study}").status_code == 204
    assert entries(collector, study=study).count("DELETE /v1/studies/{study}") == 2


@pytest.mark.parametrize("name", ["%00", "x", "0" * 64, "c" + "0" * 20, "%F0%9F%8D%B5"])
def test_a_name_that_is_none_is_not_looked_for(database_url, name):
    with running(database_url) as collector:
        for method, path in (("POST", "begin"), ("POST", "close"), ("POST", "reopen")):
            assert collector.ask(method, f"/v1/studies/{name}/{path}").status_code == 404


def test_what_is_refused_is_not_in_the_trail_and_what_changes_nothing_is(collector):
    plan = collector.collection()
    study = collector.ask("GET", f"/v1/studies/{plan.fingerprint}").json()["id"]
    assert collector.ask("POST", f"/v1/studies/{study}/reopen").status_code == 409
    assert collector.ask("PATCH", f"/v1/studies/{study}", json={"title": 7}).status_code == 422
    assert entries(collector, study=study) == ["POST /v1/plans"]
    assert collector.ask("POST", f"/v1/studies/{study}/begin").status_code == 200
    assert entries(collector, study=study) == ["POST /v1/studies/{study}/begin", "POST /v1/plans"]


def test_the_trail_of_a_copy_says_who_made_it(collector):
    plan = collector.collection()
    made = collector.ask("POST", f"/v1/studies/{plan.fingerprint}/clone", json={}).json()
    (one,) = collector.ask("GET", "/v1/trail", params={"study": made["id"]}).json()["trail"]
    assert (one["what"], one["who"]) == ("POST /v1/studies/{study}/clone", "admin")
