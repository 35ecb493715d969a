"""From items and values to estimates and heavy hitters, with the real commands."""

from __future__ import annotations

import json

import pyarrow.feather
import pyarrow.parquet
import pytest
from command import localdp

import localdp as ldp


@pytest.mark.slow
def test_the_pipeline_estimates_what_people_hold(collected, tmp_path):
    done = localdp(
        *("estimate", collected / "counts.agg", "-o", "all.parquet", "--plot", "top.svg", "--json"),
        cwd=tmp_path,
        fresh=True,
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert rows[0]["item"] == "product 0"
    assert abs(rows[0]["calibrated"] - 3_000) < 500
    assert pyarrow.parquet.read_table(tmp_path / "all.parquet").num_rows == 200
    assert (tmp_path / "top.svg").read_text().startswith("<?xml")
    shown = localdp("estimate", collected / "counts.agg", "--top", "30", "--prior", "power-law", cwd=tmp_path).stdout
    assert len(shown.splitlines()) == 32
    assert "calibrated by power-law" in shown
    noted = localdp("estimate", collected / "counts.agg", cwd=tmp_path).stderr
    assert noted.startswith("auto averaged priors")
    assert max(map(len, noted.splitlines())) < 80


def test_the_heading_says_the_level_of_the_intervals(collected, tmp_path):
    usual, wide = (
        localdp("estimate", collected / "counts.agg", "--prior", "power-law", *level, cwd=tmp_path).stdout
        for level in ((), ("--level", "0.99"))
    )
    assert usual.splitlines()[0].endswith("calibrated by power-law, intervals of 90%")
    assert wide.splitlines()[0].endswith("calibrated by power-law, intervals of 99%")
    low, high = (int(table.splitlines()[2].split()[-2].replace(",", "")) for table in (wide, usual))
    assert low < high


def test_files_of_reports_and_aggregates_add_up(collected, tmp_path):
    parts = [collected / name for name in ("reports.csv", "reports.arrow", "counts.agg")]
    done = localdp("aggregate", *parts, "-p", collected / "plan.json", "-o", "all.agg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    one, three = (ldp.Aggregate.load(path) for path in (collected / "counts.agg", tmp_path / "all.agg"))
    assert three.n == 3 * one.n
    assert f"Added up the reports of 3 files: {one.n:,} of " in done.stdout
    assert "counts.agg itself is left as it was." in " ".join(done.stdout.split())


@pytest.mark.slow
def test_values_and_items_and_estimates_in_arrow_files(collected, tmp_path):
    names = [f"product {rank}" for rank in range(200)]
    pyarrow.feather.write_feather(pyarrow.table({"name": names}), tmp_path / "items.feather")
    pyarrow.feather.write_feather(pyarrow.table({"day": [1] * 2_000, "name": names * 10}), tmp_path / "values.arrow")
    steps = (
        ("plan", "items.feather", "--epsilon", "4", "-o", "plan.json"),
        ("privatize", "values.arrow", "-p", "plan.json", "-c", "name", "-o", "reports.arrow"),
        ("aggregate", "reports.arrow", "-p", "plan.json", "-o", "counts.agg"),
        ("estimate", "counts.agg", "-o", "all.arrow"),
    )
    for step in steps:
        done = localdp(*step, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "plan.json").read_bytes() == (collected / "plan.json").read_bytes()
    assert ldp.Aggregate.load(tmp_path / "counts.agg").n == 2_000
    with pyarrow.ipc.open_file(tmp_path / "all.arrow") as file:
        assert file.read_all().num_rows == 200


def test_reports_are_made_a_piece_at_a_time_however_many_values_are_read_at_once(tmp_path, monkeypatch):
    from localdp.cli import privatize
    from localdp.files import columns

    plan = ldp.Plan(800, "oue", 1.0)
    (tmp_path / "plan.json").write_text(plan.to_json())
    (tmp_path / "values.csv").write_text("item\n" + "7\n" * 1050)
    sizes, made = [], ldp.Plan.privatize_held
    monkeypatch.setattr(columns, "PIECE_BYTES", 100 * plan.mechanism.report_bytes)
    monkeypatch.setattr(ldp.Plan, "privatize_held", lambda self, part: sizes.append(part.users) or made(self, part))
    privatize.command(tmp_path / "values.csv", tmp_path / "plan.json", tmp_path / "reports.parquet")
    assert sizes == [100] * 10 + [50]
    assert pyarrow.parquet.read_table(tmp_path / "reports.parquet").num_rows == 1050


@pytest.mark.slow
def test_hitters_by_rule_and_top(collected, tmp_path):
    counts = collected / "counts.agg"
    by_share = localdp("hitters", counts, "-t", "5%", "--rule", "mean", cwd=tmp_path)
    assert "product 0" in by_share.stdout
    assert "(rule mean)" in by_share.stdout
    assert "(rule fdr 0.2)" in localdp("hitters", counts, "-t", "200", "--fdr", "0.2", cwd=tmp_path).stdout
    top = localdp("hitters", counts, "--top", "4", "--json", "-o", "top.json", "--plot", "top.png", cwd=tmp_path)
    assert len(json.loads(top.stdout)) == 4
    assert json.loads((tmp_path / "top.json").read_text()) == json.loads(top.stdout)
    assert (tmp_path / "top.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_strange_names_are_shown_safely_and_kept_as_they_are(tmp_path):
    names = ["$x_{$", "tea\x1b[31m", "日本", "$5 - $10", "x" * 200]
    (tmp_path / "items.txt").write_text("\ufeff" + "\n".join(names) + "\n", "utf-8")
    (tmp_path / "values.csv").write_text("item\n" + "\n".join(names * 400) + "\n\n", "utf-8")
    steps = (
        ("plan", "items.txt", "-o", "plan.json", "-e", "3"),
        ("privatize", "values.csv", "-p", "plan.json", "-o", "r.parquet"),
        ("aggregate", "r.parquet", "-p", "plan.json", "-o", "c.agg"),
        ("estimate", "c.agg", "--plot", "e.png", "-o", "e.csv"),
    )
    for step in steps:
        done = localdp(*step, cwd=tmp_path, environment={"PYTHONIOENCODING": "ascii"})
        assert done.returncode == 0, done.stderr
        assert "\x1b" not in done.stdout + done.stderr
    assert "2,000 users" in done.stdout
    assert all(name in (tmp_path / "e.csv").read_text("utf-8") for name in names)


def test_a_catch_all_takes_every_value_that_is_not_listed(tmp_path):
    (tmp_path / "items.txt").write_text("tea\ncoffee\n")
    (tmp_path / "values.csv").write_text("drink\ntea\ncocoa\nmilk\n")
    made = localdp("plan", "items.txt", "--other", "something else", "-e", "8", cwd=tmp_path)
    assert made.stdout.startswith("plan.json: 3 items, ")
    done = localdp("privatize", "values.csv", "-p", "plan.json", "-o", "r.csv", cwd=tmp_path)
    assert done.returncode == 0
    assert "3 reports" in done.stdout
    assert "dropped" not in done.stdout
    (tmp_path / "line.txt").write_text("tea, coffee\n")
    alone = localdp("plan", "line.txt", "-e", "8", "-o", "line.json", cwd=tmp_path)
    assert "line.txt has one item only, 'tea, coffee': write each item on a line of its own" in alone.stderr
    assert localdp("plan", "line.txt", "-o", "line.json", "--other", "milk", cwd=tmp_path).returncode == 0
    numbered = localdp("plan", "--size", "9", "--other", "8", "-o", "numbered.json", cwd=tmp_path)
    assert numbered.returncode == 0
    assert ldp.Plan.from_json((tmp_path / "numbered.json").read_text()).domain.other == 8
    for other, sentence in (("rest", "--other must be one of them"), ("9", "one of their numbers, 0..8")):
        refused = localdp("plan", "--size", "9", "--other", other, "-o", "x.json", cwd=tmp_path)
        assert refused.returncode == 2
        assert sentence in refused.stderr


def test_unknown_values_are_dropped_and_counted_when_asked(collected, tmp_path):
    (tmp_path / "some.csv").write_text("name\nproduct 1\nnothing\nproduct 2\n")
    command = ("privatize", "some.csv", "-p", collected / "plan.json", "-o", "r.csv")
    refused = localdp(*command, cwd=tmp_path, fresh=True)
    assert refused.returncode == 2
    sentence = "is not an item of the plan: correct the file, make the plan with a catch-all"
    assert f"row 2 below the header of some.csv {sentence}" in refused.stderr
    dropped = localdp(*command, "--unknown", "drop", cwd=tmp_path)
    assert dropped.returncode == 0
    assert "1 of 3 values was dropped" in dropped.stderr
    assert "knows that their value is not in the plan" in " ".join(dropped.stderr.split())
    assert len((tmp_path / "r.csv").read_text().splitlines()) == 3
