"""Values, reports and tables in CSV, Parquet and Arrow files, read and written in pieces.

The extension decides the format: `.csv`, `.csv.gz`, `.tsv`, `.parquet` (or `.pq`), `.arrow` (or `.feather`). The path
`-` is standard input or standard output, in CSV. A cell of a CSV file is text, and stands for the item with the same
text. A column of the other formats has a type, which must be the type of the items; they need the package pyarrow.

Each report is a row. In Parquet and Arrow the column `report` holds bytes, and `localdp-plan` in the file's metadata is
the fingerprint of the plan. In CSV the column `report` holds base64 and the column `plan` holds the fingerprint, so
that files can be concatenated.

Damage to a Parquet or Arrow file does not change the number of reports or values that are read from it: both formats
state it more than once, and a file that contradicts itself is refused. A plain CSV file states no number. If it was cut
where a line ends, or lost lines, nobody can tell; where that matters use another format, or `.csv.gz`, which has a
checksum. What is not a regular file is refused.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.domain import Domain
from localdp.errors import DataFileError, InvalidInputError, UnknownItemError
from localdp.files.arrow import ArrowFormat
from localdp.files.base import UNKNOWN as UNKNOWN
from localdp.files.base import Format, Write
from localdp.files.baskets import TRANSACTIONS as TRANSACTIONS
from localdp.files.baskets import sets as sets
from localdp.files.columns import piece_rows as piece_rows
from localdp.files.csv import STANDARD, CsvFormat
from localdp.files.parquet import ParquetFormat
from localdp.formats.atomic_write import atomic_write
from localdp.held import Held, OneEach
from localdp.items import Item
from localdp.plan import Plan, Reports
from localdp.questions import Question
from localdp.table import Table
from localdp.types import Progress
from localdp.validation import checked_regular_file, shown

FORMATS: dict[str, Format] = {
    ".csv": CsvFormat(),
    ".csv.gz": CsvFormat(zipped=True),
    ".tsv": CsvFormat(separator="\t"),
    ".parquet": ParquetFormat(),
    ".pq": ParquetFormat(),
    ".arrow": ArrowFormat(),
    ".feather": ArrowFormat(),
}
"""The format of a file, by its extension."""


def format_of(path: str | os.PathLike[str]) -> Format:
    """The format of a file, by its extension; `DataFileError` for any other extension."""
    name = Path(path).name.lower()
    if name == STANDARD:
        return CsvFormat()
    for extension, file_format in FORMATS.items():
        if name.endswith(extension):
            return file_format
    raise DataFileError(f"{path} is neither a .csv, .parquet nor .arrow file")


def indices(
    path: str | os.PathLike[str],
    column: str | None,
    domain: Domain,
    *,
    header: bool | None = None,
    known_only: bool = False,
    progress: Progress | None = None,
) -> Iterator[NDArray[np.int64]]:
    """Yield the index of every value in a column, in pieces.

    A value that is not an item gets the index of the catch-all. If the domain has none, the index is `UNKNOWN`, or with
    `known_only` an `UnknownItemError` gives the number of the row. `column` may be None if the file has only one.
    `header` says whether a CSV file begins with the names of its columns. If it is None it does, and it is an error if
    these look like values.
    """
    file_format = format_of(path).with_header(header)
    rest = UNKNOWN if domain.other is None else domain.other_index
    row = 1
    for places, value_at in file_format.indices(checked_regular_file(path, DataFileError), column, domain, progress):
        unknown = places == UNKNOWN
        if unknown.any():
            if known_only and rest == UNKNOWN:
                first = int(unknown.argmax())
                why = _why_unknown(value_at(first), domain)
                raise UnknownItemError(f"row {row + first} {file_format.below}of {path} {why}")
            places[unknown] = rest
        row += places.size
        yield places


@dataclass(frozen=True)
class Answers:
    """What people answered in some rows of a file, and what was left out of it: people, and items of their sets."""

    held: Held
    people_left_out: int = 0
    items_left_out: int = 0


def answers(
    path: str | os.PathLike[str],
    column: str | None,
    question: Question,
    *,
    header: bool | None = None,
    separator: str = ";",
    known_only: bool = True,
    progress: Progress | None = None,
) -> Iterator[Answers]:
    """Yield the answers to a question in a column, in pieces; those to `Choices` also from a file of transactions.

    Values that the question does not list are left out, or with `known_only` an `UnknownItemError` gives the row.
    """
    transactions = Path(path).suffix.lower() == TRANSACTIONS
    if transactions and question.layout != "sets":
        raise InvalidInputError(f"{path} holds sets of items, and in this plan every user holds one item")
    if question.layout == "sets":
        listed = None if transactions else format_of(path).with_header(header)
        options: dict[str, Any] = {"separator": separator, "known_only": known_only, "progress": progress}
        for held, left_out in sets(path, column, question.cells, listed, **options):
            yield Answers(held, items_left_out=left_out)
    elif question.layout == "items":
        for found in indices(path, column, question.cells, header=header, known_only=known_only, progress=progress):
            known = found[found != UNKNOWN]
            yield Answers(OneEach(known), people_left_out=found.size - known.size)
    else:
        file_format = format_of(path).with_header(header)
        for values, _ in file_format.values(checked_regular_file(path, DataFileError), column, progress):
            yield Answers(question.read(values))


def items(path: str | os.PathLike[str], column: str | None, *, header: bool | None = None) -> tuple[list[Item], str]:
    """The values of a column that lists items, each of them once, and the name of the column if it is known.

    Empty cells and repeated values are errors.
    """
    rows: dict[Item, int] = {}
    file_format, heading = format_of(path).with_header(header), ""
    for piece, name in file_format.values(checked_regular_file(path, DataFileError), column, None):
        heading = name
        for row, value in enumerate(piece, len(rows) + 1):
            if value is None or value == "":
                raise DataFileError(
                    f"row {row} {file_format.below}of {path} is empty in that column: every row must be an item"
                )
            try:
                first = rows.setdefault(value, row)
            except TypeError:
                raise DataFileError(f"row {row} of {path} holds a list or a record, which cannot be an item") from None
            if first != row:
                raise DataFileError(
                    f"rows {first} and {row} {file_format.below}of {path} are the same item, {shown(value)}, and every "
                    "item must be there once. If these are people's answers: a plan is public, so write the possible "
                    "answers, one a line, into items.txt without looking at people's, and make the plan from that file"
                )
    return list(rows), heading


def column_values(
    path: str | os.PathLike[str], column: str | None, *, header: bool | None = None, progress: Progress | None = None
) -> list[Any]:
    """Every value of a column, in the order of the rows; an empty cell of a CSV file is the empty text."""
    found: list[Any] = []
    file_format = format_of(path).with_header(header)
    for piece, _ in file_format.values(checked_regular_file(path, DataFileError), column, progress):
        found.extend(piece)
    return found


def tally(path: str | os.PathLike[str], column: str | None, *, header: bool | None = None) -> Counter[Any]:
    """How often each value of a column occurs; empty cells are left out."""
    found: Counter[Any] = Counter()
    file_format = format_of(path).with_header(header)
    for piece, _ in file_format.values(checked_regular_file(path, DataFileError), column, None):
        try:
            found.update(piece)
        except TypeError:
            raise DataFileError(f"the column of {path} holds lists or records, which cannot be items") from None
    del found[None], found[""]
    return found


@contextmanager
def reports_writer(path: str | os.PathLike[str], plan: Plan, replace: bool = False) -> Iterator[Write]:
    """Give the block a function that appends reports to a new file; the file appears when the block ends."""
    file_format = format_of(path)
    file_format.check_installed()
    with _new_file(path, replace) as temporary, file_format.reports_writer(temporary, plan) as write:
        yield write


def read_reports(path: str | os.PathLike[str], plan: Plan, *, progress: Progress | None = None) -> Iterator[Reports]:
    """Yield the reports in a file, in pieces.

    Reports of another plan are a `PlanMismatchError`, rows that are not reports of this plan a `WireError`.
    """
    yield from format_of(path).reports(checked_regular_file(path, DataFileError), plan, progress)


def write_table(table: Table, path: str | os.PathLike[str], replace: bool = False) -> None:
    """Write a table in the format that the extension says."""
    file_format = format_of(path)
    file_format.check_installed()
    with _new_file(path, replace) as temporary:
        file_format.write_table(table, temporary)


def table_bytes(table: Table, extension: str) -> bytes:
    """A table as the content of a file with this extension, such as ".csv".

    >>> table_bytes(Table({"item": ["tea"], "frequency": np.array([3.0])}), ".csv")
    b'"item","frequency"\\n"tea",3.0\\n'
    """
    return format_of(f"table{extension}").table_bytes(table)


@contextmanager
def _new_file(path: str | os.PathLike[str], replace: bool) -> Iterator[Path]:
    """The place to write to: a temporary file that is renamed at the end, or standard output as it is."""
    if os.fspath(path) == STANDARD:
        yield Path(STANDARD)
    else:
        with atomic_write(path, replace) as temporary:
            yield temporary


def _why_unknown(value: Any, domain: Domain) -> str:
    """What is wrong with a value that is not an item. The value is not shown: it is somebody's answer."""
    if value is None or value == "":
        return "is empty in that column"
    hint = domain.near_miss(value)
    return "is not an item of the plan" + (f" ({hint})" if hint else "")
