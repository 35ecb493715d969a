"""Nobody's reports are counted twice, whatever the file is called and wherever they were counted before."""

from __future__ import annotations

import shutil

import pyarrow.parquet
import pytest
from command import localdp

import localdp as ldp
from localdp import files


@pytest.fixture
def aggregate(collected, tmp_path):
    def run(*names, out="x.agg"):
        options = ("-p", collected / "plan.json", "-o", out, "--force")
        return localdp("aggregate", *names, *options, cwd=tmp_path)

    return run


def test_the_same_content_is_refused_under_another_name_and_in_another_format(collected, tmp_path, aggregate):
    first = collected / "reports.parquet"
    shutil.copy(first, tmp_path / "copy.parquet")
    plan = ldp.Plan.from_json((collected / "plan.json").read_text())
    with files.reports_writer(tmp_path / "converted.csv", plan) as write:
        for part in files.read_reports(first, plan):
            write(part)
    for again in (first, "copy.parquet", "converted.csv"):
        done = aggregate(first, again)
        assert done.returncode == 2
        assert f"the reports in {again} are counted already" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "x.agg").exists()
    counted_twice = aggregate(first, "copy.parquet", "--repeated")
    assert counted_twice.returncode == 0
    assert ldp.Aggregate.load(tmp_path / "x.agg").n == 2 * pyarrow.parquet.read_metadata(first).num_rows


def test_a_saved_aggregate_remembers_what_it_holds(collected, tmp_path, aggregate):
    assert aggregate(collected / "reports.csv", collected / "reports.arrow", out="two.agg").returncode == 0
    assert len(ldp.Aggregate.load(tmp_path / "two.agg").sources) == 2
    refused = aggregate("two.agg", collected / "reports.arrow")
    assert refused.returncode == 2
    assert "(two.agg holds them)" in refused.stderr
    assert aggregate("two.agg", collected / "reports.parquet", out="three.agg").returncode == 0
    assert "(three.agg holds them)" in aggregate("three.agg", "two.agg").stderr


def test_an_aggregate_that_python_made_is_known_by_its_content(collected, tmp_path, aggregate):
    plan = ldp.Plan.from_json((collected / "plan.json").read_text())
    plan.simulate([5] * 200, seed=1).save(tmp_path / "one.agg")
    plan.simulate([5] * 200, seed=2).save(tmp_path / "other.agg")
    shutil.copy(tmp_path / "one.agg", tmp_path / "copy.agg")
    assert aggregate("one.agg", "other.agg").returncode == 0
    assert "are counted already (one.agg holds them)" in aggregate("one.agg", "copy.agg").stderr
    assert "are counted already (x.agg holds them)" in aggregate("x.agg", "copy.agg", out="y.agg").stderr


def test_dropping_nearly_all_values_is_a_warning_and_a_code(collected, tmp_path):
    (tmp_path / "some.csv").write_text("name\n" + "strange\n" * 99 + "product 1\n")
    command = ("privatize", "some.csv", "-p", collected / "plan.json", "-o", "r.csv", "--unknown", "drop")
    done = localdp(*command, cwd=tmp_path)
    assert done.returncode == 3
    assert "WARNING: nearly all values were dropped" in done.stderr
    assert (tmp_path / "r.csv").exists()


def test_a_column_that_the_plan_does_not_list_is_a_warning(tmp_path):
    (tmp_path / "plan.json").write_text(ldp.Plan(["tea", "milk"], epsilon=2.0, other="something else").to_json())
    command = ("privatize", "some.csv", "-p", "plan.json", "-o", "r.csv", "--force")
    for people, listed, warned in ((100, 5, True), (100, 20, False), (3, 0, False)):  # three people: it would tell
        (tmp_path / "some.csv").write_text("drink\n" + "tea\n" * listed + "Tea \n" * (people - listed))
        done = localdp(*command, cwd=tmp_path)
        assert done.returncode == 0
        assert ("WARNING: nearly all values count as 'something else'" in done.stderr) == warned
