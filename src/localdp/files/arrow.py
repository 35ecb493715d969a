"""Arrow files (Arrow IPC, also called Feather version 2): record batches laid out in the file as in memory.

So a file is read by mapping it into memory. Pages that were read count as memory until the map is closed, so every
piece has its own map.

    "ARROW1", zeros | messages: the schema, then dictionaries and record batches | end mark | footer | int32 | "ARROW1"

The footer lists where the dictionaries and the batches begin, and the int32 is its length. Arrow finds the batches by
the footer alone, so a damaged footer could hide some of them. Here the messages are walked as well (their headers, not
their contents), and a file is refused if the footer says anything else.
https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localdp.errors import DataFileError
from localdp.files import columns
from localdp.files.base import data_file_errors, load_pyarrow, resolve_column, unreadable_file
from localdp.files.columns import (
    check_plan,
    check_schema,
    decode_dictionary,
    read_ahead,
    reports_in_column,
)
from localdp.files.typed import TypedFormat
from localdp.plan import Plan, Reports
from localdp.types import Progress

if TYPE_CHECKING:
    import pyarrow as pa

_MAGIC = b"ARROW1"
_LONGEST_HEAD = 64  # bytes: writers fill the space after the magic up to a multiple of 8, and some of 64
_FOOTER_DICTIONARIES, _FOOTER_BATCHES = 2, 3  # the fields of a footer, by their number in Arrow's File.fbs
_BLOCK_BYTES = 24  # a footer's note of a message: int64 offset, int32 length of its header, int64 length of its body


@dataclass(frozen=True)
class ArrowFormat(TypedFormat):
    """Record batches one after the other, then a list of where each begins."""

    def column(self, path: Path, name: str | None, progress: Progress | None) -> Iterator[pa.Array]:
        names = _checked_schema(path).names
        for piece, done, total in _column_pieces(
            path, names.index(resolve_column(names, name, path)), columns.PIECE_ROWS
        ):
            if progress is not None:
                progress(done, total)
            yield decode_dictionary(piece)

    def reports(self, path: Path, plan: Plan, progress: Progress | None) -> Iterator[Reports]:
        schema = _checked_schema(path)
        check_schema(schema, plan, path)
        place = schema.names.index("report")

        def read(part: tuple[pa.Array, int, int]) -> tuple[Reports, int, int]:
            piece, done, total = part
            return reports_in_column(piece, plan, path), done, total

        for reports, done, total in read_ahead(read, _column_pieces(path, place, columns.piece_rows(plan))):
            yield reports
            if progress is not None:
                progress(done, total)

    def report_column(self, path: Path, plan: Plan) -> Iterator[pa.Array]:
        schema = _checked_schema(path)
        check_plan(schema, plan, path)
        for piece, _done, _total in _column_pieces(path, schema.names.index("report"), columns.piece_rows(plan)):
            yield decode_dictionary(piece)

    @contextmanager
    def batch_writer(self, temporary: Path, schema: pa.Schema) -> Iterator[Any]:
        with load_pyarrow().OSFile(str(temporary), "wb") as sink, load_pyarrow().ipc.new_file(sink, schema) as writer:
            yield writer

    def write_arrow(self, table: pa.Table, target: Path) -> None:
        with load_pyarrow().ipc.new_file(target, table.schema) as writer:
            writer.write_table(table)


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    try:
        with data_file_errors(path, "an Arrow"), load_pyarrow().memory_map(str(path)) as source:
            yield load_pyarrow().ipc.open_file(source)
    except struct.error as error:
        raise unreadable_file(path, "an Arrow", error) from None


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


def _checked_schema(path: Path) -> pa.Schema:
    """The schema of a file; `DataFileError` if its footer and its messages disagree about what the file holds."""
    with _open(path) as file, load_pyarrow().memory_map(str(path)) as source:
        footer = _footer(source)
        listed = sorted(_listed(footer, _FOOTER_DICTIONARIES)), sorted(_listed(footer, _FOOTER_BATCHES))
        schema, dictionaries, batches = _walk(source, len(footer))
        # Names are compared here because names that are not UTF-8 must raise their error inside `_open`.
        if schema is None or file.schema.names != schema.names or not file.schema.equals(schema):
            raise _disagreement(path, "the columns")
        if listed != (dictionaries, batches) or file.num_record_batches != len(batches):
            raise _disagreement(path, "where the batches of rows are")
        return file.schema


def _footer(source: Any) -> bytes:
    """The footer of a file that Arrow has opened, so that its length is right."""
    source.seek(source.size() - len(_MAGIC) - 4)
    (length,) = struct.unpack("<i", source.read(4))
    source.seek(source.size() - len(_MAGIC) - 4 - length)
    footer: bytes = source.read(length)
    return footer


def _walk(source: Any, footer_bytes: int) -> tuple[pa.Schema | None, list[int], list[int]]:
    """The schema in the first message, and the offsets of the dictionaries and of the record batches.

    The schema is None if the first message holds none.
    """
    ipc, end = load_pyarrow().ipc, source.size() - len(_MAGIC) - 4 - footer_bytes
    source.seek(0)
    head = source.read(_LONGEST_HEAD)
    filled = len(head[len(_MAGIC) :]) - len(head[len(_MAGIC) :].lstrip(b"\0"))
    source.seek((len(_MAGIC) + filled) // 8 * 8)
    reader = ipc.MessageReader.open_stream(source)
    schema, offsets = None, {"dictionary": list[int](), "record batch": list[int]()}
    try:
        while (start := source.tell()) < end:
            message = reader.read_next_message()
            if schema is None and message.type != "schema":
                break  # Arrow crashes if it is asked to read a schema from a message of an unknown kind
            if schema is None:
                schema = ipc.read_schema(message)
            else:
                offsets.setdefault(message.type, []).append(start)
    except StopIteration:  # the end mark
        pass
    return schema, offsets["dictionary"], offsets["record batch"]


def _listed(footer: bytes, field: int) -> list[int]:
    """The offsets in one of a footer's two lists.

    A footer is a FlatBuffers table: it begins with the distance back to the list of its fields' distances, where 0
    stands for a field that is not there. A field that is a list holds the distance to its length and its elements.
    """
    (table,) = struct.unpack_from("<I", footer)
    fields = table - struct.unpack_from("<i", footer, table)[0]
    (fields_bytes,) = struct.unpack_from("<H", footer, fields)
    if 4 + 2 * field >= fields_bytes:
        return []
    (distance,) = struct.unpack_from("<H", footer, fields + 4 + 2 * field)
    if not distance:
        return []
    start = table + distance + struct.unpack_from("<I", footer, table + distance)[0]
    (count,) = struct.unpack_from("<I", footer, start)
    return [struct.unpack_from("<q", footer, start + 4 + _BLOCK_BYTES * place)[0] for place in range(count)]


def _disagreement(path: Path, what: str) -> DataFileError:
    return DataFileError(
        f"{path} is not an Arrow file that can be read: its footer and its messages disagree about {what}"
    )
