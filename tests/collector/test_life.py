"""The life of a collection after it was made: corrected, archived, closed, opened again, deleted; and the trail."""

from __future__ import annotations

import secrets

import pytest
from running import running

from audits import recount
from localdp.collector.storage import open_database

TABLES = ("collections", "parts", "uploads", "aggregates", "sources", "usage", "tokens", "trail")


@pytest.fixture(params=["sqlite", "postgresql"])
def collector(request, tmp_path):
    file = tmp_path / "x.db"
    with running(file if request.param == "sqlite" else request.getfixturevalue("postgres")()) as started:
        if request.param == "sqlite":
            started.file = file
        yield started


def study_of(collector, plan):
    return collector.ask("GET", f"/v1/studies/{plan.fingerprint}").json()


def trail(collector, **query):
    return collector.ask("GET", "/v1/trail", params=query).json()["trail"]


def test_words_are_corrected_and_the_trail_says_what_was_there_before(collector):
    plan = collector.collection(title="Drnks", question="What?")
    study = study_of(collector, plan)
    answer = collector.ask("PATCH", f"/v1/studies/{study['id']}", json={"title": "Drinks", "archived": True})
    assert answer.status_code == 200, answer.text
    assert (answer.json()["title"], answer.json()["question"], answer.json()["archived"]) == ("Drinks", "What?", True)
    found = collector.ask("GET", f"/v1/plans/{plan.fingerprint}").json()
    assert (found["title"], found["archived"]) == ("Drinks", True)
    assert found["fingerprint"] == plan.fingerprint
    (entry, made) = trail(collector, study=study["id"])[:1] + trail(collector)[1:2]
    assert (entry["what"], entry["who"]) == ("PATCH /v1/studies/{study}", "admin")
    assert "'Drnks' became 'Drinks'" in entry["detail"]
    assert made["what"] == "POST /v1/plans"


@pytest.mark.parametrize("body", [{}, {"epsilon": 2}, {"title": 7}, {"archived": "yes"}, {"title": "x" * 201}, []])
def test_what_is_asked_cannot_be_corrected(collector, body):
    plan = collector.collection()
    answer = collector.ask("PATCH", f"/v1/studies/{plan.fingerprint}", json=body)
    assert answer.status_code == 422, answer.text
    assert collector.ask("PATCH", f"/v1/studies/{plan.fingerprint}", "read", json={"title": "x"}).status_code == 403


def test_one_that_ended_on_its_date_stays_so_and_can_be_deleted(collector):
    plan = collector.created_long_ago(closes="2001-01-01")
    route = f"/v1/studies/{plan.fingerprint}"
    assert collector.ask("POST", f"{route}/reopen").json()["code"] == "study-closed"
    assert collector.ask("DELETE", route).status_code == 204
    assert collector.client.get(f"{route}/document").status_code == 404


def test_a_closed_collection_is_opened_again_and_counts_on(collector):
    plan = collector.collection()
    assert collector.upload(plan, plan.privatize(["tea"]).to_bytes()).status_code == 201
    assert collector.ask("POST", f"/v1/studies/{plan.fingerprint}/reopen").status_code == 409
    assert collector.ask("POST", f"/v1/plans/{plan.fingerprint}/close").status_code == 200
    assert collector.upload(plan, plan.privatize(["tea"]).to_bytes()).status_code == 409
    assert collector.ask("POST", f"/v1/studies/{plan.fingerprint}/reopen").json()["state"] == "open"
    assert collector.upload(plan, plan.privatize(["tea"]).to_bytes()).status_code == 201
    assert collector.state(plan)["reports"] == 2


def test_a_deleted_collection_leaves_nothing(collector):
    """Its rows are gone, and so are its bytes in the file of SQLite: reports, title and fingerprint."""
    title = f"Secret title {secrets.token_hex(8)}"
    plan = collector.collection(title=title, epsilon=1.9)
    kept = collector.collection(epsilon=1.8)
    for one in (plan, kept):
        collector.upload(one, one.privatize(["tea"] * 300).to_bytes())
    assert collector.ask("GET", f"/v1/plans/{plan.fingerprint}/estimates", "read").json()["n"] == 300
    study = study_of(collector, plan)
    collector.ask("PATCH", f"/v1/studies/{study['id']}", json={"question": f"about {title}"})
    address = f"/v1/studies/{study['id']}"
    assert collector.ask("DELETE", address).status_code == 409
    collector.ask("POST", f"{address}/close")
    assert collector.ask("DELETE", address).status_code == 204
    for gone in (address, f"/v1/plans/{plan.fingerprint}", f"/v1/plans/{plan.fingerprint}/estimates"):
        assert collector.ask("GET", gone).status_code == 404
    assert collector.upload(plan, plan.privatize(["tea"]).to_bytes()).status_code == 404
    assert title not in collector.ask("GET", "/v1/plans").text
    what = [(entry["what"], entry["detail"]) for entry in trail(collector, study=study["id"])]
    assert what[0] == ("DELETE /v1/studies/{study}", "")
    assert all(title not in detail for _, detail in what)
    with collector.service.database.reading() as session:
        for table in TABLES:
            for row in session.execute(f"SELECT * FROM {table}"):  # noqa: S608
                assert title not in str(row)
                assert plan.fingerprint not in str(row)
    assert collector.ask("GET", f"/v1/plans/{kept.fingerprint}/estimates", "read").json()["n"] == 300
    assert recount.differences(collector.service.database) == []
    if hasattr(collector, "file"):
        files = [path for path in collector.file.parent.iterdir() if path.name.startswith("x.db")]
        assert files
        for path in files:
            assert title.encode() not in path.read_bytes(), path.name
            assert plan.fingerprint.encode() not in path.read_bytes(), path.name
    again = collector.collection(title=title, epsilon=1.9)
    assert again == plan
    assert collector.state(again)["reports"] == 0


def test_another_collector_notices_what_was_deleted_and_renamed(tmp_path):
    with running(tmp_path / "x.db") as first:
        plan = first.collection(title="Before")
        first.ask("PATCH", f"/v1/studies/{plan.fingerprint}", json={"title": "After"})
        second = type(first.service.collections)(open_database(str(tmp_path / "x.db")))
        assert second.find(plan.fingerprint).terms.title == "After"
        first.ask("PATCH", f"/v1/studies/{plan.fingerprint}", json={"title": "Later"})
        second.refresh()
        assert second.find(plan.fingerprint).terms.title == "Later"
        first.ask("POST", f"/v1/plans/{plan.fingerprint}/close")
        first.ask("DELETE", f"/v1/studies/{plan.fingerprint}")
        second.refresh()
        assert second.find(plan.fingerprint) is None
