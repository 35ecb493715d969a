"""Files for the tests: columns of values and reports in every format."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import localdp as ldp
from localdp import files

EXTENSIONS = ("csv", "csv.gz", "parquet", "arrow", "feather")
TYPED = ("parquet", "arrow")
ONE_FOR_EACH_FORMAT = ("csv", *TYPED)


def write_typed(table, path, rows=None):
    """A table in Parquet or Arrow, in groups or batches of this many rows."""
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=rows)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, rows)
    return path


def write_column(path, values, name="item"):
    """A file of two columns, `other` and the one with these values, in the format that the extension says."""
    table = pa.table({"other": pa.array(range(len(values))), name: values})
    if ".csv" not in path.suffixes:
        return write_typed(table, path, rows=3)
    pyarrow.csv.write_csv(table, path)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(path.read_bytes()))
    return path


def all_indices(path, column, domain):
    """The indices of all values of a column in one list."""
    return np.concatenate([*files.indices(path, column, ldp.Domain(domain)), np.zeros(0, np.int64)]).tolist()


def report_table(plan, reports, nullable=False):
    """A table like those in files of reports, with any bytes as reports."""
    column = pa.array(reports, pa.binary(len(reports[0])))
    field = pa.field("report", column.type, nullable=nullable)
    return pa.table([column], schema=pa.schema([field], metadata={b"localdp-plan": plan.fingerprint.encode()}))
