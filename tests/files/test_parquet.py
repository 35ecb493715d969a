"""Reports in Parquet files that are counted in the mapped file, and files where that would be wrong."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sample_files import report_table

import localdp as ldp
from localdp import files
from localdp.errors import WireError
from localdp.files import parquet


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


def test_the_marks_of_missing_rows_are_not_taken_for_a_report(tmp_path):
    """One of eight rows is missing, and the bytes that mark it are as long as one report: the lengths would match."""
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
