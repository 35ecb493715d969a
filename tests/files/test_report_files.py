"""Reports in CSV, Parquet and Arrow files: what comes back, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest
from sample_files import EXTENSIONS, ONE_FOR_EACH_FORMAT, TYPED, report_table, write_typed

import localdp as ldp
from localdp import files
from localdp.errors import DataFileError, PlanMismatchError, WireCode, WireError


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize(("mechanism", "size"), [("grr", 5), ("oue", 13), ("ss", 300), ("olh", 40), ("llh", 1000)])
def test_reports_come_back_as_they_were(tmp_path, extension, mechanism, size):
    plan = ldp.Plan(size, mechanism, 2.0)
    batches = [plan.privatize([0, 1, 2]), plan.privatize([3] * 50), plan.privatize([4])]
    path = tmp_path / f"reports.{extension}"
    with files.reports_writer(path, plan) as write:
        for reports in batches:
            write(reports)
    found = np.concatenate([reports.rows for reports in files.read_reports(path, plan)])
    assert np.array_equal(found, np.concatenate([reports.rows for reports in batches]))


@pytest.mark.parametrize("size", [50, 200, 1 << 20])
def test_lines_that_other_software_wrote_are_read_among_our_own(tmp_path, monkeypatch, size):
    plan = ldp.Plan(40, "oue", 2.0)
    reports, path = plan.privatize([3] * 30), tmp_path / "reports.csv"
    with files.reports_writer(path, plan) as write:
        write(reports)
    lines = path.read_text().splitlines(keepends=True)
    lines[12:20] = [line.replace('"', "") for line in lines[12:20]]
    path.write_text("".join(lines))
    monkeypatch.setattr("localdp.formats.lines.whole_lines.__defaults__", (b"", size))
    found = np.concatenate([part.rows for part in files.read_reports(path, plan)])
    assert np.array_equal(found, reports.rows)


@pytest.mark.parametrize("extension", ONE_FOR_EACH_FORMAT)
def test_reports_of_another_plan_are_refused(tmp_path, extension):
    plan, other = ldp.Plan(["a", "b"], "grr", 1.0), ldp.Plan(["a", "c"], "grr", 1.0)
    path = tmp_path / f"reports.{extension}"
    with files.reports_writer(path, plan) as write:
        write(plan.privatize(["a", "b"]))
    with pytest.raises(PlanMismatchError, match=r"another plan|made under plan"):
        list(files.read_reports(path, other))


def test_nothing_is_left_of_a_file_that_was_not_finished(tmp_path):
    plan = ldp.Plan(4, "grr", 1.0)
    for extension in ONE_FOR_EACH_FORMAT:
        path = tmp_path / f"r.{extension}"
        with pytest.raises(PlanMismatchError), files.reports_writer(path, plan) as write:
            write(plan.aggregate(ldp.Plan(3, "grr", 1.0).privatize([1])))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        (lambda cells: cells.replace(b"=", b"!"), WireError, "not canonical base64"),
        (
            lambda cells: re.sub(rb"(.)==", lambda sign: bytes([sign[1][0] + 1]) + b"==", cells),
            WireError,
            "not canonical base64",
        ),
        (
            lambda cells: cells.replace(b"report", b"rapport"),
            DataFileError,
            "no column 'report': it has 'plan', 'rapport'",
        ),
    ],
)
def test_altered_reports_are_refused(tmp_path, change, error, sentence):
    plan = ldp.Plan(4, "grr", 1.0)
    path = tmp_path / "r.csv"
    with files.reports_writer(path, plan) as write:
        write(plan.privatize([1, 2]))
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(error, match=sentence):
        list(files.read_reports(path, plan))


@pytest.mark.parametrize("extension", TYPED)
def test_files_that_hold_no_reports_are_refused(tmp_path, extension):
    plan = ldp.Plan(9, "oue", 1.0)
    path = tmp_path / f"r.{extension}"
    write_typed(pa.table({"report": pa.array([b"ab"], pa.binary(2))}), path)
    with pytest.raises(DataFileError, match="does not hold reports"):
        list(files.read_reports(path, plan))
    marked = report_table(plan, [b"ab"])
    for names in (["rapport", "other"], ["report", "report"]):
        table = pa.table([marked.column(0)] * 2, names=names).replace_schema_metadata(marked.schema.metadata)
        write_typed(table, path)
        with pytest.raises(DataFileError, match="does not hold reports"):
            list(files.read_reports(path, plan))
    for reports, code in (
        ([b"abc"], WireCode.WRONG_LENGTH),
        ([b"\0\0", None], WireCode.WRONG_LENGTH),
        ([b"\xff\xff"], WireCode.NONZERO_PADDING),
    ):
        write_typed(report_table(plan, reports, nullable=None in reports), path)
        with pytest.raises(WireError, match=code.value) as caught:
            list(files.read_reports(path, plan))
        assert caught.value.code is code


@pytest.mark.parametrize("extension", TYPED)
def test_reports_are_written_and_read_in_pieces(tmp_path, extension, monkeypatch):
    plan = ldp.Plan(130, "oue", 1.0)
    path, reports = tmp_path / f"r.{extension}", plan.privatize([5] * 100)
    monkeypatch.setattr("localdp.files.columns.PIECE_BYTES", 30 * 17)
    with files.reports_writer(path, plan) as write:
        write(reports)
        write(reports[:7])
    steps = []
    pieces = list(files.read_reports(path, plan, progress=lambda done, total: steps.append((done, total))))
    assert [len(piece) for piece in pieces] == [30, 30, 30, 10, 7]
    assert np.array_equal(np.concatenate([piece.rows for piece in pieces]), np.vstack([reports.rows, reports.rows[:7]]))
    assert steps == [(done, 5) for done in range(1, 6)]


@pytest.mark.parametrize("extension", TYPED)
def test_reports_that_others_wrote_in_large_groups_are_read_in_pieces(tmp_path, extension, monkeypatch):
    plan = ldp.Plan(130, "oue", 1.0)
    reports = plan.privatize([5] * 100)
    path = write_typed(
        report_table(plan, [row.tobytes() for row in reports.rows]), tmp_path / f"r.{extension}", rows=50
    )
    monkeypatch.setattr("localdp.files.columns.PIECE_BYTES", 30 * 17)
    pieces = list(files.read_reports(path, plan))
    assert max(len(piece) for piece in pieces) == 30
    assert np.array_equal(np.concatenate([piece.rows for piece in pieces]), reports.rows)


@pytest.mark.parametrize("extension", TYPED)
def test_a_file_without_reports_is_empty(tmp_path, extension):
    plan = ldp.Plan(130, "oue", 1.0)
    path = tmp_path / f"r.{extension}"
    with files.reports_writer(path, plan):
        pass
    assert list(files.read_reports(path, plan)) == []
    write_typed(report_table(plan, [bytes(17)]).slice(0, 0), path)
    assert sum(map(len, files.read_reports(path, plan))) == 0


def test_compressed_arrow_is_read(tmp_path):
    plan = ldp.Plan(130, "oue", 1.0)
    rows = [row.tobytes() for row in plan.privatize([5] * 100).rows]
    pa.feather.write_feather(report_table(plan, rows), tmp_path / "r.feather", compression="zstd", chunksize=40)
    found = np.concatenate([reports.rows for reports in files.read_reports(tmp_path / "r.feather", plan)])
    assert [row.tobytes() for row in found] == rows


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the system does not say what is mapped")
@pytest.mark.parametrize("extension", TYPED)
def test_no_more_of_a_file_is_mapped_than_is_being_read(tmp_path, extension, monkeypatch):
    plan = ldp.Plan(130, "oue", 1.0)
    path = tmp_path / f"r.{extension}"
    monkeypatch.setattr("localdp.files.columns.PIECE_BYTES", 10 * 17)
    with files.reports_writer(path, plan) as write:
        write(plan.privatize([5] * 500))
    most = 0
    for piece in files.read_reports(path, plan):
        most = max(most, Path("/proc/self/maps").read_text().count(str(path)))
        del piece
    assert 1 <= most <= 5
    assert str(path) not in Path("/proc/self/maps").read_text()
