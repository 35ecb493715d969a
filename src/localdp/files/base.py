"""What every file format can do, and helpers that all of them use.

pyarrow is an optional dependency (the extra `files`), so it is loaded when it is first needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from localdp.errors import DataFileError, MissingPackageError
from localdp.plan import Plan, Reports
from localdp.types import Progress

if TYPE_CHECKING:
    import pyarrow as pa

Write = Callable[[Reports], object]
"""A function that appends reports to a file."""

_LONGEST_NAME = 60  # characters of a column's name in an error: a file without line ends is one long name


class Format(ABC):
    """A file format: reads columns of values and reports, in pieces, and writes reports and tables."""

    typed: ClassVar[bool]
    """Whether columns have types; if not, every cell is text."""

    @abstractmethod
    def column(self, path: Path, name: str | None, progress: Progress | None) -> Iterator[pa.Array]:
        """Yield a column in pieces; `name` may be None if the file has only one column."""

    @abstractmethod
    def reports(self, path: Path, plan: Plan, progress: Progress | None) -> Iterator[Reports]:
        """Yield the reports in a file, in pieces."""

    @abstractmethod
    def reports_writer(self, temporary: Path, plan: Plan) -> AbstractContextManager[Write]:
        """Give the block a function that appends reports to a new file."""

    @abstractmethod
    def write_table(self, table: pa.Table, temporary: Path) -> None:
        """Write a table to a new file."""


def load_pyarrow(*modules: str) -> Any:
    """The package pyarrow, with these of its submodules imported; `MissingPackageError` if it is not installed."""
    try:
        pyarrow = import_module("pyarrow")
        for module in modules:
            import_module(f"pyarrow.{module}")
    except ImportError:
        raise MissingPackageError(
            "CSV, Parquet and Arrow files need the package pyarrow: pip install 'localdp[files]'"
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
    return DataFileError(f"{path} is not {format_name} file that can be read: {first_line(error)}")


def first_line(error: Exception) -> str:
    """The first line of an error's message."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def resolve_column(names: list[str], column: str | None, path: Path) -> str:
    """The name of the column to read: `column`, or the only one in the file if `column` is None."""
    if column is None and len(names) == 1:
        return names[0]
    cut = [name[:_LONGEST_NAME] for name in names[:8]]
    known = ", ".join(name if name.isprintable() else repr(name) for name in cut)
    if column is None:
        raise DataFileError(f"{path} has {len(names)} columns: say which holds the items ({known})")
    if column not in names:
        raise DataFileError(f"{path} has no column {column!r}: it has {known}")
    if names.count(column) > 1:
        raise DataFileError(f"{path} has two columns named {column!r}")
    return column
