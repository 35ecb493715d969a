"""A database with the very first tables is brought up to date, in both databases, and goes on."""

from __future__ import annotations

import importlib.util

import pytest
from paths import ROOT
from running import running

import localdp as ldp
from localdp.collector.storage import open_database, schema

SPEC = importlib.util.spec_from_file_location("older_tables", ROOT / "audits" / "older_tables.py")
written_before = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(written_before)


@pytest.fixture
def first(database_url, monkeypatch):
    """The plans of the rows that version 2 wrote, in the tables of version 1, which knew no discoveries."""
    written = written_before.WRITTEN["sqlite" if database_url.startswith("sqlite") else "postgresql"]
    tables = written["tables"]
    plans = [row[:7] for row in tables["plans"] if row[7] is None]
    numbers = {row[0] for row in plans}
    kept = {
        "plans": plans,
        "uploads": [row for row in tables["uploads"] if row[2] in numbers],
        "aggregates": [row for row in tables["aggregates"] if row[0] in numbers],
        "sources": tables["sources"],
        "tokens": [row for row in tables["tokens"] if row[4] is None or row[4] in numbers],
    }
    with monkeypatch.context() as older:
        older.setattr(schema, "STEPS", schema.STEPS[:1])
        database = open_database(database_url)
    own = "" if database_url.startswith("sqlite") else "OVERRIDING SYSTEM VALUE "
    with database.writing() as session:
        for table, rows in kept.items():
            for row in rows:
                marks = ", ".join("?" * len(row))
                session.change(f"INSERT INTO {table} {own}VALUES ({marks})", written_before.decoded(row))
        if own:
            for table, column in (("plans", "id"), ("uploads", "seq"), ("tokens", "id")):
                sql = f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), MAX({column})) FROM {table}"  # noqa: S608
                session.execute(sql)
        assert session.execute("SELECT version FROM schema_version") == [(1,)]
    database.close()
    return database_url, written, kept


def test_the_first_tables_are_brought_up_to_date_and_answer_as_they_did(first):
    url, written, kept = first
    with running(url, fold_every=3600.0) as collector:
        with collector.service.database.reading() as session:
            assert session.execute("SELECT version FROM schema_version") == [(len(schema.STEPS),)]
            assert session.execute("SELECT COUNT(*) FROM uploads") == [(len(kept["uploads"]),)]
            assert kept["aggregates"]
            for plan, day, n, _, _, counts in map(written_before.decoded, kept["aggregates"]):
                sql = "SELECT n, counts FROM aggregates WHERE collection = ? AND day = ? AND segment = ''"
                ((now, there),) = session.execute(sql, (plan, day))
                assert (now, bytes(there)) == (n, counts)
        collector.tokens = written["tokens"]
        collector.service.tokens.forget()
        for row in kept["plans"]:
            document = collector.client.get(f"/v1/plans/{row[1]}/document")
            assert document.text == row[3]
            plan = ldp.Plan.from_json(document.text)
            collector.fold(plan)
            then, now = written["answers"][f"/v1/plans/{row[1]}"], collector.state(plan)
            more = now["reports"] - then["reports"]
            assert more in (0, 2)  # one upload came after the answers were written down
            for name in ("title", "question", "minimum", "state", "fingerprint", "epsilon", "created", "closed"):
                assert now[name] == then[name], name
        again = {row[1]: row for row in kept["plans"]}
        plan = next(one for one in map(collector.service.collections.find, again) if one.closed is None).plan
        body = plan.privatize(["tea", "milk"]).to_bytes()
        assert collector.upload(plan, body, "b" * 32).status_code == 200  # it was there
        assert collector.upload(plan, body, "d" * 32).status_code == 201
        study = collector.ask("GET", f"/v1/studies/{plan.fingerprint}").json()
        assert (study["wording"], study["trial_of"], study["draft"]) == (1, None, False)
        assert collector.ask("POST", f"/v1/studies/{study['id']}/trial", json={}).status_code == 201
        assert collector.ask("PATCH", f"/v1/studies/{study['id']}", json={"title": "New"}).json()["wording"] == 2
