"""`localdp pull` and the recipes for data teams: the same rows as the view, in every format."""

from __future__ import annotations

import json
import re

import pyarrow.parquet as pq
import pytest
from command import localdp
from paths import ROOT
from running import running

from localdp import files


@pytest.fixture
def collector(tmp_path):
    with running(tmp_path / "x.db", publish_every=0.0) as started:
        plan = started.collection(title="Drinks", question="What?")
        started.upload(plan, plan.privatize(["tea"] * 300 + ["milk"] * 100, seed=1).to_bytes())
        started.fold(plan)
        started.plan = plan
        started.collection(title="Too few", epsilon=1.0, minimum=100)
        study = started.ask("GET", f"/v1/studies/{plan.fingerprint}").json()["id"]
        started.ask("POST", f"/v1/studies/{study}/trial", json={})
        started.service.publishing.publish()
        yield started


def pull(collector, folder, *arguments, scope="read"):
    known = ("--url", collector.url, "--token", collector.tokens[scope])
    return localdp("pull", *known, *arguments, cwd=folder)


def view(collector):
    columns = "study, survey, title, question, part, item, frequency, low, high, share, share_low, share_high, reports"
    with collector.service.database.reading() as session:
        return session.execute(f"SELECT {columns} FROM latest_estimates ORDER BY item")  # noqa: S608


def test_the_file_has_the_rows_of_the_view(collector, tmp_path):
    shown = pull(collector, tmp_path, "-o", "e.parquet")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout == "e.parquet: 4 rows of 1 study\n"
    assert "Too few: the collector refuses" in shown.stderr
    table = pq.read_table(tmp_path / "e.parquet").to_pylist()
    table.sort(key=lambda row: row["item"])
    for row, seen in zip(table, view(collector), strict=True):
        for value, there in zip(list(row.values())[:13], seen, strict=True):
            assert value == (pytest.approx(there, abs=1e-3) if isinstance(there, float) else there)
    assert pull(collector, tmp_path, "-o", "e.parquet").returncode == 2  # it exists
    assert pull(collector, tmp_path, "-o", "e.csv").returncode == 0
    assert (
        (tmp_path / "e.csv").read_text().splitlines()[0].startswith('"study","survey","title","question","part","item"')
    )
    assert files.column_values(tmp_path / "e.csv", "item")


def test_who_may_not_and_one_study(collector, tmp_path):
    assert pull(collector, tmp_path, "-o", "x.csv", scope="write").returncode == 2
    body = {"scope": "read", "plan": collector.plan.fingerprint, "expires": "2999-01-01"}
    token = collector.ask("POST", "/v1/tokens", json=body).json()["token"]
    known = ("--url", collector.url, "--token", token)
    shown = localdp("pull", *known, "--study", collector.plan.fingerprint, "-o", "-", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count("\n") == 5
    assert localdp("pull", *known, "-o", "-", cwd=tmp_path).returncode == 2


def test_the_dbt_model_runs_on_the_view(collector):
    sql = (ROOT / "deploy" / "dbt" / "models" / "survey_shares.sql").read_text("utf-8")
    sql = re.sub(r"\{\{.*?\}\}", "latest_estimates", sql)
    with collector.service.database.reading() as session:
        rows = session.execute(f"SELECT item, share, best_rank, worst_rank FROM ({sql}) AS ranked ORDER BY share DESC")  # noqa: S608
    assert [row[0] for row in rows[:2]] == ["tea", "milk"]
    assert rows[0][2:] == (1, 1)
    assert all(row[2] <= row[3] <= 4 for row in rows)


def test_the_recipes_name_columns_that_are_there(collector):
    page = (ROOT / "docs" / "collector.md").read_text("utf-8")
    with collector.service.database.reading() as session:
        session.execute(
            "SELECT study, item, share, share_low, share_high, reports, released, notes FROM latest_estimates"
        )
        session.execute("SELECT id, study, moment, kind, sentence FROM events")
    section = page[page.index("## For data teams") :]
    for query in re.findall(r"\b(SELECT .*? FROM latest_estimates[^\"`;]*)", section):
        with collector.service.database.reading() as session:
            session.execute(query)
    assert json.loads((ROOT / "deploy" / "grafana.json").read_text("utf-8"))["panels"]
