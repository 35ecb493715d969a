"""All engines give the counts of NumPy; the check that says so catches engines that do not."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command import localdp

import localdp as ldp
from localdp import files
from localdp.engines import check_engine, connect, local, privatizing
from localdp.engines.check import ENGINE_CHECKS
from localdp.engines.file_parts import count_parts, tasks_of
from localdp.engines.local import LocalEngine
from localdp.engines.privatizing import write_part
from localdp.errors import InvalidInputError, PlanMismatchError, WireError


@pytest.mark.parametrize("name", ["local", "dask"])
def test_engines_pass_all_checks(name, tmp_path):
    with connect(name) as engine:
        check_engine(engine, tmp_path)
    assert list(tmp_path.iterdir()) == []


class LosesATask(LocalEngine):
    def count_tasks(self, plan, tasks, bad):
        return super().count_tasks(plan, tasks[:-1], bad)


class CountsATaskTwice(LocalEngine):
    def count_tasks(self, plan, tasks, bad):
        return super().count_tasks(plan, [*tasks, tasks[0]], bad)


class MixesUpGroups(LocalEngine):
    def aggregate(self, frame, plan, column="report", by=None, *, bad="fail"):
        found = super().aggregate(frame, plan, column, by, bad=bad)
        return found if by is None else dict(zip(found, reversed(found.values()), strict=True))


class SkipsSilently(LocalEngine):
    def aggregate(self, frame, plan, column="report", by=None, *, bad="fail"):
        return super().aggregate(frame, plan, column, by, bad="skip" if bad == "fail" else bad)


class SharesAKeystream(LocalEngine):
    def privatize(self, frame, plan, column="value", *, out, keep=()):
        object.__setattr__(plan, "privatize_held", lambda held: ldp.Plan.privatize_held(plan, held, seed=1))
        return super().privatize(frame, plan, column, out=out, keep=keep)


class ShowsValues(LocalEngine):
    def privatize(self, frame, plan, column="value", *, out, keep=()):
        plan.domain.indices(frame[column].to_pylist())
        return super().privatize(frame, plan, column, out=out, keep=keep)


@pytest.mark.parametrize(
    ("engine", "complaint"),
    [
        (LosesATask, "one large and 22 tiny files of grr reports gave"),
        (CountsATaskTwice, "one large and 22 tiny files of grr reports gave"),
        (MixesUpGroups, "the grr reports of mon gave|grouping by"),
        (SkipsSilently, "rows that are not reports was accepted; expected WireError"),
        (SharesAKeystream, "noise was drawn twice from one keystream"),
        (ShowsValues, "an error shows somebody's value"),
    ],
)
def test_broken_engines_are_caught(engine, complaint, tmp_path):
    with pytest.raises(ldp.checks.CheckFailure, match=complaint):
        check_engine(engine(), tmp_path)


def test_every_check_says_what_it_catches():
    assert all("Catches" in check.__doc__ or "refused" in check.__doc__ for check in ENGINE_CHECKS)


def _written(path, plan, reports, step=None):
    with files.reports_writer(path, plan) as write:
        for start in range(0, len(reports), step or len(reports)):
            write(reports[start : start + (step or len(reports))])


def test_files_are_cut_between_row_groups_and_small_ones_are_put_together(tmp_path):
    plan = ldp.Plan(8, "grr", 1.0)
    reports = plan.privatize(np.arange(1_000) % 8, seed=1)
    large = tmp_path / "large.parquet"
    _written(large, plan, reports, step=100)
    size = large.stat().st_size
    tasks = tasks_of([large], workers=1, cut_bytes=size // 4, least_bytes=1)
    cut = [part for task in tasks for part in task if part.counts]
    assert [group for part in cut for group in part.groups] == list(range(10))
    assert [part.identifies for task in tasks for part in task] == [False] * len(cut) + [True]
    assert len(cut) == 5
    whole = count_parts(plan, tasks_of([large], workers=1)[0])
    assert whole.files[0].n == 1_000
    small = []
    for number in range(30):
        small.append(tmp_path / f"small-{number}.parquet")
        _written(small[-1], plan, reports[number : number + 1])
    assert [len(task) for task in tasks_of(small, workers=4)] == [30]


def test_the_same_reports_are_refused_even_under_another_name(tmp_path):
    plan = ldp.Plan(300, "llh", 1.0)
    reports = plan.privatize(np.arange(300))
    _written(tmp_path / "a.parquet", plan, reports)
    _written(tmp_path / "b.arrow", plan, reports)
    with pytest.raises(InvalidInputError, match=r"a\.parquet and .*b\.arrow hold the same reports"):
        local.aggregate_files([tmp_path / "a.parquet", tmp_path / "b.arrow"], plan)


def test_the_local_engine_takes_data_frames_of_pandas_and_polars():
    plan = ldp.Plan(5, "grr", 1.0)
    reports = plan.privatize(np.arange(50) % 5)
    table = pa.table({"r": [bytes(row) for row in reports.rows]})
    for frame in (table, pl.from_arrow(table), table.to_pandas(types_mapper=pd.ArrowDtype)):
        assert local.aggregate(frame, plan, "r") == plan.aggregate(reports)
    with pytest.raises(
        InvalidInputError, match="expected an Arrow table or a data frame of pandas or Polars, not list"
    ):
        local.aggregate([b"x"], plan)
    with pytest.raises(InvalidInputError, match="the data frame has no column 'report', or several: it has 'r'"):
        local.aggregate(table, plan)
    with pytest.raises(InvalidInputError, match=r"a grouping column holds text, whole numbers, dates .* not double"):
        local.aggregate(table.append_column("x", pa.array([0.5] * 50)), plan, "r", by="x")


def test_the_first_attempt_at_a_part_stays(tmp_path):
    plan = ldp.Plan(512, "oue", 1.0)
    values = pa.table({"value": list(range(20))})
    path = tmp_path / "part.parquet"
    write_part(plan, values, "value", (), path)
    first = path.read_bytes()
    write_part(plan, values, "value", (), path)
    assert path.read_bytes() == first
    assert [each.name for each in tmp_path.iterdir()] == ["part.parquet"]


def test_each_batch_of_values_has_a_keystream_of_its_own(monkeypatch):
    keys = []
    secure = ldp.plan.plan.keystream.secure

    def watched():
        keys.append((stream := secure())._secret)
        return stream

    monkeypatch.setattr("localdp.plan.plan.keystream.secure", watched)
    plan = ldp.Plan(16, "grr", 1.0)
    batches = [pa.record_batch({"value": pa.array([3, 4])}) for _ in range(5)]
    for attempt in range(2):
        for batch in batches:
            privatizing.reports_of(batch.column(0), plan, "value")
        assert len(set(keys)) == len(keys) == 5 * (attempt + 1)


def test_values_are_never_kept_beside_their_reports(tmp_path):
    plan = ldp.Plan(4, "grr", 1.0)
    table = pa.table({"value": [1, 2], "day": ["mon", "tue"]})
    with pytest.raises(InvalidInputError, match="keep neither the values"):
        local.privatize(table, plan, out=str(tmp_path / "x"), keep=["value"])
    local.privatize(table, plan, out=str(tmp_path / "y"), keep=["day"])
    with pytest.raises(FileExistsError, match="y"):
        local.privatize(table, plan, out=str(tmp_path / "y"))
    assert pq.read_table(tmp_path / "y").column_names == ["report", "day"]
    found = local.aggregate_files([tmp_path / "y" / "part-00000.parquet"], plan)
    assert found.n == 2


def test_catch_alls_and_missing_values_are_privatized(tmp_path):
    plan = ldp.Plan(["tea", "milk"], epsilon=1.0, other="something else")
    table = pa.table({"value": ["tea", None, "cocoa"]})
    assert local.privatize(table, plan, out=str(tmp_path / "x")).num_rows == 3


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_the_command_counts_on_every_engine(engine, collected, tmp_path):
    arguments = ("aggregate", collected / "reports.parquet", collected / "reports.arrow", "-p", collected / "plan.json")
    done = localdp(*arguments, "--engine", engine, "-o", "c.agg", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    plan = ldp.Plan.from_json((collected / "plan.json").read_text())
    expected = ldp.Aggregate(plan)
    for name in ("reports.parquet", "reports.arrow"):
        for piece in files.read_reports(collected / name, plan):
            expected.add(piece)
    found = ldp.Aggregate.load(tmp_path / "c.agg")
    assert found == expected
    assert len(found.sources) == 2
    again = localdp(*arguments, tmp_path / "c.agg", "--engine", engine, "-o", "d.agg", cwd=tmp_path)
    assert again.returncode == 2
    assert "are counted already" in again.stderr


def test_the_command_skips_bad_rows_and_says_how_many(tmp_path):
    plan = ldp.Plan(20, "grr", 1.0)
    (tmp_path / "plan.json").write_text(plan.to_json())
    broken = ldp.Reports.of_checked_rows(plan, np.array([[3], [20], [255]], np.uint8))
    _written(tmp_path / "r.parquet", plan, broken)
    command = ("aggregate", "r.parquet", "-p", "plan.json", "-o", "c.agg")
    failed = localdp(*command, cwd=tmp_path)
    assert failed.returncode == 2
    assert "[nonzero-padding]" in failed.stderr
    done = localdp(*command, "--bad", "skip", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout == "c.agg: 1 reports over 20 items\n"
    assert done.stderr == "Skipped rows that are not reports of this plan: 2.\n"
    (tmp_path / "r.csv").write_text("plan,report\n")
    refused = localdp("aggregate", "r.csv", "-p", "plan.json", "-o", "x.agg", "--bad", "skip", cwd=tmp_path)
    assert "bad rows can be skipped in Parquet and Arrow files" in refused.stderr


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--engine", "flink"), "--engine is local, dask or spark, not 'flink'"),
        (("--bad", "ignore"), "--bad is fail or skip, not 'ignore'"),
        (("--cluster", "tcp://127.0.0.1:1"), "--cluster is for --engine dask and --engine spark"),
        (("--engine", "dask", "-"), "cannot read standard input"),
        (("--engine", "dask", "--cluster", "nowhere:what"), "there is no Dask scheduler at nowhere:what"),
    ],
)
def test_the_command_refuses_engines_that_cannot_be(options, complaint, collected, tmp_path):
    files_and_plan = (collected / "reports.parquet", "-p", collected / "plan.json", "-o", "c.agg")
    done = localdp("aggregate", *files_and_plan, *options, cwd=tmp_path)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("engine", "hidden", "complaint"),
    [
        ("dask", "dask", r"the Dask engine needs the package dask: pip install '\.\[dask\]' in a clone"),
        (
            "spark",
            "pyspark",
            r"Spark engine, beside Java 17, needs the package pyspark: pip install '\.\[spark\]' in a clone",
        ),
    ],
)
def test_a_missing_package_is_named(engine, hidden, complaint, monkeypatch):
    for module in [name for name in sys.modules if name.partition(".")[0] == hidden]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, hidden, None)
    with pytest.raises(ldp.errors.MissingPackageError, match=complaint), connect(engine):
        pass


def test_missing_java_is_named(monkeypatch, tmp_path):
    pytest.importorskip("pyspark")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(ldp.errors.EngineError, match=r"Spark needs Java 17.*install it"), connect("spark"):
        pass


def test_importing_the_engines_loads_no_cluster():
    code = "import sys, localdp.engines, localdp.engines.dask, localdp.engines.spark; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert not {"dask", "distributed", "pyspark", "pandas", "pyarrow"} & set(loaded.stdout.split())


def test_another_plan_is_refused_and_other_lengths_too(tmp_path):
    plan, twin = ldp.Plan(9, "oue", 1.0), ldp.Plan(9, "oue", 2.0)
    _written(tmp_path / "r.parquet", plan, plan.privatize([1, 2, 3]))
    with pytest.raises(PlanMismatchError, match=r"r\.parquet holds reports made under plan"):
        local.aggregate_files([tmp_path / "r.parquet"], twin)
    with pytest.raises(WireError, match="a row is of 2 bytes, and reports of this plan are of 13"):
        local.aggregate(pq.read_table(tmp_path / "r.parquet"), ldp.Plan(99, "oue", 1.0))


def test_the_number_of_threads_of_a_task_is_one(monkeypatch):
    used = []
    monkeypatch.setattr("localdp.kernels.threads.each", lambda *given: used.append(given[4]))
    plan = ldp.Plan(1_000, "oue", 1.0)
    rows = np.zeros((200_000, plan.mechanism.report_bytes), np.uint8)
    plan.mechanism.tally_partial(rows, threads=1)
    plan.mechanism.tally_partial(rows)
    assert used[0] == 1
    assert used[1] == int(os.environ.get("LOCALDP_THREADS") or len(os.sched_getaffinity(0)))
