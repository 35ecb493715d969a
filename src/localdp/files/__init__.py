"""Values, reports and results in CSV, Parquet and Arrow files, read and written in pieces; pyarrow does the work.

Files are told by their names: `.csv`, `.csv.gz`, `.parquet` (or `.pq`), `.arrow` (or `.feather`). A cell of a CSV file
is text, and matches the item that is written like it; elsewhere a column has a type, which must be that of the items.

Reports are one row each. In Parquet and Arrow they are a column `report` of bytes, and the file's metadata
`localdp-plan` holds the fingerprint of their plan; in CSV they are base64 in a column `report`, with the fingerprint in
a column `plan`, so that files can be concatenated.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from localdp.domain import Domain, Item
from localdp.errors import DataFileError
from localdp.files.arrow import Ipc
from localdp.files.base import Format, Write, arrow, first_line
from localdp.files.columns import piece_rows as piece_rows
from localdp.files.csv import Csv
from localdp.files.parquet import Parquet
from localdp.formats.atomic_write import draft
from localdp.plan import Plan, Reports
from localdp.table import Table
from localdp.types import Progress

if TYPE_CHECKING:
    import pyarrow as pa

UNKNOWN = -1
"""The index of a value that is not an item."""

FORMATS: dict[str, Format] = {
    ".csv": Csv(),
    ".csv.gz": Csv(zipped=True),
    ".parquet": Parquet(),
    ".pq": Parquet(),
    ".arrow": Ipc(),
    ".feather": Ipc(),
}
"""The kinds of files, by how their names end."""


def format_of(path: str | os.PathLike[str]) -> Format:
    """The kind of a file, by its name."""
    name = Path(path).name.lower()
    for ending, kind in FORMATS.items():
        if name.endswith(ending):
            return kind
    raise DataFileError(f"{path} is neither a .csv, .parquet nor .arrow file")


def indices(
    path: str | os.PathLike[str], column: str | None, domain: Domain, progress: Progress | None = None
) -> Iterator[NDArray[np.int64]]:
    """The index of every value in a column (the only one, if none is named), in pieces; `UNKNOWN` for no item."""
    package = arrow("compute")
    kind, items = format_of(path), None
    for piece in kind.column(Path(path), column, progress):
        if items is None:
            items = _item_array(domain, piece.type, path) if kind.typed else _written_items(domain)
        try:
            found = package.compute.index_in(piece.cast(items.type), items)
        except package.ArrowException as error:
            raise DataFileError(f"{path} has values that cannot be items: {first_line(error)}") from None
        yield package.compute.fill_null(found, UNKNOWN).to_numpy(zero_copy_only=False).astype(np.int64)


def distinct(path: str | os.PathLike[str], column: str | None) -> list[Item]:
    """The different values of a column, in the order they first appear."""
    package = arrow("compute")
    seen: dict[Item, None] = {}
    for piece in format_of(path).column(Path(path), column, None):
        if piece.null_count:
            raise DataFileError(f"{path} has an empty cell in that column, which cannot be an item")
        try:
            seen.update(dict.fromkeys(piece.unique().to_pylist()))
        except (package.ArrowException, TypeError, UnicodeDecodeError):
            raise DataFileError(f"the column of {path} holds {piece.type} that cannot be items") from None
    return list(seen)


@contextmanager
def reports_writer(path: str | os.PathLike[str], plan: Plan, replace: bool = False) -> Iterator[Write]:
    """A function that appends reports to a new file, which appears when all are written."""
    kind = format_of(path)
    with draft(path, replace) as unfinished, kind.reports_writer(unfinished, plan) as write:
        yield write


def read_reports(path: str | os.PathLike[str], plan: Plan, progress: Progress | None = None) -> Iterator[Reports]:
    """The reports in a file, in pieces; a `WireError` or `PlanMismatchError` for what is not such under this plan."""
    yield from format_of(path).reports(Path(path), plan, progress)


def write_table(table: Table, path: str | os.PathLike[str], replace: bool = False) -> None:
    """A table as the file its name says."""
    kind = format_of(path)
    with draft(path, replace) as unfinished:
        kind.write_table(table.to_arrow(), unfinished)


def _written_items(domain: Domain) -> pa.Array:
    """The items as they are written in a file of text."""
    written = [_written(item) for item in domain.items]
    if len(set(written)) < len(written):
        raise DataFileError("two items of the plan are written alike, so a CSV file cannot tell them apart")
    return arrow().array(written, arrow().string())


def _item_array(domain: Domain, given: pa.DataType, path: str | os.PathLike[str]) -> pa.Array:
    """The items as an Arrow array whose type a column of the given type can be compared in."""
    package = arrow()
    types = package.types
    kinds = {type(item) for item in domain.items} if not isinstance(domain.items, range) else {int}
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
    plain = {str: package.string(), int: package.int64(), float: package.float64(), bool: package.bool_()}
    return package.array(list(domain.items), plain[next(iter(kinds))])


def _written(item: Item) -> str:
    return str(item).lower() if isinstance(item, bool) else str(item)
