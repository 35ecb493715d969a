"""Values, reports and results in CSV and Parquet: what comes back, and what is refused."""

from __future__ import annotations

import gzip
import re

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import localdp as ldp
from localdp import tabular
from localdp.errors import DataFileError, MissingPackageError, PlanMismatchError, WireCode, WireError

KINDS = ("csv", "csv.gz", "parquet")


def write_column(path, values, name="item"):
    table = pa.table({"other": pa.array(range(len(values))), name: values})
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=3)
    else:
        pyarrow.csv.write_csv(table, path)
        if path.suffix == ".gz":
            path.write_bytes(gzip.compress(path.read_bytes()))
    return path


def all_indices(path, column, domain):
    return np.concatenate([*tabular.indices(path, column, ldp.Domain(domain)), np.zeros(0, np.int64)]).tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("domain", "values", "expected"),
    [
        (["tea", "a, b", 'say "hi"', "ü"], ["ü", "tea", "x", 'say "hi"', "a, b", "tea"], [3, 0, -1, 2, 1, 0]),
        (4, [3, 0, 9, -1, 2], [3, 0, -1, -1, 2]),
        ([10, 20, 30], [20, 10, 5], [1, 0, -1]),
        ([1.5, 2.5], [2.5, 1.5, 0.5], [1, 0, -1]),
        ([True, False], [False, True], [1, 0]),
    ],
)
def test_values_become_indices(tmp_path, kind, domain, values, expected):
    path = write_column(tmp_path / f"values.{kind}", values)
    assert all_indices(path, "item", domain) == expected


def test_a_file_is_read_in_pieces_and_progress_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("localdp.blocks.whole_lines.__defaults__", (b"", 1 << 12))
    values = [f"item {place % 7}" for place in range(5_000)]
    for kind in ("csv", "parquet"):
        path = write_column(tmp_path / f"values.{kind}", values)
        monkeypatch.setattr("localdp.tabular.columns.PIECE_ROWS", 1_000)
        steps = []
        domain = ldp.Domain([f"item {place}" for place in range(7)])
        pieces = list(tabular.indices(path, "item", domain, lambda done, of, steps=steps: steps.append((done, of))))
        assert len(pieces) > 3
        assert np.concatenate(pieces).tolist() == [place % 7 for place in range(5_000)]
        assert steps == sorted(steps)
        assert steps[-1][0] == steps[-1][1]


def test_missing_values_and_dictionaries(tmp_path):
    path = write_column(tmp_path / "some.parquet", pa.array(["a", None, "b"]).dictionary_encode())
    assert all_indices(path, "item", ["a", "b"]) == [0, -1, 1]
    (tmp_path / "some.csv").write_text("item,x\na,1\n,2\nb,3\n")
    assert all_indices(tmp_path / "some.csv", "item", ["a", "b"]) == [0, -1, 1]
    with pytest.raises(DataFileError, match="empty cell"):
        tabular.distinct(tmp_path / "some.csv", "item")


def test_empty_rows_are_values_that_are_missing_except_at_the_end(tmp_path, monkeypatch):
    (tmp_path / "some.csv").write_text("item\na\n\n\nb\n\n\n")
    for size in (1, 2, 3, 7, 1000):
        monkeypatch.setattr("localdp.blocks.whole_lines.__defaults__", (b"", size))
        assert all_indices(tmp_path / "some.csv", None, ["a", "b"]) == [0, -1, -1, 1]


def test_items_that_are_written_alike_are_refused_in_text(tmp_path):
    (tmp_path / "some.csv").write_text("item\n1\n")
    with pytest.raises(DataFileError, match="written alike"):
        all_indices(tmp_path / "some.csv", None, ["1", 1])


@pytest.mark.parametrize("values", [pa.array([[1]]), pa.array([2**63 + 5], pa.uint64())])
def test_columns_that_cannot_hold_items_are_refused(tmp_path, values):
    pq.write_table(pa.table({"item": values}), tmp_path / "some.parquet")
    with pytest.raises(DataFileError):
        all_indices(tmp_path / "some.parquet", None, [1, 2])


def test_the_only_column_needs_no_name(tmp_path):
    (tmp_path / "some.csv").write_text("item\nb\na\nb\n")
    assert all_indices(tmp_path / "some.csv", None, ["a", "b"]) == [1, 0, 1]
    assert tabular.distinct(tmp_path / "some.csv", None) == ["b", "a"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("mechanism", "size"), [("grr", 5), ("oue", 13), ("ss", 300), ("olh", 40), ("llh", 1000)])
def test_reports_come_back_as_they_were(tmp_path, kind, mechanism, size):
    plan = ldp.Plan(size, mechanism, 2.0)
    batches = [plan.privatize([0, 1, 2]), plan.privatize([3] * 50), plan.privatize([4])]
    path = tmp_path / f"reports.{kind}"
    with tabular.reports_writer(path, plan) as write:
        for reports in batches:
            write(reports)
    found = np.concatenate([reports.rows for reports in tabular.read_reports(path, plan)])
    assert np.array_equal(found, np.concatenate([reports.rows for reports in batches]))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_reports_of_another_plan_are_refused(tmp_path, kind):
    plan, other = ldp.Plan(["a", "b"], "grr", 1.0), ldp.Plan(["a", "c"], "grr", 1.0)
    path = tmp_path / f"reports.{kind}"
    with tabular.reports_writer(path, plan) as write:
        write(plan.privatize(["a", "b"]))
    with pytest.raises(PlanMismatchError, match=r"another plan|made under plan"):
        list(tabular.read_reports(path, other))


def test_nothing_is_left_of_a_file_that_was_not_finished(tmp_path):
    plan = ldp.Plan(4, "grr", 1.0)
    for kind in ("csv", "parquet"):
        path = tmp_path / f"r.{kind}"
        with pytest.raises(PlanMismatchError), tabular.reports_writer(path, plan) as write:
            write(plan.aggregate(ldp.Plan(3, "grr", 1.0).privatize([1])))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_exists_is_kept_unless_told(tmp_path):
    path = tmp_path / "table.csv"
    table = ldp.Estimate([5.0, 1.0], n=10, variance=1.0).table()
    tabular.write_table(table, path)
    before = path.read_bytes()
    with pytest.raises(FileExistsError):
        tabular.write_table(table, path)
    assert path.read_bytes() == before
    tabular.write_table(table, path, replace=True)


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_written(tmp_path, kind):
    table = ldp.Estimate([5.0, 1.0], n=10, variance=1.0, domain=["tea, green", "ü"]).table()
    path = tmp_path / f"table.{kind}"
    tabular.write_table(table, path)
    back = pq.read_table(path) if kind == "parquet" else pyarrow.csv.read_csv(path)
    assert back.column("item").to_pylist() == ["tea, green", "ü"]
    assert back.column("frequency").to_pylist() == [5.0, 1.0]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("some.txt", b"a", "neither a .csv nor a .parquet"),
        ("some.csv", b"", "is empty"),
        ("some.csv", b"\xff\xfe\x00item\x00", "not a CSV|no column"),
        ("some.csv", b"item,item\na,b\n", "two columns of the same name"),
        ("some.csv", b"other\na\n", "no column 'item': it has other"),
        ("some.csv", b"item,x\na,1\nb\n", "not a CSV file that can be read"),
        ("some.parquet", b"PAR1 nothing", "not a Parquet file"),
        ("some.csv.gz", b"not gzip", "cannot be read|not a CSV"),
        ("some.CSV.GZ", b"not gzip", "cannot be read|not a CSV"),
        ("some.csv", b"a\rb\rc\r", "not a CSV|no column"),
        ("some.csv", b'item\n"a\nb"\nb\n', "line break"),
    ],
)
def test_what_is_not_such_a_file_is_refused(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataFileError, match=sentence):
        all_indices(tmp_path / name, "item", ["a", "b"])


def test_a_column_of_another_type_is_refused(tmp_path):
    path = write_column(tmp_path / "some.parquet", [1, 2])
    with pytest.raises(DataFileError, match=r"holds int64, and the items of the plan are text"):
        all_indices(path, "item", ["1", "2"])
    with pytest.raises(DataFileError, match=r"text and whole numbers"):
        all_indices(path, "item", ["1", 2])


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda cells: cells.replace(b"=", b"!"), WireError),
        (lambda cells: re.sub(rb"(.)==", lambda sign: bytes([sign[1][0] + 1]) + b"==", cells), WireError),
        (lambda cells: cells.replace(b"report", b"rapport"), DataFileError),
    ],
)
def test_altered_reports_are_refused(tmp_path, change, error):
    plan = ldp.Plan(4, "grr", 1.0)
    path = tmp_path / "r.csv"
    with tabular.reports_writer(path, plan) as write:
        write(plan.privatize([1, 2]))
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(error):
        list(tabular.read_reports(path, plan))


def test_parquet_that_holds_no_reports_is_refused(tmp_path):
    plan = ldp.Plan(9, "oue", 1.0)
    path = tmp_path / "r.parquet"
    pq.write_table(pa.table({"report": pa.array([b"ab"], pa.binary(2))}), path)
    with pytest.raises(DataFileError, match="does not hold reports"):
        list(tabular.read_reports(path, plan))
    marked = {b"localdp-plan": plan.fingerprint.encode()}
    schema = pa.schema([("report", pa.binary(3))], metadata=marked)
    pq.write_table(pa.table([pa.array([b"abc"], pa.binary(3))], schema=schema), path)
    with pytest.raises(WireError) as caught:
        list(tabular.read_reports(path, plan))
    assert caught.value.code is WireCode.WRONG_LENGTH
    schema = pa.schema([("report", pa.binary(2))], metadata=marked)
    pq.write_table(pa.table([pa.array([b"\xff\xff"], pa.binary(2))], schema=schema), path)
    with pytest.raises(WireError) as caught:
        list(tabular.read_reports(path, plan))
    assert caught.value.code is WireCode.NONZERO_PADDING


def test_without_pyarrow_it_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingPackageError, match=r"localdp\[files\]"):
        list(tabular.indices(tmp_path / "x.csv", None, ldp.Domain(2)))
