"""What a kind of file must be able to do, and what all of them share; pyarrow, an extra, is loaded when it is used."""

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


class Format(ABC):
    """A kind of file: columns of values, reports and tables, each read and written in pieces."""

    typed: ClassVar[bool]
    """Whether a column has a type; where it has none, a cell is text."""

    @abstractmethod
    def column(self, path: Path, name: str | None, progress: Progress | None) -> Iterator[pa.Array]:
        """A column (the only one, if none is named) in pieces, as plain arrays."""

    @abstractmethod
    def reports(self, path: Path, plan: Plan, progress: Progress | None) -> Iterator[Reports]:
        """The reports in a file, in pieces."""

    @abstractmethod
    def reports_writer(self, unfinished: Path, plan: Plan) -> AbstractContextManager[Write]:
        """A function that appends reports to a new file."""

    @abstractmethod
    def write_table(self, table: pa.Table, unfinished: Path) -> None:
        """A whole table as a new file."""


def arrow(*modules: str) -> Any:
    """The package pyarrow, with those of its modules that it does not load by itself."""
    try:
        package = import_module("pyarrow")
        for module in modules:
            import_module(f"pyarrow.{module}")
    except ImportError:
        raise MissingPackageError(
            "CSV, Parquet and Arrow files need the package pyarrow: pip install 'localdp[files]'"
        ) from None
    return package


@contextmanager
def readable(path: Path, kind: str) -> Iterator[None]:
    """What Arrow says of a file that is not of its kind, as a `DataFileError`; what the system says, as it is."""
    try:
        yield
    except (arrow().ArrowException, UnicodeDecodeError) as error:
        raise unreadable(path, kind, error) from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise unreadable(path, kind, error) from None


def unreadable(path: Path, kind: str, error: Exception) -> DataFileError:
    """The error for a file that cannot be read as what its name says."""
    return DataFileError(f"{path} is not {kind} file that can be read: {first_line(error)}")


def first_line(error: Exception) -> str:
    """What an error says, in a line."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def chosen(names: list[str], column: str | None, path: Path) -> str:
    """The column that is meant: the one named, or the only one."""
    if column is None and len(names) == 1:
        return names[0]
    if column is None:
        raise DataFileError(f"{path} has {len(names)} columns: say which holds the items ({', '.join(names[:8])})")
    if column not in names:
        raise DataFileError(f"{path} has no column {column!r}: it has {', '.join(names[:8])}")
    if names.count(column) > 1:
        raise DataFileError(f"{path} has two columns of the name {column!r}")
    return column
