"""Columns of values in CSV, Parquet and Arrow files: which indices they give, and what is refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sample_files import EXTENSIONS, ONE_FOR_EACH_FORMAT, TYPED, all_indices, write_column, write_typed

import localdp as ldp
from localdp import files
from localdp.errors import DataFileError, MissingPackageError


@pytest.mark.parametrize("extension", EXTENSIONS)
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
def test_values_become_indices(tmp_path, extension, domain, values, expected):
    path = write_column(tmp_path / f"values.{extension}", values)
    assert all_indices(path, "item", domain) == expected


def test_a_file_is_read_in_pieces_and_progress_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("localdp.formats.lines.whole_lines.__defaults__", (b"", 1 << 12))
    values = [f"item {place % 7}" for place in range(5_000)]
    for extension in ONE_FOR_EACH_FORMAT:
        path = write_column(tmp_path / f"values.{extension}", values)
        monkeypatch.setattr("localdp.files.columns.PIECE_ROWS", 1_000)
        steps = []
        domain = ldp.Domain([f"item {place}" for place in range(7)])
        pieces = list(
            files.indices(path, "item", domain, progress=lambda done, of, steps=steps: steps.append((done, of)))
        )
        assert len(pieces) > 3
        assert np.concatenate(pieces).tolist() == [place % 7 for place in range(5_000)]
        assert steps == sorted(steps)
        assert steps[-1][0] == steps[-1][1]


def test_missing_values_and_dictionaries(tmp_path):
    for extension in TYPED:
        path = write_column(tmp_path / f"some.{extension}", pa.array(["a", None, "b", "a"]).dictionary_encode())
        assert all_indices(path, "item", ["a", "b"]) == [0, -1, 1, 0]
        with pytest.raises(DataFileError, match=r"row 2 of .* is empty in that column"):
            files.items(path, "item")
    (tmp_path / "some.csv").write_text("item,x\na,1\n,2\nb,3\n")
    assert all_indices(tmp_path / "some.csv", "item", ["a", "b"]) == [0, -1, 1]
    with pytest.raises(DataFileError, match=r"row 2 below the header of .*some.csv is empty in that column"):
        files.items(tmp_path / "some.csv", "item")


def test_empty_rows_are_values_that_are_missing_except_at_the_end(tmp_path, monkeypatch):
    (tmp_path / "some.csv").write_text("item\na\n\n\nb\n\n\n")
    for size in (1, 2, 3, 7, 1000):
        monkeypatch.setattr("localdp.formats.lines.whole_lines.__defaults__", (b"", size))
        assert all_indices(tmp_path / "some.csv", None, ["a", "b"]) == [0, -1, -1, 1]


def test_items_that_are_written_alike_are_refused_in_text(tmp_path):
    (tmp_path / "some.csv").write_text("item\n1\n")
    with pytest.raises(DataFileError, match="written alike"):
        all_indices(tmp_path / "some.csv", None, ["1", 1])


@pytest.mark.parametrize("extension", TYPED)
def test_columns_that_cannot_hold_items_are_refused(tmp_path, extension):
    path = write_typed(pa.table({"item": pa.array([[1]])}), tmp_path / f"some.{extension}")
    with pytest.raises(DataFileError, match=r"holds list<.*>, and the items of the plan are whole numbers"):
        all_indices(path, None, [1, 2])


@pytest.mark.parametrize("extension", TYPED)
def test_a_number_that_no_item_can_be_is_an_unknown_value(tmp_path, extension):
    path = write_typed(pa.table({"item": pa.array([2, 2**63 + 5], pa.uint64())}), tmp_path / f"some.{extension}")
    assert all_indices(path, None, [1, 2]) == [1, files.UNKNOWN]


def test_values_that_cannot_be_items_are_refused(tmp_path):
    path = write_typed(pa.table({"item": [[1], [2]]}), tmp_path / "some.arrow")
    with pytest.raises(DataFileError, match=r"row 1 of .* holds a list or a record, which cannot be an item"):
        files.items(path, None)
    with pytest.raises(DataFileError, match="holds lists or records"):
        files.tally(path, None)


def test_the_only_column_needs_no_name(tmp_path):
    (tmp_path / "some.csv").write_text("item\nb\na\nb\n")
    assert all_indices(tmp_path / "some.csv", None, ["a", "b"]) == [1, 0, 1]
    assert files.tally(tmp_path / "some.csv", None) == {"b": 2, "a": 1}


@pytest.mark.parametrize("extension", ONE_FOR_EACH_FORMAT)
def test_a_list_of_items_has_every_item_once(tmp_path, extension):
    path = write_column(tmp_path / f"some.{extension}", ["b", "a", "c"])
    assert files.items(path, "item")[0] == ["b", "a", "c"]
    write_column(path, ["b", "a", "b"])
    with pytest.raises(
        DataFileError, match=r"rows 1 and 3 (below the header )?of .* are the same item, 'b'.*into items"
    ):
        files.items(path, "item")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("some.txt", b"a", "neither a .csv, .parquet nor"),
        ("some.csv", b"", "is empty"),
        ("some.csv", b"\xff\xfei\x00", "is in UTF-16: save it as UTF-8"),
        ("some.csv", b"item\na\n\xe9t\xe9\n", "line 3 of .* is not text in UTF-8. If the file is in Latin-1"),
        ("some.csv", b'item\na\n"b\na\n', "line 4 of .* is not CSV: a quotation mark is not closed"),
        ("some.csv", b"item\na, b\n", "row 1 below the header of .* has 2 cells, and its first line has 1"),
        ("some.csv", b"item,x\na,1\n\n\nb\n", "row 4 below the header of .* has 1 cell, and its first line has 2"),
        ("some.csv", b"item,item\na,b\n", "two columns of the same name"),
        ("some.csv", b"other\na\n", "no column 'item': it has 'other'"),
        ("some.parquet", b"PAR1 nothing", "not a Parquet file"),
        ("some.parquet", b"", "not a Parquet file"),
        ("some.arrow", b"ARROW1 nothing", "not an Arrow file"),
        ("some.arrow", b"", "not an Arrow file"),
        ("some.feather", b"FEA1 of the first version FEA1", "not an Arrow file"),
        ("some.csv.gz", b"not gzip", "cannot be read|not a CSV"),
        ("some.CSV.GZ", b"not gzip", "cannot be read|not a CSV"),
        ("some.csv", b"a\rb\rc\r", "not a CSV|no column"),
    ],
)
def test_what_is_not_such_a_file_is_refused(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataFileError, match=sentence):
        all_indices(tmp_path / name, "item", ["a", "b"])


@pytest.mark.parametrize("extension", TYPED)
def test_a_file_that_was_cut_short_is_refused(tmp_path, extension):
    path = write_column(tmp_path / f"some.{extension}", ["a", "b"] * 50)
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


@pytest.mark.parametrize("extension", TYPED)
def test_a_missing_file_or_column_is_named(tmp_path, extension):
    path = write_column(tmp_path / f"some.{extension}", ["a"])
    with pytest.raises(DataFileError, match="no column 'nome': it has 'other', 'item'"):
        all_indices(path, "nome", ["a", "b"])
    with pytest.raises(DataFileError, match="has 2 columns"):
        all_indices(path, None, ["a", "b"])
    with pytest.raises(FileNotFoundError, match=f"none.{extension}"):
        all_indices(tmp_path / f"none.{extension}", None, ["a", "b"])


@pytest.mark.parametrize("extension", TYPED)
def test_a_column_of_another_type_is_refused(tmp_path, extension):
    path = write_column(tmp_path / f"some.{extension}", [1, 2])
    with pytest.raises(DataFileError, match=r"holds int64, and the items of the plan are text"):
        all_indices(path, "item", ["1", "2"])
    with pytest.raises(DataFileError, match=r"text and whole numbers"):
        all_indices(path, "item", ["1", 2])


def test_without_pyarrow_csv_works_and_other_files_say_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "x.csv").write_text("item\n1\n0\n")
    assert all_indices(tmp_path / "x.csv", None, 2) == [1, 0]
    with pytest.raises(MissingPackageError, match="pip install pyarrow"):
        list(files.indices(tmp_path / "x.parquet", None, ldp.Domain(2)))
    table = ldp.Estimate([5.0, 1.0], n=10, variance=1.0).table()
    with pytest.raises(MissingPackageError, match="Parquet and Arrow files need the package pyarrow"):
        files.write_table(table, tmp_path / "x.arrow")
    files.write_table(table, tmp_path / "x.csv", replace=True)
    assert (tmp_path / "x.csv").read_text().startswith('"item","frequency"')
