"""CSV files: every cell is text; a report is base64 beside the fingerprint of its plan.

They are read with the standard library alone: text in UTF-8, with or without a byte order mark, with cells separated by
commas, semicolons, tabs or bars (`localdp.files.csv_dialect` finds out which). Line breaks inside quotation marks
belong to the cell.

A CSV file does not say how many lines it has, so a file that was cut where a line ends is read as a shorter file. A
file compressed with gzip has a checksum, and is refused if it was cut.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from localdp.domain import Domain
from localdp.errors import DataFileError, PlanMismatchError
from localdp.files import columns
from localdp.files.base import UNKNOWN, Format, Write, resolve_column, unreadable_file
from localdp.files.csv_dialect import find_separator, text_lines
from localdp.formats.batch import decode, decode_characters, encode, text_length
from localdp.formats.lines import LONGEST_LINE, whole_lines
from localdp.items import Item
from localdp.plan import Plan, Reports
from localdp.table import Table
from localdp.types import Progress, Rows

STANDARD = "-"
"""The path that stands for standard input and standard output."""

_NO_REPORTS = "; it does not hold reports, which `localdp privatize` makes"
_REPORTS_HEADER = b'"plan","report"\n'
_SAMPLE = 50  # lines in which the separator is looked for
_ROWS_WRITTEN = 1 << 16  # reports written at once: their text is much longer than they are
_REMEMBERED = 1 << 20  # numbers whose text is remembered, so that each is read once


@dataclass(frozen=True)
class CsvFormat(Format):
    """Lines of cells, the first with the names of the columns; plain, or compressed with gzip."""

    zipped: bool = False
    separator: str | None = None
    header: bool | None = None

    def check_installed(self) -> None:
        pass

    def with_header(self, header: bool | None) -> CsvFormat:
        return replace(self, header=header)

    @property
    def below(self) -> str:
        return "" if self.header is False else "below the header "

    def values(self, path: Path, name: str | None, progress: Progress | None) -> Iterator[tuple[list[Any], str]]:
        for cells, heading in self._column(path, name, progress):
            if self.header is None and (heading in cells or (_is_number(heading) and all(map(_is_number, cells)))):
                raise _no_header(path)
            yield cells, heading if self.header is not False else ""

    def indices(
        self, path: Path, name: str | None, domain: Domain, progress: Progress | None
    ) -> Iterator[tuple[NDArray[np.int64], Callable[[int], Any]]]:
        find = item_finder(domain)
        for cells, heading in self._column(path, name, progress):
            if self.header is None and find(heading) != UNKNOWN:
                raise _no_header(path)
            yield np.fromiter(map(find, cells), np.int64, len(cells)), cells.__getitem__

    def reports(self, path: Path, plan: Plan, progress: Progress | None) -> Iterator[Reports]:
        with _input(path, self.zipped) as (stream, done, total):
            first, blocks = stream.readline(LONGEST_LINE), whole_lines(stream)
            if first == _REPORTS_HEADER:  # most likely all lines are as this software writes them, and quickly read
                for block in blocks:
                    rows = _rows_in_lines(block, plan)
                    if rows is None:
                        first += block
                        break
                    yield Reports(plan, rows)
                    if progress is not None and total:
                        progress(done(), total)
                else:
                    return
            rest = chain([first], blocks)
            for (plans, cells), _ in replace(self, header=True)._parse(rest, path, ["plan", "report"], _NO_REPORTS):
                if set(plans) != {plan.fingerprint}:
                    raise PlanMismatchError(
                        f"{path} holds reports made under another plan than {plan.fingerprint[:12]}...: give theirs"
                    )
                rows = decode(cells, plan.mechanism.report_bytes)
                rows.setflags(write=False)  # nobody else has them, so no copy is needed
                yield Reports(plan, rows)
                if progress is not None and total:
                    progress(done(), total)

    @contextmanager
    def reports_writer(self, temporary: Path, plan: Plan) -> Iterator[Write]:
        with self._output(temporary) as stream:
            stream.write(_REPORTS_HEADER)
            yield lambda reports: _write_reports(reports, plan.fingerprint, stream)

    def write_table(self, table: Table, temporary: Path) -> None:
        with self._output(temporary) as stream:
            self._write_rows(table, stream)

    def table_bytes(self, table: Table) -> bytes:
        """The content of a file with this table.

        >>> CsvFormat().table_bytes(Table({"item": ["tea"], "frequency": np.array([3.0])}))
        b'"item","frequency"\\n"tea",3.0\\n'
        """
        stream = io.BytesIO()
        self._write_rows(table, stream)
        return stream.getvalue()

    def _write_rows(self, table: Table, stream: BinaryIO) -> None:
        text = io.TextIOWrapper(stream, "utf-8", newline="", write_through=True)
        writer = csv.writer(text, delimiter=self.separator or ",", quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows(map(_row_as_text, table))
        text.detach()

    def _column(self, path: Path, name: str | None, progress: Progress | None) -> Iterator[tuple[list[str], str]]:
        """Yield the cells of a column in pieces, each with the name of the column."""
        with _input(path, self.zipped) as (stream, done, total):
            for (cells,), (heading,) in self._parse(whole_lines(stream), path, [name]):
                yield cells, heading
                if progress is not None and total:
                    progress(done(), total)

    def _parse(
        self, blocks: Iterable[bytes], path: Path, names: Sequence[str | None], hint: str = ""
    ) -> Iterator[tuple[list[list[str]], list[str]]]:
        """Yield the cells of these columns in pieces, each with the names of the columns."""
        lines = text_lines(blocks, path)
        first = list(islice(lines, _SAMPLE))
        separator = self.separator or find_separator(first, names[0])
        reader = csv.reader(chain(first, lines), delimiter=separator, strict=True)
        try:
            rows, heading = _after_header(reader, self.header, path)
            chosen = [resolve_column(heading, name, path, hint) for name in names]
            take = [itemgetter(heading.index(name)) for name in chosen]
            read = 0
            for piece in _pieces(rows, len(heading)):
                self._check_widths(piece, len(heading), read, path)
                read += len(piece)
                yield [list(map(cell, piece)) for cell in take], chosen
        except csv.Error:
            raise DataFileError(
                f"line {reader.line_num} of {path} is not CSV: a quotation mark is not closed, or stands inside a cell "
                "without being doubled"
            ) from None

    def _check_widths(self, piece: list[list[str]], width: int, before: int, path: Path) -> None:
        """Raise an error if a row has more or fewer cells than there are columns. `before` rows came before."""
        if set(map(len, piece)) == {width}:
            return
        row = next(place for place, cells in enumerate(piece) if len(cells) != width)
        found = f"{len(piece[row])} cell{'' if len(piece[row]) == 1 else 's'}"
        raise DataFileError(
            f"row {before + row + 1} {self.below}of {path} has {found}, and its first line has {width}; a value with a "
            "separator in it needs quotation marks around it"
        )

    @contextmanager
    def _output(self, temporary: Path) -> Iterator[Any]:
        if str(temporary) == STANDARD:
            sys.stdout.flush()
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
            return
        with temporary.open("wb") as raw:
            if self.zipped:
                with gzip.GzipFile("", "wb", 6, raw, mtime=0) as stream:
                    yield stream
            else:
                yield raw


@contextmanager
def _input(path: Path, zipped: bool) -> Iterator[tuple[BinaryIO, Callable[[], int], int]]:
    """A stream of the file's content, a function that says how far it was read, and the size of the file.

    Standard input has no size. It may be compressed with gzip.
    """
    try:
        if str(path) == STANDARD:
            raw = cast(io.BufferedReader, sys.stdin.buffer)
            start = raw.peek(6)[:6]
            if start.startswith((b"PAR1", b"ARROW1")):
                raise DataFileError(
                    "standard input is read as CSV, and this is a Parquet or an Arrow file: name a file"
                )
            zipped = start.startswith(b"\x1f\x8b")
            yield (cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if zipped else raw), lambda: 0, 0
        else:
            with path.open("rb") as file:
                stream = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if zipped else file
                yield stream, file.tell, path.stat().st_size
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise unreadable_file(path, "a CSV", error) from None


def _after_header(
    reader: Iterator[list[str]], header: bool | None, path: Path
) -> tuple[Iterator[list[str]], list[str]]:
    """The rows below the names of the columns, and these names: 1, 2 and so on if the file has none."""
    names = next(reader, [])
    if not any(names):
        shown = "standard input" if str(path) == "-" else path
        raise DataFileError(f"{shown} is empty: a CSV file begins with the names of its columns")
    if header is False:
        return chain([names], reader), [str(place) for place in range(1, len(names) + 1)]
    if len(set(names)) != len(names):
        raise DataFileError(f"{path} has two columns of the same name")
    return reader, names


def _pieces(rows: Iterator[list[str]], width: int) -> Iterator[list[list[str]]]:
    """Yield the rows in pieces. An empty line is a row of empty cells, except at the end of the file."""
    empty, waiting = [""] * width, 0
    while piece := list(islice(rows, columns.PIECE_ROWS)):
        if [] in piece:
            filled = len(piece)
            while filled and not piece[filled - 1]:
                filled -= 1
            ending = len(piece) - filled
            piece = [row or empty for row in piece[:filled]]
        else:
            ending = 0
        if piece:
            yield [empty] * waiting + piece
            waiting = 0
        waiting += ending


def _no_header(path: Path) -> DataFileError:
    return DataFileError(
        f"the first line of {path} looks like a value and not like the name of a column: if the file has no names of "
        "columns, say --no-header (the columns are then 1, 2 and so on); if it has, say --header"
    )


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def item_finder(domain: Domain) -> Callable[[str], int]:
    """A function from the text of a cell to the index of the item that is written so, or to `UNKNOWN`."""
    if isinstance(domain.items, range):
        return _Numbers(domain.size).__getitem__
    index = {item_as_text(item): place for place, item in enumerate(domain.items)}
    if len(index) < domain.size:
        raise DataFileError("two items of the plan are written alike, so a CSV file cannot tell them apart")
    return lambda cell: index.get(cell, UNKNOWN)


class _Numbers(dict[str, int]):
    """The number that a text stands for, if it is below `size`; `UNKNOWN` for any other text.

    Only the plain way of writing a number is that number: not 07, +7 or 7.0.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    def __missing__(self, text: str) -> int:
        plain = text.isascii() and text.isdigit() and len(text) <= 10 and (text == "0" or text[0] != "0")
        number = int(text) if plain and int(text) < self._size else UNKNOWN
        if len(self) < _REMEMBERED:
            self[text] = number
        return number


def _write_reports(reports: Reports, fingerprint: str, stream: BinaryIO) -> None:
    """Write reports as lines, each with the fingerprint of the plan and base64."""
    for first in range(0, len(reports), _ROWS_WRITTEN):
        characters = encode(reports.rows[first : first + _ROWS_WRITTEN])
        start, end = (np.broadcast_to(side, (len(characters), side.size)) for side in _around_a_report(fingerprint))
        stream.write(np.hstack([start, characters, end]).tobytes())


def _rows_in_lines(block: bytes, plan: Plan) -> Rows | None:
    """The reports in a block of lines, if all are exactly as `_write_reports` writes them; None otherwise."""
    start, end = _around_a_report(plan.fingerprint)
    length = start.size + text_length(plan.mechanism.report_bytes) + end.size
    if len(block) % length:
        return None
    lines = np.frombuffer(block, np.uint8).reshape(-1, length)
    if (lines[:, : start.size] != start).any() or (lines[:, -end.size :] != end).any():
        return None
    rows = decode_characters(np.ascontiguousarray(lines[:, start.size : -end.size]), plan.mechanism.report_bytes)
    if rows is not None:
        rows.setflags(write=False)  # nobody else has them, so no copy is needed
    return rows


def _around_a_report(fingerprint: str) -> tuple[Rows, Rows]:
    """What stands before and after a report in its line."""
    return np.frombuffer(f'"{fingerprint}","'.encode(), np.uint8), np.frombuffer(b'"\n', np.uint8)


def _row_as_text(row: tuple[Any, ...]) -> list[Any]:
    return [item_as_text(cell) if isinstance(cell, bool) else cell for cell in row]


def item_as_text(item: Item) -> str:
    """The item as it is written in a CSV file."""
    return str(item).lower() if isinstance(item, bool) else str(item)
