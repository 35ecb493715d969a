"""Arrow files (Arrow IPC, also called Feather version 2): record batches laid out in the file as in memory.

So a file is read by mapping it into memory. Pages that were read count as memory until the map is closed, so every
piece has its own map.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from localdp.files import columns
from localdp.files.base import Format, Write, data_file_errors, load_pyarrow, resolve_column
from localdp.files.columns import (
    check_schema,
    decode_dictionary,
    read_ahead,
    report_batches,
    report_schema,
    reports_in_column,
)
from localdp.plan import Plan, Reports
from localdp.types import Progress

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ArrowFormat(Format):
    """Record batches one after the other, then a list of where each begins."""

    typed: ClassVar[bool] = True

    def column(self, path: Path, name: str | None, progress: Progress | None) -> Iterator[pa.Array]:
        with _open(path) as file:
            names = file.schema.names
        for piece, done, total in _column_pieces(
            path, names.index(resolve_column(names, name, path)), columns.PIECE_ROWS
        ):
            if progress is not None:
                progress(done, total)
            yield decode_dictionary(piece)

    def reports(self, path: Path, plan: Plan, progress: Progress | None) -> Iterator[Reports]:
        with _open(path) as file:
            check_schema(file.schema, plan, path)
            place = file.schema.names.index("report")

        def read(part: tuple[pa.Array, int, int]) -> tuple[Reports, int, int]:
            piece, done, total = part
            return reports_in_column(piece, plan, path), done, total

        for reports, done, total in read_ahead(read, _column_pieces(path, place, columns.piece_rows(plan))):
            yield reports
            if progress is not None:
                progress(done, total)

    @contextmanager
    def reports_writer(self, temporary: Path, plan: Plan) -> Iterator[Write]:
        schema = report_schema(plan)
        with load_pyarrow().OSFile(str(temporary), "wb") as sink, load_pyarrow().ipc.new_file(sink, schema) as writer:

            def write(reports: Reports) -> None:
                for batch in report_batches(reports, schema):
                    writer.write_batch(batch)

            yield write

    def write_table(self, table: pa.Table, temporary: Path) -> None:
        with (
            load_pyarrow().OSFile(str(temporary), "wb") as sink,
            load_pyarrow().ipc.new_file(sink, table.schema) as writer,
        ):
            writer.write_table(table)


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    with data_file_errors(path, "an Arrow"), load_pyarrow().memory_map(str(path)) as source:
        yield load_pyarrow().ipc.open_file(source)


def _column_pieces(path: Path, place: int, most: int) -> Iterator[tuple[pa.Array, int, int]]:
    """Yield a column in pieces of at most `most` rows, with the number of batches read so far and in all."""
    batch, batches, start = 0, 1, 0
    while batch < batches:
        with _open(path) as file:
            batches = file.num_record_batches
            if batch == batches:
                return
            column = file.get_batch(batch).column(place)
            piece = column.slice(start, most)
            piece.validate(full=True)  # Arrow trusts what it maps, and would follow offsets out of the file
        yield piece, batch + 1, batches
        batch, start = (batch, start + most) if start + most < len(column) else (batch + 1, 0)
