"""Values, reports and results in CSV and Parquet files, read and written in pieces; pyarrow does the work.

Files are told by their names: `.csv`, `.csv.gz` or `.parquet`. A cell of a CSV file is text, and matches the item that
is written like it; a Parquet column has a type, which must be that of the items.

Reports are one row each. In Parquet they are a column `report` of bytes, and the file's metadata `localdp-plan` holds
the fingerprint of their plan; in CSV they are base64 in a column `report`, with the fingerprint in a column `plan`, so
that files can be concatenated.
"""

from __future__ import annotations

import base64
import csv
import gzip
import os
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from localdp.blocks import LONGEST_LINE, whole_lines
from localdp.domain import Domain, Item
from localdp.drafts import draft
from localdp.errors import DataFileError, MissingPackageError, PlanMismatchError, WireCode, WireError
from localdp.parallel import Progress
from localdp.plan import Plan, Reports
from localdp.table import Table
from localdp.wire import decode

if TYPE_CHECKING:
    import pyarrow as pa

UNKNOWN = -1
"""The index of a value that is not an item."""

_PLAN = b"localdp-plan"
_PIECE_BYTES = 1 << 23
_PIECE_ROWS = 1 << 19
_GROUP_BYTES, _AHEAD = 1 << 26, 2


def kind_of(path: str | os.PathLike[str]) -> str:
    """ "csv" or "parquet", by the name of the file."""
    name = Path(path).name.lower()
    if name.endswith((".csv", ".csv.gz")):
        return "csv"
    if name.endswith((".parquet", ".pq")):
        return "parquet"
    raise DataFileError(f"{path} is neither a .csv nor a .parquet file")


def indices(
    path: str | os.PathLike[str], column: str | None, domain: Domain, progress: Progress | None = None
) -> Iterator[NDArray[np.int64]]:
    """The index of every value in a column (the only one, if none is named), in pieces; `UNKNOWN` for no item."""
    arrow = _arrow()
    known: dict[bool, Any] = {}
    for piece in _column(path, column, progress):
        text = kind_of(path) == "csv"
        if text not in known:
            known[text] = _item_array(domain, piece.type, text, path)
        try:
            found = arrow.compute.index_in(piece.cast(known[text].type), known[text])
        except arrow.ArrowException as error:
            raise DataFileError(f"{path} has values that cannot be items: {_first_line(error)}") from None
        yield arrow.compute.fill_null(found, UNKNOWN).to_numpy(zero_copy_only=False).astype(np.int64)


def distinct(path: str | os.PathLike[str], column: str | None) -> list[Item]:
    """The different values of a column, in the order they first appear."""
    seen: dict[Item, None] = {}
    for piece in _column(path, column, None):
        if piece.null_count:
            raise DataFileError(f"{path} has an empty cell in that column, which cannot be an item")
        if _arrow().types.is_nested(piece.type):
            raise DataFileError(f"the column of {path} holds {piece.type}, which cannot be items")
        seen.update(dict.fromkeys(piece.unique().to_pylist()))
    return list(seen)


@contextmanager
def reports_writer(
    path: str | os.PathLike[str], plan: Plan, replace: bool = False
) -> Iterator[Callable[[Reports], None]]:
    """A function that appends reports to a new file, which appears when all are written."""
    arrow = _arrow()
    kind = kind_of(path)
    with draft(path, replace) as unfinished:
        if kind == "parquet":
            column = arrow.field("report", arrow.binary(plan.mechanism.report_bytes), nullable=False)
            schema = arrow.schema([column], metadata={_PLAN: plan.fingerprint.encode()})
            with arrow.parquet.ParquetWriter(unfinished, schema, compression="none", use_dictionary=False) as writer:
                yield lambda reports: writer.write_batch(_report_batch(reports, schema))
        else:
            schema = arrow.schema([("plan", arrow.string()), ("report", arrow.string())])
            with _output(unfinished, path) as stream, arrow.csv.CSVWriter(stream, schema) as writer:
                yield lambda reports: writer.write_batch(_text_batch(reports, schema))


def read_reports(path: str | os.PathLike[str], plan: Plan, progress: Progress | None = None) -> Iterator[Reports]:
    """The reports in a file, in pieces; a `WireError` or `PlanMismatchError` for what is not such under this plan."""
    length = plan.mechanism.report_bytes
    if kind_of(path) == "csv":
        for piece in _csv(path, ["plan", "report"], progress):
            if set(piece.column("plan").unique().to_pylist()) != {plan.fingerprint}:
                raise PlanMismatchError(f"{path} holds reports made under another plan than {plan.fingerprint[:12]}...")
            rows = [decode(cell or "", length) for cell in piece.column("report").to_pylist()]
            yield Reports(plan, np.frombuffer(b"".join(rows), np.uint8).reshape(-1, length))
        return
    with _parquet(path) as file:
        marked = (file.schema_arrow.metadata or {}).get(_PLAN, b"").decode("ascii", "replace")
        if "report" not in file.schema_arrow.names or not marked:
            raise DataFileError(f"{path} does not hold reports: it has no column 'report', or no plan in its metadata")
        if marked != plan.fingerprint:
            raise PlanMismatchError(
                f"{path} holds reports made under plan {marked[:12]}..., not {plan.fingerprint[:12]}..."
            )
        if file.schema_arrow.field("report").type != _arrow().binary(length):
            raise WireError(WireCode.WRONG_LENGTH, f"the reports in {path} are not of {length} bytes each")
        groups = range(file.metadata.num_row_groups)
        if all(file.metadata.row_group(group).num_rows * length <= _GROUP_BYTES for group in groups):
            pieces = _read_ahead(path, file, "report", progress)
        else:
            pieces = _parquet_pieces(file, "report", max(1, _PIECE_BYTES // length), progress)
        for piece in pieces:
            if piece.null_count:
                raise WireError(WireCode.WRONG_LENGTH, f"{path} has a row without a report")
            start = piece.offset * length
            data = np.frombuffer(piece.buffers()[1], np.uint8)[start : start + len(piece) * length]
            data.setflags(write=False)  # nobody else has it, so no copy is needed
            yield Reports(plan, data.reshape(-1, length))


def write_table(table: Table, path: str | os.PathLike[str], replace: bool = False) -> None:
    """A table as CSV or Parquet."""
    arrow = _arrow()
    kind = kind_of(path)
    with draft(path, replace) as unfinished:
        if kind == "parquet":
            arrow.parquet.write_table(table.to_arrow(), unfinished)
        else:
            with _output(unfinished, path) as stream:
                arrow.csv.write_csv(table.to_arrow(), stream)


def _column(path: str | os.PathLike[str], column: str | None, progress: Progress | None) -> Iterator[pa.Array]:
    """A column in pieces, as plain arrays."""
    if kind_of(path) == "csv":
        for table in _csv(path, [column], progress):
            yield table.column(0).combine_chunks()
        return
    with _parquet(path) as file:
        name = _chosen(file.schema_arrow.names, column, path)
        yield from _parquet_pieces(file, name, _PIECE_ROWS, progress)


def _chosen(names: list[str], column: str | None, path: str | os.PathLike[str]) -> str:
    if column is None and len(names) == 1:
        return names[0]
    if column is None:
        raise DataFileError(f"{path} has {len(names)} columns: say which holds the items ({', '.join(names[:8])})")
    if column not in names:
        raise DataFileError(f"{path} has no column {column!r}: it has {', '.join(names[:8])}")
    return column


def _csv(path: str | os.PathLike[str], columns: Sequence[str | None], progress: Progress | None) -> Iterator[pa.Table]:
    """Columns of a CSV file in pieces, all as text.

    (Arrow has a stream for this, but leaves a thread behind when the stream is not read to its end.)
    """
    arrow = _arrow()
    total = Path(path).stat().st_size
    try:
        with Path(path).open("rb") as raw:
            stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if _is_zipped(path) else raw
            header = _header(stream.readline(LONGEST_LINE), path)
            read = arrow.csv.ReadOptions(column_names=header)
            convert = arrow.csv.ConvertOptions(
                column_types=dict.fromkeys(header, arrow.string()),
                include_columns=[_chosen(header, column, path) for column in columns],
                strings_can_be_null=True,
                null_values=[""],
                quoted_strings_can_be_null=False,
            )
            parse = arrow.csv.ParseOptions(ignore_empty_lines=False)
            blank = b""
            for lines in whole_lines(stream):
                body = (blank + lines).rstrip(b"\r\n")  # empty lines at the end of the file are none
                blank = (blank + lines)[len(body) :]
                if body:
                    block = arrow.BufferReader(body)
                    piece = arrow.csv.read_csv(block, read_options=read, parse_options=parse, convert_options=convert)
                    if piece.num_rows != body.count(b"\n") + 1:
                        raise DataFileError(
                            f"{path} has a value with a line break in it, which cannot be read in pieces"
                        )
                    yield piece
                    blank = blank.partition(b"\n")[2]
                if progress is not None:
                    progress(raw.tell(), total)
    except (arrow.ArrowException, csv.Error, gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DataFileError(f"{path} is not a CSV file that can be read: {_first_line(error)}") from None


def _header(line: bytes, path: str | os.PathLike[str]) -> list[str]:
    names = next(csv.reader([line.decode("utf-8-sig").strip("\r\n")]), [])
    if not any(names):
        raise DataFileError(f"{path} is empty: a CSV file begins with the names of its columns")
    if len(set(names)) != len(names):
        raise DataFileError(f"{path} has two columns of the same name")
    return names


@contextmanager
def _parquet(path: str | os.PathLike[str]) -> Iterator[Any]:
    arrow = _arrow()
    try:
        with arrow.parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as file:
            yield file
    except arrow.ArrowException as error:
        raise DataFileError(f"{path} is not a Parquet file that can be read: {_first_line(error)}") from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise DataFileError(f"{path} is not a Parquet file that can be read: {_first_line(error)}") from None


def _parquet_pieces(file: Any, column: str, rows: int, progress: Progress | None) -> Iterator[pa.Array]:
    done = 0
    for batch in file.iter_batches(batch_size=rows, columns=[column], use_threads=False):
        done += batch.num_rows
        if progress is not None:
            progress(done, file.metadata.num_rows)
        piece = batch.column(0)
        yield piece.dictionary_decode() if _arrow().types.is_dictionary(piece.type) else piece


def _read_ahead(path: str | os.PathLike[str], file: Any, column: str, progress: Progress | None) -> Iterator[pa.Array]:
    """A column, a row group at a time, while the next ones are read by other threads."""
    arrow = _arrow()

    def read(group: int) -> pa.Array:
        with arrow.parquet.ParquetFile(path, metadata=file.metadata, pre_buffer=False) as own:
            return own.read_row_group(group, columns=[column], use_threads=False).column(0).combine_chunks()

    groups = file.metadata.num_row_groups
    with ThreadPoolExecutor(_AHEAD) as pool:
        waiting = deque(pool.submit(read, group) for group in range(min(_AHEAD, groups)))
        for group in range(groups):
            piece = waiting.popleft().result()
            if group + _AHEAD < groups:
                waiting.append(pool.submit(read, group + _AHEAD))
            yield piece
            if progress is not None:
                progress(group + 1, groups)


def _item_array(domain: Domain, given: pa.DataType, text: bool, path: str | os.PathLike[str]) -> pa.Array:
    """The items as an Arrow array whose type a column of the given type can be compared in."""
    arrow = _arrow()
    kinds = {type(item) for item in domain.items} if not isinstance(domain.items, range) else {int}
    if text:
        written = [_written(item) for item in domain.items]
        if len(set(written)) < len(written):
            raise DataFileError("two items of the plan are written alike, so a CSV file cannot tell them apart")
        return arrow.array(written, arrow.string())
    types = arrow.types
    fits = {
        str: types.is_string(given) or types.is_large_string(given) or types.is_string_view(given),
        int: types.is_integer(given),
        float: types.is_floating(given),
        bool: types.is_boolean(given),
    }
    if len(kinds) != 1 or not fits[next(iter(kinds))]:
        names = {str: "text", int: "whole numbers", float: "numbers", bool: "booleans"}
        wanted = " and ".join(sorted(names[kind] for kind in kinds))
        raise DataFileError(f"the column of {path} holds {given}, and the items of the plan are {wanted}")
    plain = {str: arrow.string(), int: arrow.int64(), float: arrow.float64(), bool: arrow.bool_()}
    return arrow.array(list(domain.items), plain[next(iter(kinds))])


def _written(item: Item) -> str:
    return str(item).lower() if isinstance(item, bool) else str(item)


def _report_batch(reports: Reports, schema: pa.Schema) -> pa.RecordBatch:
    arrow = _arrow()
    rows = np.ascontiguousarray(reports.rows)
    column = arrow.FixedSizeBinaryArray.from_buffers(schema.field(0).type, len(rows), [None, arrow.py_buffer(rows)])
    return arrow.RecordBatch.from_arrays([column], schema=schema)


def _text_batch(reports: Reports, schema: pa.Schema) -> pa.RecordBatch:
    arrow = _arrow()
    encoded = [base64.b64encode(row.tobytes()).decode("ascii") for row in reports.rows]
    plans = arrow.array([reports.plan.fingerprint] * len(encoded), arrow.string())
    return arrow.RecordBatch.from_arrays([plans, arrow.array(encoded, arrow.string())], schema=schema)


@contextmanager
def _output(unfinished: Path, path: str | os.PathLike[str]) -> Iterator[Any]:
    with unfinished.open("wb") as raw:
        if _is_zipped(path):
            with _arrow().CompressedOutputStream(raw, "gzip") as stream:
                yield stream
        else:
            yield raw


def _is_zipped(path: str | os.PathLike[str]) -> bool:
    return Path(path).suffix.lower() == ".gz"


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError:
        raise MissingPackageError(
            "CSV and Parquet files need the package pyarrow: pip install 'localdp[files]'"
        ) from None
    return pyarrow
