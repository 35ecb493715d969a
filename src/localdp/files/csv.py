"""CSV files: every cell is text; a report is base64 beside the fingerprint of its plan.

A CSV file does not say how many lines it has, so a file that was cut where a line ends is read as a shorter file. A
file compressed with gzip has a checksum, and is refused if it was cut.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, cast

import numpy as np

from localdp.errors import DataFileError, PlanMismatchError
from localdp.files.base import Format, Write, load_pyarrow, resolve_column, unreadable_file
from localdp.formats.batch import decode, decode_characters, encode, text_length
from localdp.formats.lines import LONGEST_LINE, whole_lines
from localdp.plan import Plan, Reports
from localdp.types import Progress, Rows

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class CsvFormat(Format):
    """Lines of cells, the first with the names of the columns; plain, or compressed with gzip."""

    typed: ClassVar[bool] = False
    zipped: bool = False

    def column(self, path: Path, name: str | None, progress: Progress | None) -> Iterator[pa.Array]:
        for table in self._tables(path, [name], progress):
            yield table.column(0).combine_chunks()

    def reports(self, path: Path, plan: Plan, progress: Progress | None) -> Iterator[Reports]:
        length = plan.mechanism.report_bytes
        for piece in self._tables(path, ["plan", "report"], progress):
            if set(piece.column("plan").unique().to_pylist()) != {plan.fingerprint}:
                raise PlanMismatchError(f"{path} holds reports made under another plan than {plan.fingerprint[:12]}...")
            rows = _rows(piece.column("report").combine_chunks(), length)
            rows.setflags(write=False)  # nobody else has them, so no copy is needed
            yield Reports(plan, rows)

    @contextmanager
    def reports_writer(self, temporary: Path, plan: Plan) -> Iterator[Write]:  # noqa: ARG002 (each report brings it)
        text = load_pyarrow().string()
        schema = load_pyarrow().schema([("plan", text), ("report", text)])
        with self._output(temporary) as stream, load_pyarrow("csv").csv.CSVWriter(stream, schema) as writer:
            yield lambda reports: writer.write_batch(_text_batch(reports, schema))

    def write_table(self, table: pa.Table, temporary: Path) -> None:
        with self._output(temporary) as stream:
            load_pyarrow("csv").csv.write_csv(table, stream)

    def _tables(self, path: Path, columns: Sequence[str | None], progress: Progress | None) -> Iterator[pa.Table]:
        """Yield these columns in pieces, all as text.

        (Arrow has a reader for streams, but it leaves a thread behind if the stream is not read to its end.)
        """
        pyarrow = load_pyarrow("csv")
        total = path.stat().st_size
        try:
            with path.open("rb") as raw:
                stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if self.zipped else raw
                header = _header(stream.readline(LONGEST_LINE), path)
                read = pyarrow.csv.ReadOptions(column_names=header)
                convert = pyarrow.csv.ConvertOptions(
                    column_types=dict.fromkeys(header, pyarrow.string()),
                    include_columns=[resolve_column(header, column, path) for column in columns],
                    strings_can_be_null=True,
                    null_values=[""],
                    quoted_strings_can_be_null=False,
                )
                parse = pyarrow.csv.ParseOptions(ignore_empty_lines=False)
                blank = b""
                for lines in whole_lines(stream):
                    # Empty lines wait for the next block: they are missing values, except at the end of the file.
                    body = (blank + lines).rstrip(b"\r\n")
                    blank = (blank + lines)[len(body) :]
                    if body:
                        block = pyarrow.BufferReader(body)
                        piece = pyarrow.csv.read_csv(
                            block, read_options=read, parse_options=parse, convert_options=convert
                        )
                        if piece.num_rows != body.count(b"\n") + 1:
                            raise DataFileError(
                                f"{path} has a value with a line break in it, which cannot be read in pieces"
                            )
                        yield piece
                        blank = blank.partition(b"\n")[2]
                    if progress is not None:
                        progress(raw.tell(), total)
        except (pyarrow.ArrowException, csv.Error, gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError) as error:
            raise unreadable_file(path, "a CSV", error) from None

    @contextmanager
    def _output(self, temporary: Path) -> Iterator[Any]:
        with temporary.open("wb") as raw:
            if self.zipped:
                with load_pyarrow().CompressedOutputStream(raw, "gzip") as stream:
                    yield stream
            else:
                yield raw


def _header(line: bytes, path: Path) -> list[str]:
    """The names of the columns."""
    names = next(csv.reader([line.decode("utf-8-sig").strip("\r\n")]), [])
    if not any(names):
        raise DataFileError(f"{path} is empty: a CSV file begins with the names of its columns")
    if len(set(names)) != len(names):
        raise DataFileError(f"{path} has two columns of the same name")
    return names


def _text_batch(reports: Reports, schema: pa.Schema) -> pa.RecordBatch:
    """Reports as a record batch of text: for each the fingerprint of its plan, and base64."""
    pyarrow, count = load_pyarrow(), len(reports)
    characters = encode(reports.rows)
    offsets = characters.shape[1] * np.arange(count + 1, dtype=np.int32)
    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(characters)]
    column = pyarrow.Array.from_buffers(pyarrow.string(), count, buffers)
    return pyarrow.RecordBatch.from_arrays([pyarrow.repeat(reports.plan.fingerprint, count), column], schema=schema)


def _rows(cells: pa.Array, length: int) -> Rows:
    """The rows behind cells of base64: decoded all at once if every cell has the right length, else one by one."""
    _, offsets, characters = cells.buffers()
    starts = np.frombuffer(offsets, np.int32)[cells.offset : cells.offset + len(cells) + 1]
    if not cells.null_count and (np.diff(starts) == text_length(length)).all():
        text = np.frombuffer(characters, np.uint8)[starts[0] : starts[-1]]
        rows = decode_characters(text.reshape(len(cells), -1), length)
        if rows is not None:
            return rows
    return decode([cell or "" for cell in cells.to_pylist()], length)
