"""Columns with types, as Parquet and Arrow files have them: which index each value has, computed by Arrow."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from localdp.domain import Domain
from localdp.errors import DataFileError
from localdp.files.base import UNKNOWN, Format, Write, first_line, load_pyarrow
from localdp.files.columns import report_batches, report_schema
from localdp.plan import Plan, Reports
from localdp.table import Table
from localdp.types import Progress

if TYPE_CHECKING:
    import pyarrow as pa


class TypedFormat(Format):
    """A format whose columns have types. A column must have the type of the items."""

    @abstractmethod
    def column(self, path: Path, name: str | None, progress: Progress | None) -> Iterator[pa.Array]:
        """Yield a column in pieces; `name` may be None if the file has only one column."""

    @abstractmethod
    def report_column(self, path: Path, plan: Plan) -> Iterator[pa.Array]:
        """Yield the column of reports in pieces as it is, without a check of its rows.

        Reports of another plan are a `PlanMismatchError`.
        """

    @abstractmethod
    def batch_writer(self, temporary: Path, schema: pa.Schema) -> AbstractContextManager[Any]:
        """A writer of Arrow's record batches to a new file."""

    @abstractmethod
    def write_arrow(self, table: pa.Table, target: Path) -> None:
        """Write an Arrow table to a new file."""

    def check_installed(self) -> None:
        load_pyarrow()

    def with_header(self, header: bool | None) -> TypedFormat:
        if header is not None:
            raise DataFileError(
                "only CSV files may lack the names of their columns: leave out --header and --no-header"
            )
        return self

    @property
    def below(self) -> str:
        return ""

    def values(self, path: Path, name: str | None, progress: Progress | None) -> Iterator[tuple[list[Any], str]]:
        for piece in self.column(path, name, progress):
            try:
                yield piece.to_pylist(), name or ""
            except (load_pyarrow().ArrowException, UnicodeDecodeError) as error:
                raise DataFileError(f"{path} has values that cannot be items: {first_line(error)}") from None

    def indices(
        self, path: Path, name: str | None, domain: Domain, progress: Progress | None
    ) -> Iterator[tuple[NDArray[np.int64], Callable[[int], Any]]]:
        pyarrow, find = load_pyarrow("compute"), None
        for piece in self.column(path, name, progress):
            if find is None:
                find = _finder(domain, piece.type, path)
            try:
                found = find(piece)
            except pyarrow.ArrowException as error:
                raise DataFileError(f"{path} has values that cannot be items: {first_line(error)}") from None
            places = pyarrow.compute.fill_null(found, UNKNOWN).to_numpy(zero_copy_only=False).astype(np.int64)
            yield places, lambda place, piece=piece: piece[place].as_py()  # type: ignore[misc]

    @contextmanager
    def reports_writer(self, temporary: Path, plan: Plan) -> Iterator[Write]:
        schema = report_schema(plan)
        with self.batch_writer(temporary, schema) as writer:

            def write(reports: Reports) -> None:
                for batch in report_batches(reports, schema):
                    writer.write_batch(batch)

            yield write

    def write_table(self, table: Table, temporary: Path) -> None:
        self.write_arrow(table.to_arrow(), temporary)


def _finder(domain: Domain, given: pa.DataType, path: Path) -> Callable[..., pa.Array]:
    """A function from values to the indices of items, with nulls for values that are not items."""
    compute = load_pyarrow("compute").compute
    if isinstance(domain.items, range):
        _check_column_type({int}, given, path)
        return lambda piece: _numbers_below(domain.size, piece)
    items = _typed_items(domain, given, path)
    return lambda piece: compute.index_in(_without_large(piece).cast(items.type), items, skip_nulls=True)


def _numbers_below(size: int, piece: pa.Array) -> pa.Array:
    """Whole numbers from 0 to size - 1, and nulls for everything else. (A list of all 2^32 numbers would not fit.)"""
    pyarrow = load_pyarrow("compute")
    compute = pyarrow.compute
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


def _typed_items(domain: Domain, given: pa.DataType, path: Path) -> pa.Array:
    """The items as an Arrow array. A column of the `given` type must be comparable with it, or is an error."""
    pyarrow = load_pyarrow()
    # A catch-all need not have the type of the column: it stands for what no cell holds.
    rest = None if domain.other is None else domain.other_index
    listed = [None if index == rest else item for index, item in enumerate(domain.items)]
    item_type = _check_column_type({type(item) for item in listed if item is not None}, given, path)
    arrow_types = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
    return pyarrow.array(listed, arrow_types[item_type])


def _check_column_type(item_types: set[type], given: pa.DataType, path: Path) -> type:
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
