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
from pathlib import Path
from typing import Any

from localdp.errors import DataFileError
from localdp.files.answers import Answers as Answers
from localdp.files.answers import answers as answers
from localdp.files.answers import indices as indices
from localdp.files.base import UNKNOWN as UNKNOWN
from localdp.files.base import Write
from localdp.files.baskets import TRANSACTIONS as TRANSACTIONS
from localdp.files.baskets import sets as sets
from localdp.files.by_name import FORMATS as FORMATS
from localdp.files.by_name import format_of as format_of
from localdp.files.columns import piece_rows as piece_rows
from localdp.files.csv import STANDARD
from localdp.formats.atomic_write import atomic_write
from localdp.items import Item
from localdp.plan import Plan, Reports
from localdp.table import Table
from localdp.types import Progress
from localdp.validation import checked_regular_file, shown


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


@contextmanager
def _new_file(path: str | os.PathLike[str], replace: bool) -> Iterator[Path]:
    """The place to write to: a temporary file that is renamed at the end, or standard output as it is."""
    if os.fspath(path) == STANDARD:
        yield Path(STANDARD)
    else:
        with atomic_write(path, replace) as temporary:
            yield temporary
