"""Parquet: columns with types.

Reports are written so that a row group is one page: a header, and the rows as they are. Such a group is counted
where it lies in the file, mapped into memory; any other is decoded by Arrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from localdp.errors import DataFileError
from localdp.files import columns
from localdp.files.base import Format, Write, arrow, chosen, readable
from localdp.files.columns import check_schema, plain, read_ahead, report_batches, report_schema
from localdp.plan import Plan, Reports
from localdp.types import Progress

if TYPE_CHECKING:
    import pyarrow as pa

_LARGEST_PAGE = 1 << 30
_READ_AHEAD = 1 << 20


@dataclass(frozen=True)
class Parquet(Format):
    """Row groups of columns, each in pages."""

    typed: ClassVar[bool] = True

    def column(self, path: Path, name: str | None, progress: Progress | None) -> Iterator[pa.Array]:
        with _opened(path, buffer_size=_READ_AHEAD) as file:
            yield from _pieces(path, file, chosen(file.schema_arrow.names, name, path), columns.PIECE_ROWS, progress)

    def reports(self, path: Path, plan: Plan, progress: Progress | None) -> Iterator[Reports]:
        most = columns.piece_rows(plan)
        with _opened(path, buffer_size=_READ_AHEAD) as file:
            check_schema(file.schema_arrow, plan, path)
            rows = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
            if sum(rows) != file.metadata.num_rows or any(count < 0 for count in rows):
                raise _rows_missing(path)
            if any(count > most for count in rows):
                for piece in _pieces(path, file, "report", most, progress):
                    yield columns.reports_of(piece, plan, path)
                return
            read = read_ahead(lambda group: _group(path, file.metadata, group, plan), range(len(rows)))
            for done, reports in enumerate(read, 1):
                yield reports
                if progress is not None:
                    progress(done, len(rows))

    @contextmanager
    def reports_writer(self, unfinished: Path, plan: Plan) -> Iterator[Write]:
        schema = report_schema(plan)
        with arrow("parquet").parquet.ParquetWriter(unfinished, schema, **_plainly()) as writer:

            def write(reports: Reports) -> None:
                for batch in report_batches(reports, schema):
                    writer.write_batch(batch)

            yield write

    def write_table(self, table: pa.Table, unfinished: Path) -> None:
        arrow("parquet").parquet.write_table(table, unfinished)


def _plainly() -> dict[str, Any]:
    """How to write a row group as one page of the rows as they are."""
    limits = {"data_page_size": _LARGEST_PAGE}
    if int(arrow().__version__.partition(".")[0]) >= 23:  # before, pages had no other limit
        limits["max_rows_per_page"] = _LARGEST_PAGE
    return {"compression": "none", "use_dictionary": False, "write_statistics": False, **limits}


@contextmanager
def _opened(path: Path, **options: Any) -> Iterator[Any]:
    with (
        readable(path, "a Parquet"),
        arrow("parquet").parquet.ParquetFile(path, pre_buffer=False, **options) as file,
    ):
        yield file


def _pieces(path: Path, file: Any, column: str, rows: int, progress: Progress | None) -> Iterator[pa.Array]:
    done = 0
    for batch in file.iter_batches(batch_size=rows, columns=[column], use_threads=False):
        done += batch.num_rows
        if progress is not None:
            progress(done, file.metadata.num_rows)
        yield plain(batch.column(0))
    if done != file.metadata.num_rows:
        raise _rows_missing(path)


def _group(path: Path, metadata: Any, group: int, plan: Plan) -> Reports:
    """The reports in a row group."""
    with _opened(path, metadata=metadata, memory_map=True) as file:  # so that a page is not read for its first row
        rows = _single_page(path, file, group, plan)
        if rows is not None:
            return columns.reports_in(rows, plan)
        table = file.read_row_group(group, columns=["report"], use_threads=False)
        if table.num_rows != file.metadata.row_group(group).num_rows:
            raise _rows_missing(path)
        return columns.reports_of(table.column(0).combine_chunks(), plan, path)


def _rows_missing(path: Path) -> DataFileError:
    return DataFileError(f"{path} is not a Parquet file that can be read: it has other rows than it says")


def _single_page(path: Path, file: Any, group: int, plan: Plan) -> pa.Buffer | None:
    """The rows of a group where they lie in the file, if they are one page and all there is in it.

    Arrow reads the first row before, so that a file it refuses is refused, and in the same words.
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
    with arrow().memory_map(str(path)) as source:
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
    """The header, in Thrift's compact protocol, of a page of so many values as they are, with no levels beside them.

    (A page of the first version; its size, twice; values, encoded plainly; levels run-length encoded; no statistics.)
    """
    page = b"\x15\x00" + 2 * (b"\x15" + _zigzag(size))
    return page + b"\x2c\x15" + _zigzag(values) + b"\x15\x00\x15\x06\x15\x06\x1c\x00\x00\x00"


def _zigzag(number: int) -> bytes:
    """A whole number, not negative, as Thrift writes it: doubled, seven bits a byte, the lowest first."""
    rest, low = divmod(2 * number, 128)
    octets = bytearray()
    while rest:
        octets.append(low | 128)
        rest, low = divmod(rest, 128)
    return bytes([*octets, low])
