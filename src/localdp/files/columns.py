"""Reports in Parquet and Arrow files: a column `report` of bytes, and the plan's fingerprint in the metadata.

The rows follow each other without gaps, in the file as in memory, so reports are counted in the mapped file without a
copy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from localdp.errors import DataFileError, PlanMismatchError, WireCode, WireError
from localdp.files.base import load_pyarrow
from localdp.plan import Plan, Reports
from localdp.types import Rows

if TYPE_CHECKING:
    import pyarrow as pa

Part = TypeVar("Part")
Read = TypeVar("Read")

PIECE_ROWS = 1 << 19
"""The number of values read at once."""
PIECE_BYTES = 1 << 26
"""The bytes of reports written and read at once: enough work to keep every thread of a kernel busy."""

_PLAN_KEY = b"localdp-plan"
_PIECES_AHEAD = 2  # one being read while one is counted, and one ready; more would only take memory


def piece_rows(plan: Plan) -> int:
    """The number of reports written and read at once."""
    return max(1, PIECE_BYTES // plan.mechanism.report_bytes)


def report_schema(plan: Plan) -> pa.Schema:
    """The Arrow schema of a file of reports."""
    column = load_pyarrow().field("report", load_pyarrow().binary(plan.mechanism.report_bytes), nullable=False)
    return load_pyarrow().schema([column], metadata={_PLAN_KEY: plan.fingerprint.encode()})


def report_batches(reports: Reports, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield reports as record batches that share their memory and are at most `PIECE_BYTES` long."""
    pyarrow, step = load_pyarrow(), piece_rows(reports.plan)
    rows = np.ascontiguousarray(reports.rows)
    for start in range(0, len(rows), step):
        yield pyarrow.RecordBatch.from_arrays([report_array(rows[start : start + step])], schema=schema)


def report_array(rows: Rows) -> pa.Array:
    """Reports as a column of Arrow, which shares their memory."""
    pyarrow = load_pyarrow()
    kind = pyarrow.binary(rows.shape[1])
    return pyarrow.FixedSizeBinaryArray.from_buffers(kind, len(rows), [None, pyarrow.py_buffer(rows)])


def check_schema(schema: pa.Schema, plan: Plan, path: Path) -> None:
    """Raise an error if a file with this schema does not hold reports of this plan."""
    check_plan(schema, plan, path)
    length = plan.mechanism.report_bytes
    if schema.field("report").type != load_pyarrow().binary(length):
        raise WireError(WireCode.WRONG_LENGTH, f"the reports in {path} are not of {length} bytes each")


def check_plan(schema: pa.Schema, plan: Plan, path: Path) -> None:
    """Raise an error if a file with this schema has no reports, or was made under another plan."""
    marked = (schema.metadata or {}).get(_PLAN_KEY, b"").decode("ascii", "replace")
    if schema.names.count("report") != 1 or not marked:
        raise DataFileError(
            f"{path} does not hold reports: it has no column 'report', or no plan in its metadata; "
            "`localdp privatize` makes reports"
        )
    if marked != plan.fingerprint:
        raise PlanMismatchError(
            f"{path} holds reports made under plan {marked[:12]}..., not {plan.fingerprint[:12]}..."
        )


def reports_in_column(piece: pa.Array, plan: Plan, path: Path) -> Reports:
    """The rows of a column as reports, without a copy."""
    if piece.null_count:
        raise WireError(WireCode.WRONG_LENGTH, f"{path} has a row without a report")
    length = plan.mechanism.report_bytes
    return reports_in_buffer(piece.buffers()[1].slice(piece.offset * length, len(piece) * length), plan)


def reports_in_buffer(buffer: pa.Buffer, plan: Plan) -> Reports:
    """The bytes of a buffer as reports, without a copy."""
    data = np.frombuffer(buffer, np.uint8)
    data.setflags(write=False)  # nobody else has it, so no copy is needed
    return Reports(plan, data.reshape(-1, plan.mechanism.report_bytes))


def decode_dictionary(piece: pa.Array) -> pa.Array:
    """The values of a column; a dictionary-encoded one holds only positions in a list of values."""
    return piece.dictionary_decode() if load_pyarrow().types.is_dictionary(piece.type) else piece


def read_ahead(read: Callable[[Part], Read], parts: Iterable[Part]) -> Iterator[Read]:
    """Yield what `read` returns for every part, in order, while other threads read the next parts."""
    waiting: deque[Future[Read]] = deque()
    with ThreadPoolExecutor(_PIECES_AHEAD) as pool:
        for part in parts:
            waiting.append(pool.submit(read, part))
            if len(waiting) > _PIECES_AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
