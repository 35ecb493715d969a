"""`-` is standard input and standard output, and what is said about the work then goes to standard error."""

from __future__ import annotations

import csv
import gzip
import json

from command import localdp

import localdp as ldp
from localdp import files

ITEMS = "drink\ntea\ncoffee\nwater\n"


def test_the_whole_pipeline_runs_through_pipes(tmp_path):
    made = localdp("plan", "-", "-e", "8", "-o", "-", cwd=tmp_path, given=ITEMS)
    assert made.returncode == 0, made.stderr
    (tmp_path / "plan.json").write_text(made.stdout)
    plan = ldp.Plan.from_json(made.stdout)
    assert list(plan.domain.items) == ["tea", "coffee", "water"]
    assert "standard output: 3 items" in made.stderr
    values = "id;drink\n" + "1;tea\n2;water\n" * 50
    command = ("privatize", "-", "-c", "drink", "-p", "plan.json", "-o", "-")
    reports = localdp(*command, cwd=tmp_path, given=values)
    assert reports.stderr == "standard output: 100 reports, epsilon 8\n"
    assert reports.stdout.startswith('"plan","report"\n')
    counted = localdp("aggregate", "-", "-p", "plan.json", "-o", "c.agg", cwd=tmp_path, given=reports.stdout)
    assert counted.stdout == "c.agg: 100 reports over 3 items\n"
    for name in ("estimate", "hitters"):
        shown = localdp(name, "c.agg", "-o", "-", cwd=tmp_path)
        rows = list(csv.DictReader(shown.stdout.splitlines()))
        assert {row["item"] for row in rows} <= {"tea", "coffee", "water"}
        assert 0 <= float(rows[0]["share"]) <= 1
    asked = localdp("advise", "-", "-c", "drink", "-e", "2", "-o", "-", cwd=tmp_path, given=values)
    assert asked.stdout.startswith('"mechanism","epsilon"')


def test_compressed_input_is_understood_and_other_formats_are_named(tmp_path):
    (tmp_path / "plan.json").write_text(ldp.Plan(["tea", "coffee"], epsilon=1.0).to_json())
    command = ("privatize", "-", "-p", "plan.json", "-o", "r.csv")
    done = localdp(*command, cwd=tmp_path, given=gzip.compress(b"drink\ntea\n"))
    assert done.stdout == "r.csv: 1 reports, epsilon 1\n"
    refused = localdp(*command, "--force", cwd=tmp_path, given=b"PAR1 and so on")
    assert refused.returncode == 2
    assert "standard input is read as CSV" in refused.stderr


def test_advice_is_taken_from_earlier_answers(tmp_path):
    (tmp_path / "survey.csv").write_text("who,answer\n" + "1,yes\n2,no\n3,no\n4,\n" * 100)
    assert files.tally(tmp_path / "survey.csv", "answer") == {"yes": 100, "no": 200}
    done = localdp("advise", "survey.csv", "--column", "answer", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["items"], document["users"], document["like"]) == (2, 300, "survey.csv")
    more = localdp("advise", "survey.csv", "-c", "answer", "--users", "1e5", "--json", cwd=tmp_path)
    assert json.loads(more.stdout)["users"] == 100_000
