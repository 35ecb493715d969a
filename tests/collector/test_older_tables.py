"""A database whose tables have version 2, as a collector wrote it, is brought up to date, and answers as it did."""

from __future__ import annotations

import importlib.util
import json

import pytest
from paths import ROOT
from running import running

import localdp as ldp
from audits.recount import counted_again
from localdp.collector.storage import collections, open_database, parts, schema, uploads
from localdp.collector.storage.collections import DISCOVERY, PLAN

SPEC = importlib.util.spec_from_file_location("older_tables", ROOT / "audits" / "older_tables.py")
written_before = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(written_before)
CHANGING = {"last_day", "days", "progress"}
"""What an answer tells of uploads that were waiting when the rows were written, and are counted now."""


@pytest.fixture
def old(database_url):
    """The rows that a collector wrote, in a database of its kind: the URL, the rows, and what was answered then."""
    written = written_before.WRITTEN["sqlite" if database_url.startswith("sqlite") else "postgresql"]
    written_before.as_written(database_url, written)
    return database_url, written


def _same(now, then):
    """Whether an answer has everything that it had, as it was."""
    if isinstance(then, dict):
        return all(name in CHANGING or (name in now and _same(now[name], then[name])) for name in then)
    if isinstance(then, list):
        return len(now) == len(then) and all(_same(*pair) for pair in zip(now, then, strict=True))
    return now == then


def test_it_answers_as_it_did(old):
    url, written = old
    with running(url, fold_every=3600.0) as collector:
        collector.tokens = written["tokens"]
        collector.service.tokens.forget()
        for path, then in written["answers"].items():
            answer = collector.ask("GET", path)
            now = answer.json()
            if path == "/v1/tokens":
                now = {"tokens": [one for one in now["tokens"] if one["id"] <= len(then["tokens"])]}
            elif "/plans" in path and "/estimates" not in path:  # two reports came after the answers were written down
                for one in now.get("plans", [now]):
                    waiting = one.get("uploads_waiting", 0)
                    assert waiting in (0, 1)
                    if waiting:
                        one["reports"], one["uploads_waiting"] = one["reports"] - 2, 0
            if "/estimates" in path:
                assert now["n"] == then["n"] + 2
            elif path.endswith("/result"):  # estimated better since, with a row for everybody else
                items, before = now["items"], then["items"]
                assert (now["n"], items["item"]) == (then["n"], [*before["item"], "other"])
                for share, low, high in zip(items["frequency"], before["low"], before["high"], strict=False):
                    assert low <= share <= high
            else:
                assert _same(now, then), path
        (half,) = [one for one in collector.service.studies.every("discovery") if one.study.name == "half"]
        done = collector.ask("POST", f"/v1/discoveries/{half.fingerprint}/advance?round=1").json()
        assert (done["state"], [one["reports"] for one in done["rounds"]]) == ("done", [443, 157])


def test_it_goes_on_taking_uploads_and_knows_those_that_it_had(old):
    url, written = old
    plan = ldp.Plan.from_json(json.dumps(next(v for k, v in written["answers"].items() if k.endswith("/document"))))
    with running(url) as collector:
        body = plan.privatize(["tea", "milk"]).to_bytes()
        assert collector.upload(plan, body, "b" * 32).status_code == 200
        assert collector.upload(plan, body, "c" * 32).status_code == 201
        collector.fold(plan)
        made = collector.collection(epsilon=0.5)
        assert collector.state(made)["reports"] == 0
        asked = {"bits": 16, "epsilon": 4.0, "users": 2_000}
        assert collector.ask("POST", "/v1/discoveries", json=asked).status_code == 201


def test_every_row_has_a_place_in_the_new_tables(old):
    url, written = old
    rows = {table: [tuple(row) for row in rows] for table, rows in written["tables"].items()}
    database = open_database(url)
    with database.reading() as session:
        assert session.execute("SELECT version FROM schema_version") == [(len(schema.STEPS),)]
        plans = [row for row in rows["plans"] if row[7] is None]
        assert sorted(collections.every(session, PLAN)) == sorted(row[1] for row in plans)
        assert collections.every(session, DISCOVERY) == [
            row[1] for row in sorted(rows["discoveries"], key=lambda row: -row[0])
        ]
        names = set()
        for row in plans:
            stored, (part,) = collections.find(session, row[1]), parts.of(session, row[0])
            assert (stored.id, stored.kind, stored.settings, stored.created) == (row[0], PLAN, row[4], row[5])
            assert (part.key, part.plan, part.closed, stored.closed) == ("", row[3], row[6], row[6])
            assert collections.find(session, stored.name) == stored
            names.add(stored.name)
        for row in rows["discoveries"]:
            stored = collections.find(session, row[1][:16])
            assert (stored.form, stored.settings, stored.state, stored.step) == (row[3], row[4], row[5], row[6])
            of = [one for one in rows["rounds"] if one[0] == row[0]]
            found = parts.of(session, stored.id)
            assert [(one.number, one.document, one.needed, one.reports, one.suspect) for one in found] == [
                (one[1], *one[3:]) for one in sorted(of, key=lambda one: one[1])
            ]
            assert [one.key for one in found] == [str(one.number) for one in found]
            names.add(stored.name)
        assert len(names) == len(plans) + 2
        waiting = uploads.parts_waiting(session)
    assert len(waiting) == 2
    assert written_before.differences_from(database, written) == []
    with database.writing() as session:
        session.change("UPDATE uploads SET count = count + 1 WHERE seq = 3")
        session.change("DELETE FROM aggregates WHERE collection = 2")
    assert len(written_before.differences_from(database, written)) == 2
    database.close()


def test_a_step_that_is_cut_short_leaves_the_old_tables(old, monkeypatch):
    url, written = old
    for cut in range(1, len(schema.STEPS[2]), 7):
        broken = (*schema.STEPS[:2], (*schema.STEPS[2][:cut], "SELECT * FROM nothing"))
        with monkeypatch.context() as short:
            short.setattr(schema, "STEPS", broken)
            with pytest.raises(ldp.LocalDPError, match=r"the database .*failed"):
                open_database(url)
    database = open_database(url)
    with database.reading() as session:
        (stored,) = [one for one in parts.every(session) if one[0] == 2]
        part = parts.find(session, stored[2])
        ((uploads_now,),) = session.execute("SELECT COUNT(*) FROM uploads")
    assert uploads_now == len(written["tables"]["uploads"])
    assert sum(one.n for one in counted_again(database, part).values()) == 25
    database.close()
