"""CSV as people have it: separators, quoted line breaks, byte order marks, files without names of columns."""

from __future__ import annotations

import pytest
from sample_files import all_indices

import localdp as ldp
from localdp import files
from localdp.errors import DataFileError
from localdp.files.csv_dialect import find_separator


@pytest.mark.parametrize(
    ("content", "column"),
    [
        (b"id,drink\n1,tea\n2,caf\xc3\xa9\n", "drink"),
        (b"id;drink\r\n1;tea\r\n2;caf\xc3\xa9\r\n", "drink"),
        (b"\xef\xbb\xbfid\tdrink\n1\ttea\n2\tcaf\xc3\xa9", "drink"),
        (b"id|drink\n1|tea\n2|caf\xc3\xa9\n", "drink"),
        (b'"drink"\n"tea"\n"caf\xc3\xa9"\n', None),
        (b'drink;comment\ntea;"two\nlines; with a sign"\n"caf\xc3\xa9";"say ""hi"""\n', "drink"),
        (b"price,net;drink\n1,50;tea\n2,75;caf\xc3\xa9\n", "drink"),
        (b"drink\rtea\rcaf\xc3\xa9\r", None),
    ],
)
def test_separators_quotes_and_marks_are_understood(tmp_path, content, column):
    (tmp_path / "some.csv").write_bytes(content)
    assert all_indices(tmp_path / "some.csv", column, ["tea", "café"]) == [0, 1]


def test_a_line_break_inside_quotation_marks_belongs_to_the_value(tmp_path):
    (tmp_path / "some.csv").write_text('item\n"a\nb"\n"c"\n')
    assert files.items(tmp_path / "some.csv", None)[0] == ["a\nb", "c"]


def test_an_extension_of_tabs_is_read_and_written_with_tabs(tmp_path):
    (tmp_path / "some.tsv").write_text("a;b,c\tdrink\n1;2,3\ttea\n")
    assert files.items(tmp_path / "some.tsv", "drink")[0] == ["tea"]


@pytest.mark.parametrize(
    ("lines", "column", "separator"),
    [
        (["What do you drink; if anything", "tea", "coffee"], None, ","),
        (["a;b", "1;2", "only one"], None, ";"),
        (["a,b;c", "1,2;3"], None, ","),
        (["a,b;c", "1,2;3"], "c", ";"),
        ([], None, ","),
    ],
)
def test_the_separator_splits_most_lines_alike(lines, column, separator):
    assert find_separator(lines, column) == separator


@pytest.mark.parametrize("first", ["tea", "coffee"])
def test_a_file_without_names_of_columns_is_noticed_and_read_when_that_is_said(tmp_path, first):
    (tmp_path / "some.csv").write_text(f"{first}\ncoffee\ntea\n")
    with pytest.raises(
        DataFileError, match=r"looks like a value and not like the name of a column: .* say --no-header"
    ):
        all_indices(tmp_path / "some.csv", None, ["tea", "coffee"])
    domain = ldp.Domain(["tea", "coffee"])
    found = [next(files.indices(tmp_path / "some.csv", None, domain, header=header)) for header in (False, True)]
    assert [len(part) for part in found] == [3, 2]


def test_columns_without_names_are_numbered(tmp_path):
    (tmp_path / "some.csv").write_text("1,tea\n2,coffee\n")
    assert files.items(tmp_path / "some.csv", "2", header=False)[0] == ["tea", "coffee"]
    with pytest.raises(DataFileError, match="looks like a value"):
        files.items(tmp_path / "some.csv", "1")
    (tmp_path / "some.parquet").write_text("")
    with pytest.raises(DataFileError, match="only CSV files may lack the names"):
        files.items(tmp_path / "some.parquet", None, header=False)
