"""Parquet files.

Reports are written so that a row group is one page: a header, then the rows unchanged. Such a group is mapped into
memory and counted there without a copy; any other group is decoded by Arrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localdp.errors import DataFileError
from localdp.files import columns
from localdp.files.base import data_file_errors, load_pyarrow, resolve_column
from localdp.files.columns import check_plan, check_schema, decode_dictionary, read_ahead
from localdp.files.typed import TypedFormat
from localdp.plan import Plan, Reports
from localdp.types import Progress

if TYPE_CHECKING:
    import pyarrow as pa

_LARGEST_PAGE = 1 << 30  # bytes, or rows: far more than a row group has, so that it is never cut into pages
_READ_AHEAD = 1 << 20  # bytes; without a buffer, Arrow reads a whole column chunk at once


@dataclass(frozen=True)
class ParquetFormat(TypedFormat):
    """Row groups; in each, the pages of one column after the other."""

    def column(self, path: Path, name: str | None, progress: Progress | None) -> Iterator[pa.Array]:
        with _open(path, buffer_size=_READ_AHEAD) as file:
            yield from _column_pieces(
                path, file, resolve_column(file.schema_arrow.names, name, path), columns.PIECE_ROWS, progress
            )

    def row_groups(self, path: Path) -> int:
        """How many row groups a file has. `reports` can read some of them alone."""
        with _open(path) as file:
            return int(file.metadata.num_row_groups)

    def reports(
        self, path: Path, plan: Plan, progress: Progress | None, groups: range | None = None
    ) -> Iterator[Reports]:
        most = columns.piece_rows(plan)
        with _open(path, buffer_size=_READ_AHEAD) as file:
            check_schema(file.schema_arrow, plan, path)
            chosen = _checked_groups(path, file, groups)
            if any(file.metadata.row_group(group).num_rows > most for group in chosen):
                for piece in _column_pieces(path, file, "report", most, progress, chosen):
                    yield columns.reports_in_column(piece, plan, path)
                return
            read = read_ahead(lambda group: _reports_in_group(path, file.metadata, group, plan), chosen)
            for done, reports in enumerate(read, 1):
                yield reports
                if progress is not None:
                    progress(done, len(chosen))

    def report_column(self, path: Path, plan: Plan, groups: range | None = None) -> Iterator[pa.Array]:
        with _open(path, buffer_size=_READ_AHEAD) as file:
            check_plan(file.schema_arrow, plan, path)
            chosen = _checked_groups(path, file, groups)
            yield from _column_pieces(path, file, "report", columns.piece_rows(plan), None, chosen)

    def batch_writer(self, temporary: Path, schema: pa.Schema) -> AbstractContextManager[Any]:
        writer: AbstractContextManager[Any] = load_pyarrow("parquet").parquet.ParquetWriter(
            temporary, schema, **_writer_options()
        )
        return writer

    def write_arrow(self, table: pa.Table, target: Path) -> None:
        load_pyarrow("parquet").parquet.write_table(table, target)


def _writer_options() -> dict[str, Any]:
    """Options that write a row group as one page with the rows unchanged."""
    limits = {"data_page_size": _LARGEST_PAGE}
    if int(load_pyarrow().__version__.partition(".")[0]) >= 23:  # earlier versions limit pages only by their bytes
        limits["max_rows_per_page"] = _LARGEST_PAGE
    return {"compression": "none", "use_dictionary": False, "write_statistics": False, **limits}


@contextmanager
def _open(path: Path, **options: Any) -> Iterator[Any]:
    with (
        data_file_errors(path, "a Parquet"),
        load_pyarrow("parquet").parquet.ParquetFile(path, pre_buffer=False, **options) as file,
    ):
        yield file


def _checked_groups(path: Path, file: Any, groups: range | None) -> range:
    """The row groups to read: all of them if `groups` is None. The file must agree with itself on their lengths."""
    rows = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
    if sum(rows) != file.metadata.num_rows or any(count < 0 for count in rows):
        raise _rows_missing(path)
    if groups is not None and groups.stop > len(rows):
        raise DataFileError(f"{path} was changed while it was read: it has {len(rows)} row groups, not {groups.stop}")
    return range(len(rows)) if groups is None else groups


def _column_pieces(
    path: Path, file: Any, column: str, rows: int, progress: Progress | None, groups: range | None = None
) -> Iterator[pa.Array]:
    chosen = range(file.metadata.num_row_groups) if groups is None else groups
    total = (
        file.metadata.num_rows if groups is None else sum(file.metadata.row_group(group).num_rows for group in chosen)
    )
    done = 0
    for batch in file.iter_batches(batch_size=rows, row_groups=list(chosen), columns=[column], use_threads=False):
        done += batch.num_rows
        if progress is not None:
            progress(done, total)
        yield decode_dictionary(batch.column(0))
    if done != total:
        raise _rows_missing(path)


def _reports_in_group(path: Path, metadata: Any, group: int, plan: Plan) -> Reports:
    """The reports in a row group, mapped if it is one plain page, decoded by Arrow if not."""
    # Mapped, so that looking at the first row does not read a whole page.
    with _open(path, metadata=metadata, memory_map=True) as file:
        rows = _single_page(path, file, group, plan)
        if rows is not None:
            return columns.reports_in_buffer(rows, plan)
        table = file.read_row_group(group, columns=["report"], use_threads=False)
        if table.num_rows != file.metadata.row_group(group).num_rows:
            raise _rows_missing(path)
        return columns.reports_in_column(table.column(0).combine_chunks(), plan, path)


def _rows_missing(path: Path) -> DataFileError:
    message = f"{path} is not a Parquet file that can be read: the number of rows differs from what its metadata says"
    return DataFileError(message)


def _single_page(path: Path, file: Any, group: int, plan: Plan) -> pa.Buffer | None:
    """The bytes of a group's rows in the mapped file, if the group is one plain page of them; else None.

    Arrow reads the first row before, so that a file which Arrow refuses is refused here with the same error.
    """
    first = next(file.iter_batches(1, row_groups=[group], columns=["report"], use_threads=False), None)
    leaves = [file.schema.column(place) for place in range(len(file.schema))]
    place = [leaf.path for leaf in leaves].index("report")
    if first is None or leaves[place].max_definition_level or leaves[place].max_repetition_level:
        return None
    chunk, count = file.metadata.row_group(group).column(place), file.metadata.row_group(group).num_rows
    size = count * plan.mechanism.report_bytes
    header = _page_header(count, size)
    if chunk.compression != "UNCOMPRESSED" or chunk.total_compressed_size != len(header) + size:
        return None
    with load_pyarrow().memory_map(str(path)) as source:
        source.seek(chunk.data_page_offset)
        if source.read(len(header)) != header:
            return None
        rows = source.read_buffer(size)
        return (
            rows
            if rows.size == size and rows[: plan.mechanism.report_bytes] == first.column(0)[0].as_buffer()
            else None
        )


def _page_header(values: int, size: int) -> bytes:
    """The header of a page with `values` uncompressed values in `size` bytes, in Thrift's compact protocol.

    The fields: data page version 1; uncompressed and compressed size; number of values, plain encoding, run-length
    encoding of the (absent) definition and repetition levels, no statistics.
    """
    page = b"\x15\x00" + 2 * (b"\x15" + _zigzag(size))
    return page + b"\x2c\x15" + _zigzag(values) + b"\x15\x00\x15\x06\x15\x06\x1c\x00\x00\x00"


def _zigzag(number: int) -> bytes:
    """A number of at least 0 as Thrift writes it: doubled, in groups of seven bits, the lowest group first."""
    rest, low = divmod(2 * number, 128)
    octets = bytearray()
    while rest:
        octets.append(low | 128)
        rest, low = divmod(rest, 128)
    return bytes([*octets, low])
