"""What every file format can do, and helpers that all of them use.

CSV needs the standard library alone. Parquet and Arrow need pyarrow, an optional dependency (the extra `files`), which
is loaded when it is first needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.domain import Domain
from localdp.errors import DataFileError, MissingPackageError
from localdp.plan import Plan, Reports
from localdp.table import Table
from localdp.types import Progress

Write = Callable[[Reports], object]
"""A function that appends reports to a file."""

UNKNOWN = -1
"""Stands for the index of a value that is not an item."""

_OTHER_KIND = ("magic", "not an arrow file", "not a gzipped file", "too small", "file is smaller", "end-of-stream")
_LONGEST_NAME = 60  # characters of a column's name in an error: a file without line ends is one long name


class Format(ABC):
    """A file format: reads columns of values and reports, in pieces, and writes reports and tables."""

    @abstractmethod
    def check_installed(self) -> None:
        """Raise a `MissingPackageError` if the format needs a package that is not installed."""

    @abstractmethod
    def with_header(self, header: bool | None) -> Format:
        """The format of files that have names of columns in their first row, have none, or (None) seem to have some."""

    @property
    @abstractmethod
    def below(self) -> str:
        """What rows are counted from, in a sentence: "below the header " or nothing."""

    @abstractmethod
    def values(self, path: Path, name: str | None, progress: Progress | None) -> Iterator[tuple[list[Any], str]]:
        """Yield the values of a column in pieces, None or "" for an empty cell, each with the name of the column.

        `name` may be None if the file has only one column.
        """

    @abstractmethod
    def indices(
        self, path: Path, name: str | None, domain: Domain, progress: Progress | None
    ) -> Iterator[tuple[NDArray[np.int64], Callable[[int], Any]]]:
        """Yield the index of every value in a column, or `UNKNOWN`, in pieces; and a function from places to values."""

    @abstractmethod
    def reports(self, path: Path, plan: Plan, progress: Progress | None) -> Iterator[Reports]:
        """Yield the reports in a file, in pieces."""

    @abstractmethod
    def reports_writer(self, temporary: Path, plan: Plan) -> AbstractContextManager[Write]:
        """Give the block a function that appends reports to a new file."""

    @abstractmethod
    def write_table(self, table: Table, temporary: Path) -> None:
        """Write a table to a new file."""


def load_pyarrow(*modules: str) -> Any:
    """The package pyarrow, with these of its submodules imported; `MissingPackageError` if it is not installed."""
    try:
        pyarrow = import_module("pyarrow")
        for module in modules:
            import_module(f"pyarrow.{module}")
    except ImportError:
        raise MissingPackageError(
            "Parquet and Arrow files need the package pyarrow: pip install pyarrow (or use CSV files)"
        ) from None
    return pyarrow


@contextmanager
def data_file_errors(path: Path, format_name: str) -> Iterator[None]:
    """Turn Arrow's errors about an unreadable file into a `DataFileError`; errors of the system pass unchanged.

    `format_name` is the format with its article, such as "a Parquet".
    """
    try:
        yield
    except (load_pyarrow().ArrowException, UnicodeDecodeError) as error:
        raise unreadable_file(path, format_name, error) from None
    except OSError as error:
        if error.errno is not None:  # only errors of the system have a number
            raise
        raise unreadable_file(path, format_name, error) from None


def unreadable_file(path: Path, format_name: str, error: Exception) -> DataFileError:
    """The error for a file that is not in the format that its extension says."""
    reason = first_line(error).rstrip(".")
    if any(word in reason.lower() for word in _OTHER_KIND):
        reason = "it is another kind of file, or it was cut short"
    return DataFileError(f"{path} is not {format_name} file that can be read: {reason}")


def first_line(error: Exception) -> str:
    """The first line of an error's message."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def resolve_column(names: list[str], column: str | None, path: Path, hint: str = "") -> str:
    """The name of the column to read: `column`, or the only one in the file if `column` is None.

    `hint` ends the error for a column that is missing.
    """
    if column is None and len(names) == 1:
        return names[0]
    cut = [name[:_LONGEST_NAME] for name in names[:8]]
    known = ", ".join(map(repr, cut))
    if column is None:
        example = f", such as --column {cut[-1]!r}" if names else ""
        raise DataFileError(f"{path} has {len(names)} columns ({known}): say which holds the items{example}")
    if column not in names:
        raise DataFileError(f"{path} has no column {column!r}: it has {known}{hint}")
    if names.count(column) > 1:
        raise DataFileError(f"{path} has two columns named {column!r}")
    return column
