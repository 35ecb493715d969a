"""Reports in files whose columns have types: a column `report` of bytes, and the plan's fingerprint in the metadata.

The bytes of the rows lie one after the other, in the file as in memory, so that a file can be counted where it lies.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from localdp.errors import DataFileError, PlanMismatchError, WireCode, WireError
from localdp.files.base import arrow
from localdp.plan import Plan, Reports

if TYPE_CHECKING:
    import pyarrow as pa

Part = TypeVar("Part")
Read = TypeVar("Read")

PIECE_ROWS = 1 << 19
"""How many values are read at once."""
PIECE_BYTES = 1 << 26
"""How much of reports is written and read at once: enough to be worth a kernel's while on each thread."""

_PLAN = b"localdp-plan"
_AHEAD = 2


def piece_rows(plan: Plan) -> int:
    """How many reports are written and read at once."""
    return max(1, PIECE_BYTES // plan.mechanism.report_bytes)


def report_schema(plan: Plan) -> pa.Schema:
    """What a file of reports looks like."""
    column = arrow().field("report", arrow().binary(plan.mechanism.report_bytes), nullable=False)
    return arrow().schema([column], metadata={_PLAN: plan.fingerprint.encode()})


def report_batches(reports: Reports, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Reports in batches that are neither copied nor too long to be read at once."""
    package, step = arrow(), piece_rows(reports.plan)
    rows = np.ascontiguousarray(reports.rows)
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        buffers = [None, package.py_buffer(part)]
        column = package.FixedSizeBinaryArray.from_buffers(schema.field(0).type, len(part), buffers)
        yield package.RecordBatch.from_arrays([column], schema=schema)


def check_schema(schema: pa.Schema, plan: Plan, path: Path) -> None:
    """Refuse a file that does not hold reports of this plan."""
    length = plan.mechanism.report_bytes
    marked = (schema.metadata or {}).get(_PLAN, b"").decode("ascii", "replace")
    if schema.names.count("report") != 1 or not marked:
        raise DataFileError(f"{path} does not hold reports: it has no column 'report', or no plan in its metadata")
    if marked != plan.fingerprint:
        raise PlanMismatchError(
            f"{path} holds reports made under plan {marked[:12]}..., not {plan.fingerprint[:12]}..."
        )
    if schema.field("report").type != arrow().binary(length):
        raise WireError(WireCode.WRONG_LENGTH, f"the reports in {path} are not of {length} bytes each")


def reports_of(piece: pa.Array, plan: Plan, path: Path) -> Reports:
    """The rows of a column as reports, where they lie."""
    if piece.null_count:
        raise WireError(WireCode.WRONG_LENGTH, f"{path} has a row without a report")
    length = plan.mechanism.report_bytes
    return reports_in(piece.buffers()[1].slice(piece.offset * length, len(piece) * length), plan)


def reports_in(buffer: pa.Buffer, plan: Plan) -> Reports:
    """The bytes of a buffer as reports, where they lie."""
    data = np.frombuffer(buffer, np.uint8)
    data.setflags(write=False)  # nobody else has it, so no copy is needed
    return Reports(plan, data.reshape(-1, plan.mechanism.report_bytes))


def plain(piece: pa.Array) -> pa.Array:
    """The values themselves, where they are given by their places in a dictionary."""
    return piece.dictionary_decode() if arrow().types.is_dictionary(piece.type) else piece


def read_ahead(read: Callable[[Part], Read], parts: Iterable[Part]) -> Iterator[Read]:
    """Read every part, in order, while other threads read the next ones."""
    waiting: deque[Future[Read]] = deque()
    with ThreadPoolExecutor(_AHEAD) as pool:
        for part in parts:
            waiting.append(pool.submit(read, part))
            if len(waiting) > _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
