"""Values, reports and results in CSV, Parquet and Arrow: what comes back, and what is refused."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import localdp as ldp
from localdp import files
from localdp.errors import DataFileError, MissingPackageError, PlanMismatchError, WireCode, WireError
from localdp.files import parquet

KINDS = ("csv", "csv.gz", "parquet", "arrow", "feather")
TYPED = ("parquet", "arrow")
ONE_EACH = ("csv", *TYPED)


def write_typed(table, path, rows=None):
    """A table in Parquet or Arrow, in groups or batches of so many rows."""
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=rows)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, rows)
    return path


def write_column(path, values, name="item"):
    table = pa.table({"other": pa.array(range(len(values))), name: values})
    if ".csv" not in path.suffixes:
        return write_typed(table, path, rows=3)
    pyarrow.csv.write_csv(table, path)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(path.read_bytes()))
    return path


def all_indices(path, column, domain):
    return np.concatenate([*files.indices(path, column, ldp.Domain(domain)), np.zeros(0, np.int64)]).tolist()


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
    monkeypatch.setattr("localdp.formats.lines.whole_lines.__defaults__", (b"", 1 << 12))
    values = [f"item {place % 7}" for place in range(5_000)]
    for kind in ONE_EACH:
        path = write_column(tmp_path / f"values.{kind}", values)
        monkeypatch.setattr("localdp.files.columns.PIECE_ROWS", 1_000)
        steps = []
        domain = ldp.Domain([f"item {place}" for place in range(7)])
        pieces = list(files.indices(path, "item", domain, lambda done, of, steps=steps: steps.append((done, of))))
        assert len(pieces) > 3
        assert np.concatenate(pieces).tolist() == [place % 7 for place in range(5_000)]
        assert steps == sorted(steps)
        assert steps[-1][0] == steps[-1][1]


def test_missing_values_and_dictionaries(tmp_path):
    for kind in TYPED:
        path = write_column(tmp_path / f"some.{kind}", pa.array(["a", None, "b", "a"]).dictionary_encode())
        assert all_indices(path, "item", ["a", "b"]) == [0, -1, 1, 0]
        with pytest.raises(DataFileError, match="empty cell"):
            files.distinct(path, "item")
    (tmp_path / "some.csv").write_text("item,x\na,1\n,2\nb,3\n")
    assert all_indices(tmp_path / "some.csv", "item", ["a", "b"]) == [0, -1, 1]
    with pytest.raises(DataFileError, match="empty cell"):
        files.distinct(tmp_path / "some.csv", "item")


def test_empty_rows_are_values_that_are_missing_except_at_the_end(tmp_path, monkeypatch):
    (tmp_path / "some.csv").write_text("item\na\n\n\nb\n\n\n")
    for size in (1, 2, 3, 7, 1000):
        monkeypatch.setattr("localdp.formats.lines.whole_lines.__defaults__", (b"", size))
        assert all_indices(tmp_path / "some.csv", None, ["a", "b"]) == [0, -1, -1, 1]


def test_items_that_are_written_alike_are_refused_in_text(tmp_path):
    (tmp_path / "some.csv").write_text("item\n1\n")
    with pytest.raises(DataFileError, match="written alike"):
        all_indices(tmp_path / "some.csv", None, ["1", 1])


@pytest.mark.parametrize("kind", TYPED)
@pytest.mark.parametrize("values", [pa.array([[1]]), pa.array([2**63 + 5], pa.uint64())])
def test_columns_that_cannot_hold_items_are_refused(tmp_path, values, kind):
    path = write_typed(pa.table({"item": values}), tmp_path / f"some.{kind}")
    with pytest.raises(DataFileError):
        all_indices(path, None, [1, 2])


def test_values_that_cannot_be_told_apart_are_refused(tmp_path):
    repeated = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([1, 2]))
    path = write_typed(pa.table({"item": repeated}), tmp_path / "some.arrow")
    with pytest.raises(DataFileError, match="cannot be items"):
        files.distinct(path, None)


def test_the_only_column_needs_no_name(tmp_path):
    (tmp_path / "some.csv").write_text("item\nb\na\nb\n")
    assert all_indices(tmp_path / "some.csv", None, ["a", "b"]) == [1, 0, 1]
    assert files.distinct(tmp_path / "some.csv", None) == ["b", "a"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("mechanism", "size"), [("grr", 5), ("oue", 13), ("ss", 300), ("olh", 40), ("llh", 1000)])
def test_reports_come_back_as_they_were(tmp_path, kind, mechanism, size):
    plan = ldp.Plan(size, mechanism, 2.0)
    batches = [plan.privatize([0, 1, 2]), plan.privatize([3] * 50), plan.privatize([4])]
    path = tmp_path / f"reports.{kind}"
    with files.reports_writer(path, plan) as write:
        for reports in batches:
            write(reports)
    found = np.concatenate([reports.rows for reports in files.read_reports(path, plan)])
    assert np.array_equal(found, np.concatenate([reports.rows for reports in batches]))


@pytest.mark.parametrize("kind", ONE_EACH)
def test_reports_of_another_plan_are_refused(tmp_path, kind):
    plan, other = ldp.Plan(["a", "b"], "grr", 1.0), ldp.Plan(["a", "c"], "grr", 1.0)
    path = tmp_path / f"reports.{kind}"
    with files.reports_writer(path, plan) as write:
        write(plan.privatize(["a", "b"]))
    with pytest.raises(PlanMismatchError, match=r"another plan|made under plan"):
        list(files.read_reports(path, other))


def test_nothing_is_left_of_a_file_that_was_not_finished(tmp_path):
    plan = ldp.Plan(4, "grr", 1.0)
    for kind in ONE_EACH:
        path = tmp_path / f"r.{kind}"
        with pytest.raises(PlanMismatchError), files.reports_writer(path, plan) as write:
            write(plan.aggregate(ldp.Plan(3, "grr", 1.0).privatize([1])))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_exists_is_kept_unless_told(tmp_path):
    path = tmp_path / "table.csv"
    table = ldp.Estimate([5.0, 1.0], n=10, variance=1.0).table()
    files.write_table(table, path)
    before = path.read_bytes()
    with pytest.raises(FileExistsError):
        files.write_table(table, path)
    assert path.read_bytes() == before
    files.write_table(table, path, replace=True)


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_written(tmp_path, kind):
    table = ldp.Estimate([5.0, 1.0], n=10, variance=1.0, domain=["tea, green", "ü"]).table()
    path = tmp_path / f"table.{kind}"
    files.write_table(table, path)
    readers = {"parquet": pq.read_table, "arrow": pa.feather.read_table, "feather": pa.feather.read_table}
    back = readers.get(kind, pyarrow.csv.read_csv)(path)
    assert back.column("item").to_pylist() == ["tea, green", "ü"]
    assert back.column("frequency").to_pylist() == [5.0, 1.0]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("some.txt", b"a", "neither a .csv, .parquet nor"),
        ("some.csv", b"", "is empty"),
        ("some.csv", b"\xff\xfe\x00item\x00", "not a CSV|no column"),
        ("some.csv", b"item,item\na,b\n", "two columns of the same name"),
        ("some.csv", b"other\na\n", "no column 'item': it has other"),
        ("some.csv", b"item,x\na,1\nb\n", "not a CSV file that can be read"),
        ("some.parquet", b"PAR1 nothing", "not a Parquet file"),
        ("some.parquet", b"", "not a Parquet file"),
        ("some.arrow", b"ARROW1 nothing", "not an Arrow file"),
        ("some.arrow", b"", "not an Arrow file"),
        ("some.feather", b"FEA1 of the first version FEA1", "not an Arrow file"),
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


@pytest.mark.parametrize("kind", TYPED)
def test_a_file_that_was_cut_short_is_refused(tmp_path, kind):
    path = write_column(tmp_path / f"some.{kind}", ["a", "b"] * 50)
    whole = path.read_bytes()
    for left in (7, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:left])
        with pytest.raises(DataFileError, match="file that can be read"):
            all_indices(path, "item", ["a", "b"])


def test_arrow_is_not_followed_out_of_the_file(tmp_path):
    path = write_typed(pa.table({"item": ["tea", "milk"]}), tmp_path / "some.arrow")
    offsets = np.array([0, 3, 7], np.int32).tobytes()
    assert path.read_bytes().count(offsets) == 1
    path.write_bytes(path.read_bytes().replace(offsets, np.array([0, 3, 1 << 30], np.int32).tobytes()))
    with pytest.raises(DataFileError, match="not an Arrow file"):
        all_indices(path, None, ["tea", "milk"])


@pytest.mark.parametrize("kind", TYPED)
def test_a_missing_file_or_column_is_named(tmp_path, kind):
    path = write_column(tmp_path / f"some.{kind}", ["a"])
    with pytest.raises(DataFileError, match="no column 'nome': it has other, item"):
        all_indices(path, "nome", ["a", "b"])
    with pytest.raises(DataFileError, match="has 2 columns"):
        all_indices(path, None, ["a", "b"])
    with pytest.raises(FileNotFoundError):
        all_indices(tmp_path / f"none.{kind}", None, ["a", "b"])


@pytest.mark.parametrize("kind", TYPED)
def test_a_column_of_another_type_is_refused(tmp_path, kind):
    path = write_column(tmp_path / f"some.{kind}", [1, 2])
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
    with files.reports_writer(path, plan) as write:
        write(plan.privatize([1, 2]))
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(error):
        list(files.read_reports(path, plan))


def report_table(plan, reports, nullable=False):
    """Reports as a table like those in files, whatever they are."""
    column = pa.array(reports, pa.binary(len(reports[0])))
    field = pa.field("report", column.type, nullable=nullable)
    return pa.table([column], schema=pa.schema([field], metadata={b"localdp-plan": plan.fingerprint.encode()}))


@pytest.mark.parametrize("kind", TYPED)
def test_files_that_hold_no_reports_are_refused(tmp_path, kind):
    plan = ldp.Plan(9, "oue", 1.0)
    path = tmp_path / f"r.{kind}"
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
        with pytest.raises(WireError) as caught:
            list(files.read_reports(path, plan))
        assert caught.value.code is code


@pytest.mark.parametrize("kind", TYPED)
def test_reports_are_written_and_read_in_pieces(tmp_path, kind, monkeypatch):
    plan = ldp.Plan(130, "oue", 1.0)
    path, reports = tmp_path / f"r.{kind}", plan.privatize([5] * 100)
    monkeypatch.setattr("localdp.files.columns.PIECE_BYTES", 30 * 17)
    with files.reports_writer(path, plan) as write:
        write(reports)
        write(reports[:7])
    steps = []
    pieces = list(files.read_reports(path, plan, lambda done, total: steps.append((done, total))))
    assert [len(piece) for piece in pieces] == [30, 30, 30, 10, 7]
    assert np.array_equal(np.concatenate([piece.rows for piece in pieces]), np.vstack([reports.rows, reports.rows[:7]]))
    assert steps == [(done, 5) for done in range(1, 6)]


@pytest.mark.parametrize("kind", TYPED)
def test_reports_that_others_wrote_in_large_groups_are_read_in_pieces(tmp_path, kind, monkeypatch):
    plan = ldp.Plan(130, "oue", 1.0)
    reports = plan.privatize([5] * 100)
    path = write_typed(report_table(plan, [row.tobytes() for row in reports.rows]), tmp_path / f"r.{kind}", rows=50)
    monkeypatch.setattr("localdp.files.columns.PIECE_BYTES", 30 * 17)
    pieces = list(files.read_reports(path, plan))
    assert max(len(piece) for piece in pieces) == 30
    assert np.array_equal(np.concatenate([piece.rows for piece in pieces]), reports.rows)


@pytest.mark.parametrize("kind", TYPED)
def test_a_file_without_reports_is_empty(tmp_path, kind):
    plan = ldp.Plan(130, "oue", 1.0)
    path = tmp_path / f"r.{kind}"
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


@pytest.mark.parametrize(
    ("options", "mapped"),
    [
        ({"data_page_size": 1 << 20}, True),
        ({"data_page_size": 1 << 20, "compression": "snappy"}, False),
        ({"data_page_size": 1 << 20, "use_dictionary": True}, False),
        ({"data_page_size": 1 << 20, "write_statistics": True}, False),
        ({"data_page_size": 1 << 20, "data_page_version": "2.0"}, False),
        ({"data_page_size": 1 << 20, "write_page_checksum": True}, False),
        ({"data_page_size": 1 << 20, "column_encoding": "BYTE_STREAM_SPLIT"}, False),
        ({"data_page_size": 100, "write_batch_size": 10}, False),
    ],
)
@pytest.mark.parametrize("nullable", [False, True])
def test_parquet_is_counted_where_it_lies_only_if_it_lies_there_plainly(tmp_path, options, mapped, nullable):
    plan = ldp.Plan(130, "oue", 1.0)
    reports, path = plan.privatize([5] * 100), tmp_path / "r.parquet"
    plainly = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    table = report_table(plan, [row.tobytes() for row in reports.rows], nullable)
    pq.write_table(table, path, row_group_size=60, **{**plainly, **options})
    found = list(files.read_reports(path, plan))
    assert [len(piece) for piece in found] == [60, 40]
    assert np.array_equal(np.concatenate([piece.rows for piece in found]), reports.rows)
    with pq.ParquetFile(path) as file:
        assert (parquet._single_page(path, file, 0, plan) is not None) is (mapped and not nullable)


def test_a_compressed_page_as_long_as_its_rows_is_not_taken_for_them(tmp_path):
    plan = ldp.Plan(136, "oue", 1.0)
    noise = np.random.default_rng(0).integers(0, 256, 40 * 17, np.uint8)
    for repeated in range(17 * 20):
        noise[:repeated] = 7
        rows = [row.tobytes() for row in noise.reshape(40, 17)]
        pq.write_table(
            report_table(plan, rows),
            tmp_path / "r.parquet",
            compression="snappy",
            use_dictionary=False,
            write_statistics=False,
        )
        chunk = pq.read_metadata(tmp_path / "r.parquet").row_group(0).column(0)
        if chunk.total_compressed_size == chunk.total_uncompressed_size:
            break
    assert chunk.total_compressed_size == chunk.total_uncompressed_size
    (found,) = files.read_reports(tmp_path / "r.parquet", plan)
    assert [row.tobytes() for row in found.rows] == rows


@pytest.mark.parametrize(("mechanism", "users"), [("oue", 3_000), ("llh", 50_000)])
def test_what_is_written_can_be_counted_where_it_lies(tmp_path, mechanism, users):
    plan = ldp.Plan(2_000 * 8, mechanism, 1.0)
    with files.reports_writer(tmp_path / "r.parquet", plan) as write:
        write(plan.privatize(np.zeros(users, int)))
    with pq.ParquetFile(tmp_path / "r.parquet") as file:
        found = parquet._single_page(tmp_path / "r.parquet", file, 0, plan)
    assert found.size == users * plan.mechanism.report_bytes


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the system does not say what is mapped")
@pytest.mark.parametrize("kind", TYPED)
def test_no_more_of_a_file_is_mapped_than_is_being_read(tmp_path, kind, monkeypatch):
    plan = ldp.Plan(130, "oue", 1.0)
    path = tmp_path / f"r.{kind}"
    monkeypatch.setattr("localdp.files.columns.PIECE_BYTES", 10 * 17)
    with files.reports_writer(path, plan) as write:
        write(plan.privatize([5] * 500))
    most = 0
    for piece in files.read_reports(path, plan):
        most = max(most, Path("/proc/self/maps").read_text().count(str(path)))
        del piece
    assert 1 <= most <= 5
    assert str(path) not in Path("/proc/self/maps").read_text()


def test_the_marks_of_missing_rows_are_not_taken_for_a_report(tmp_path):
    """Eight rows, one of them missing: where six bytes say which, they are as long as the report that is not there."""
    plan = ldp.Plan(48, "oue", 1.0)
    rows = [bytes(row) for row in plan.privatize([1] * 8, seed=1).rows]
    rows[3] = None
    table = pa.table({"report": pa.array(rows, pa.binary(6))}).replace_schema_metadata(
        {"localdp-plan": plan.fingerprint}
    )
    plainly = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    pq.write_table(table, tmp_path / "r.parquet", **plainly)
    with pytest.raises(WireError, match="a row without a report"):
        list(files.read_reports(tmp_path / "r.parquet", plan))


@pytest.mark.parametrize("piece_bytes", [1 << 26, 60])
@pytest.mark.parametrize("kind", [".parquet", ".arrow"])
def test_a_file_with_any_byte_altered_is_read_or_refused_in_words(tmp_path, kind, piece_bytes):
    """In a process of its own: what a library aborts on, no exception tells."""
    plan = ldp.Plan(41, "oue", 1.0)
    with files.reports_writer(tmp_path / f"r{kind}", plan) as write:
        write(plan.privatize([1] * 20, seed=1))
        write(plan.privatize([2] * 20, seed=2))
    (tmp_path / "plan.json").write_text(plan.to_json())
    code = """
import pathlib, random, sys
import localdp as ldp
from localdp import files
folder, kind = pathlib.Path(sys.argv[1]), sys.argv[2]
files.columns.PIECE_BYTES = int(sys.argv[3])
plan = ldp.Plan.from_json((folder / "plan.json").read_text())
whole = (folder / f"r{kind}").read_bytes()
altered, chance, refused = folder / f"altered{kind}", random.Random(1), 0
for place in 4 * list(range(len(whole))):
    octets = bytearray(whole)
    octets[place] ^= chance.randrange(1, 256)
    altered.unlink(missing_ok=True)
    altered.write_bytes(octets)
    try:
        read = sum(len(reports) for reports in files.read_reports(altered, plan))
    except ldp.errors.LocalDPError as error:
        refused += 1
        assert len(str(error).splitlines()) == 1
    else:
        assert read == 40, place
print(refused)
"""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, tmp_path, kind, str(piece_bytes)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100


def test_without_pyarrow_it_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingPackageError, match=r"localdp\[files\]"):
        list(files.indices(tmp_path / "x.csv", None, ldp.Domain(2)))
