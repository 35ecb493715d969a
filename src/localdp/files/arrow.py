"""Arrow IPC files (Feather, version 2): record batches as they are in memory, so a file is read by mapping it there.

Pages that were touched count as memory until the map is closed, so every piece has a map of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from localdp.files import columns
from localdp.files.base import Format, Write, arrow, chosen, readable
from localdp.files.columns import check_schema, plain, read_ahead, report_batches, report_schema, reports_of
from localdp.plan import Plan, Reports
from localdp.types import Progress

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Ipc(Format):
    """Record batches one after the other, and where each begins."""

    typed: ClassVar[bool] = True

    def column(self, path: Path, name: str | None, progress: Progress | None) -> Iterator[pa.Array]:
        with _opened(path) as file:
            names = file.schema.names
        for piece, done, total in _pieces(path, names.index(chosen(names, name, path)), columns.PIECE_ROWS):
            if progress is not None:
                progress(done, total)
            yield plain(piece)

    def reports(self, path: Path, plan: Plan, progress: Progress | None) -> Iterator[Reports]:
        with _opened(path) as file:
            check_schema(file.schema, plan, path)
            place = file.schema.names.index("report")

        def read(part: tuple[pa.Array, int, int]) -> tuple[Reports, int, int]:
            piece, done, total = part
            return reports_of(piece, plan, path), done, total

        for reports, done, total in read_ahead(read, _pieces(path, place, columns.piece_rows(plan))):
            yield reports
            if progress is not None:
                progress(done, total)

    @contextmanager
    def reports_writer(self, unfinished: Path, plan: Plan) -> Iterator[Write]:
        schema = report_schema(plan)
        with arrow().OSFile(str(unfinished), "wb") as sink, arrow().ipc.new_file(sink, schema) as writer:

            def write(reports: Reports) -> None:
                for batch in report_batches(reports, schema):
                    writer.write_batch(batch)

            yield write

    def write_table(self, table: pa.Table, unfinished: Path) -> None:
        with arrow().OSFile(str(unfinished), "wb") as sink, arrow().ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    with readable(path, "an Arrow"), arrow().memory_map(str(path)) as source:
        yield arrow().ipc.open_file(source)


def _pieces(path: Path, place: int, most: int) -> Iterator[tuple[pa.Array, int, int]]:
    """A column in pieces of at most so many rows, with how many batches are begun, and of how many."""
    batch, batches, start = 0, 1, 0
    while batch < batches:
        with _opened(path) as file:
            batches = file.num_record_batches
            if batch == batches:
                return
            column = file.get_batch(batch).column(place)
            piece = column.slice(start, most)
            piece.validate(full=True)  # Arrow trusts what it maps, and would follow offsets out of the file
        yield piece, batch + 1, batches
        batch, start = (batch, start + most) if start + most < len(column) else (batch + 1, 0)
