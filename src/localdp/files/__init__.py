"""Values, reports and tables in CSV, Parquet and Arrow files, read and written in pieces with the package pyarrow.

The extension decides the format: `.csv`, `.csv.gz`, `.parquet` (or `.pq`), `.arrow` (or `.feather`). A cell of a CSV
file is text, and stands for the item with the same text. A column of the other formats has a type, which must be the
type of the items.

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from localdp.domain import Domain, Item
from localdp.errors import DataFileError
from localdp.files.arrow import ArrowFormat
from localdp.files.base import Format, Write, first_line, load_pyarrow
from localdp.files.columns import piece_rows as piece_rows
from localdp.files.csv import CsvFormat
from localdp.files.parquet import ParquetFormat
from localdp.formats.atomic_write import atomic_write
from localdp.plan import Plan, Reports
from localdp.table import Table
from localdp.types import Progress
from localdp.validation import checked_regular_file

if TYPE_CHECKING:
    import pyarrow as pa

UNKNOWN = -1
"""Stands for the index of a value that is not an item."""

FORMATS: dict[str, Format] = {
    ".csv": CsvFormat(),
    ".csv.gz": CsvFormat(zipped=True),
    ".parquet": ParquetFormat(),
    ".pq": ParquetFormat(),
    ".arrow": ArrowFormat(),
    ".feather": ArrowFormat(),
}
"""The format of a file, by its extension."""


def format_of(path: str | os.PathLike[str]) -> Format:
    """The format of a file, by its extension; `DataFileError` for any other extension."""
    name = Path(path).name.lower()
    for extension, file_format in FORMATS.items():
        if name.endswith(extension):
            return file_format
    raise DataFileError(f"{path} is neither a .csv, .parquet nor .arrow file")


def indices(
    path: str | os.PathLike[str], column: str | None, domain: Domain, *, progress: Progress | None = None
) -> Iterator[NDArray[np.int64]]:
    """Yield the index of every value in a column, in pieces.

    A value that is not an item gets the index of the catch-all, or `UNKNOWN` if the domain has none. `column` may be
    None if the file has only one.
    """
    pyarrow = load_pyarrow("compute")
    file_format, find = format_of(path), None
    rest = UNKNOWN if domain.other is None else domain.other_index
    for piece in file_format.column(checked_regular_file(path, DataFileError), column, progress):
        if find is None:
            find = _finder(domain, piece.type, path, typed=file_format.typed)
        try:
            found = find(piece)
        except pyarrow.ArrowException as error:
            raise DataFileError(f"{path} has values that cannot be items: {first_line(error)}") from None
        yield pyarrow.compute.fill_null(found, rest).to_numpy(zero_copy_only=False).astype(np.int64)


def _finder(
    domain: Domain, given: pa.DataType, path: str | os.PathLike[str], *, typed: bool
) -> Callable[..., pa.Array]:
    """A function from values to the indices of items, with nulls for values that are not items."""
    compute = load_pyarrow("compute").compute
    if isinstance(domain.items, range):
        if typed:
            _check_column_type({int}, given, path)
        return lambda piece: _numbers_below(domain.size, piece, typed=typed)
    items = _typed_items(domain, given, path) if typed else _items_as_text(domain)
    return lambda piece: compute.index_in(_without_large(piece).cast(items.type), items, skip_nulls=True)


def _numbers_below(size: int, piece: pa.Array, *, typed: bool) -> pa.Array:
    """Whole numbers from 0 to size - 1, and nulls for everything else. (A list of all 2^32 numbers would not fit.)"""
    pyarrow = load_pyarrow("compute")
    compute = pyarrow.compute
    if not typed:  # only the plain way of writing a number is that number: not 07, +7 or 7.0
        plain = compute.match_substring_regex(piece, "^(0|[1-9][0-9]{0,9})$")
        piece = compute.if_else(plain, piece, None).cast(pyarrow.int64())
    piece = _without_large(piece).cast(pyarrow.int64())
    inside = compute.and_(compute.greater_equal(piece, 0), compute.less(piece, size))
    return compute.if_else(inside, piece, None)


def _without_large(piece: pa.Array) -> pa.Array:
    """The column with nulls for whole numbers that do not fit int64: no item is that large."""
    pyarrow = load_pyarrow("compute")
    if piece.type != pyarrow.uint64():
        return piece
    fits = pyarrow.compute.less(piece, pyarrow.scalar(2**63, pyarrow.uint64()))
    return pyarrow.compute.if_else(fits, piece, None)


def distinct(path: str | os.PathLike[str], column: str | None) -> list[Item]:
    """The distinct values of a column, in the order of their first appearance."""
    pyarrow = load_pyarrow("compute")
    seen: dict[Item, None] = {}
    for piece in format_of(path).column(checked_regular_file(path, DataFileError), column, None):
        if piece.null_count:
            raise DataFileError(f"{path} has an empty cell in that column, which cannot be an item")
        try:
            seen.update(dict.fromkeys(piece.unique().to_pylist()))
        except (pyarrow.ArrowException, TypeError, UnicodeDecodeError):
            raise DataFileError(f"the column of {path} holds {piece.type} that cannot be items") from None
    return list(seen)


@contextmanager
def reports_writer(path: str | os.PathLike[str], plan: Plan, replace: bool = False) -> Iterator[Write]:
    """Give the block a function that appends reports to a new file; the file appears when the block ends."""
    file_format = format_of(path)
    with atomic_write(path, replace) as temporary, file_format.reports_writer(temporary, plan) as write:
        yield write


def read_reports(path: str | os.PathLike[str], plan: Plan, *, progress: Progress | None = None) -> Iterator[Reports]:
    """Yield the reports in a file, in pieces.

    Reports of another plan are a `PlanMismatchError`, rows that are not reports of this plan a `WireError`.
    """
    yield from format_of(path).reports(checked_regular_file(path, DataFileError), plan, progress)


def write_table(table: Table, path: str | os.PathLike[str], replace: bool = False) -> None:
    """Write a table in the format that the extension says."""
    file_format = format_of(path)
    with atomic_write(path, replace) as temporary:
        file_format.write_table(table.to_arrow(), temporary)


def _items_as_text(domain: Domain) -> pa.Array:
    """The items as they are written in a CSV file."""
    texts = [_item_as_text(item) for item in domain.items]
    if len(set(texts)) < len(texts):
        raise DataFileError("two items of the plan are written alike, so a CSV file cannot tell them apart")
    return load_pyarrow().array(texts, load_pyarrow().string())


def _typed_items(domain: Domain, given: pa.DataType, path: str | os.PathLike[str]) -> pa.Array:
    """The items as an Arrow array. A column of the `given` type must be comparable with it, or is an error."""
    pyarrow = load_pyarrow()
    # A catch-all need not have the type of the column: it stands for what no cell holds.
    rest = None if domain.other is None else domain.other_index
    listed = [None if index == rest else item for index, item in enumerate(domain.items)]
    item_type = _check_column_type({type(item) for item in listed if item is not None}, given, path)
    arrow_types = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
    return pyarrow.array(listed, arrow_types[item_type])


def _check_column_type(item_types: set[type], given: pa.DataType, path: str | os.PathLike[str]) -> type:
    """The one type of all items, if a column of the `given` type can hold them."""
    types = load_pyarrow().types
    fits = {
        str: types.is_string(given) or types.is_large_string(given) or types.is_string_view(given),
        int: types.is_integer(given),
        float: types.is_floating(given),
        bool: types.is_boolean(given),
    }
    if len(item_types) != 1 or not fits[next(iter(item_types))]:
        names = {str: "text", int: "whole numbers", float: "numbers", bool: "booleans"}
        wanted = " and ".join(sorted(names[item_type] for item_type in item_types))
        raise DataFileError(f"the column of {path} holds {given}, and the items of the plan are {wanted}")
    return next(iter(item_types))


def _item_as_text(item: Item) -> str:
    return str(item).lower() if isinstance(item, bool) else str(item)
