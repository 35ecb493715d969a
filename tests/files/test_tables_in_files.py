"""Tables in CSV, Parquet and Arrow files."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from sample_files import EXTENSIONS

import localdp as ldp
from localdp import files


def test_a_file_that_exists_is_kept_unless_told(tmp_path):
    path = tmp_path / "table.csv"
    table = ldp.Estimate([5.0, 1.0], n=10, variance=1.0).table()
    files.write_table(table, path)
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="exists already"):
        files.write_table(table, path)
    assert path.read_bytes() == before
    files.write_table(table, path, replace=True)


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_tables_are_written(tmp_path, extension):
    table = ldp.Estimate([5.0, 1.0], n=10, variance=1.0, domain=["tea, green", "ü"]).table()
    path = tmp_path / f"table.{extension}"
    files.write_table(table, path)
    readers = {"parquet": pq.read_table, "arrow": pa.feather.read_table, "feather": pa.feather.read_table}
    back = readers.get(extension, pyarrow.csv.read_csv)(path)
    assert back.column("item").to_pylist() == ["tea, green", "ü"]
    assert back.column("frequency").to_pylist() == [5.0, 1.0]
