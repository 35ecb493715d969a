"""Tables of results: they print in aligned columns, and convert to pyarrow, pandas and polars."""

from __future__ import annotations

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from localdp.errors import InvalidInputError, MissingPackageError
from localdp.formats.notebook import table_html

_ROWS_SHOWN = 20
ROWS_IN_NOTEBOOKS = 10
"""The rows of a table that a notebook shows."""


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns of equal length, each an array or a list, with a title.

    `formats` gives the number format of a column, such as `.3f`; numbers are printed without decimals otherwise, and
    those that are nan are left empty.

    >>> table = Table({"item": ["tea", "milk"], "frequency": np.array([1234.5, 7.0])}, title="Two items")
    >>> print(table)
    Two items
    item  frequency
    tea       1,234
    milk          7
    >>> table["frequency"].sum()
    np.float64(1241.5)
    """

    columns: Mapping[str, Any]
    title: str = ""
    formats: Mapping[str, str] | None = None

    def __getitem__(self, name: str) -> Any:
        try:
            return self.columns[name]
        except KeyError:
            raise InvalidInputError(f"there is no column {name!r}: there are {', '.join(self.columns)}") from None

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return zip(*map(_as_list, self.columns.values()), strict=True)

    def largest(self, column: str, rows: int = _ROWS_SHOWN) -> Table:
        """The rows with the largest values in a column, the largest first."""
        values = self[column]
        if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
            raise InvalidInputError(f"the column {column!r} does not hold numbers")
        if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 0:
            raise InvalidInputError(f"a number of rows is a whole number, not {rows!r}")
        order = np.argsort(-values, kind="stable")[:rows]
        columns = {name: _take_rows(values, order) for name, values in self.columns.items()}
        return Table(columns, self.title, self.formats)

    def with_notes(self, notes: Sequence[str]) -> Table:
        """The table with the notes in a column of its own, in the first row; as it is if there are none."""
        if not notes or not len(self):
            return self
        column = [" ".join(notes), *[""] * (len(self) - 1)]
        return Table({**self.columns, "note": column}, self.title, self.formats)

    def to_arrow(self) -> Any:
        """The table as a `pyarrow.Table`."""
        return _import_package("pyarrow").table(self._typed_columns())

    def to_pandas(self) -> Any:
        """The table as a `pandas.DataFrame`."""
        return _import_package("pandas").DataFrame(self._typed_columns())

    def to_polars(self) -> Any:
        """The table as a `polars.DataFrame`."""
        return _import_package("polars").DataFrame(self._typed_columns())

    def _typed_columns(self) -> dict[str, Any]:
        """The columns by name, each with values of one type, as other software needs them."""
        return {name: _with_one_type(values) for name, values in self.columns.items()}

    def __str__(self) -> str:
        return self.text()

    def text(self, rows: int = _ROWS_SHOWN) -> str:
        """The first rows as text in aligned columns, then the number of rows that are not shown."""
        cells = [[name, *self._cells(name, rows)] for name in self.columns]
        widths = [max(map(_width, column)) for column in cells]
        texts = self._text_columns()
        lines = [self.title] if self.title else []
        for row in zip(*cells, strict=True):
            aligned = zip(row, widths, texts, strict=True)
            lines.append("  ".join(_padded(cell, width, text) for cell, width, text in aligned).rstrip())
        if len(self) > rows:
            lines.append(f"... and {len(self) - rows:,} more")
        return "\n".join(lines)

    def html(self, rows: int = ROWS_IN_NOTEBOOKS, notes: Sequence[str] = (), of: int | None = None) -> str:
        """The first rows as HTML, then the number of rows that are not shown, then the notes. Notebooks show this.

        `of` is the number of rows to count from, if this table is itself a part of a longer one.
        """
        cells = [self._cells(name, rows) for name in self.columns]
        left = (len(self) if of is None else of) - min(rows, len(self))
        more = [f"\N{HORIZONTAL ELLIPSIS} {left:,} more"] if left else []
        return table_html(
            self.title, list(self.columns), zip(*cells, strict=True), self._text_columns(), [*more, *notes]
        )

    def _repr_html_(self) -> str:
        return self.html()

    def _text_columns(self) -> list[bool]:
        """Which columns are text, and so aligned to the left."""
        return [not isinstance(values, np.ndarray) for values in self.columns.values()]

    def __repr__(self) -> str:
        return f"<Table of {len(self)} rows: {', '.join(self.columns)}>"

    def _cells(self, name: str, rows: int) -> list[str]:
        """The first cells of a column as text."""
        values = self.columns[name][:rows]
        if not isinstance(values, np.ndarray):
            return [printable(str(value)) for value in values]
        layout = (self.formats or {}).get(name, ",.0f")
        return ["" if value != value else _unsigned_zero(format(value, layout)) for value in values.tolist()]


class Tabular(ABC):
    """A result that has a table: it converts to pyarrow, pandas and polars, and notebooks show it as one."""

    @abstractmethod
    def table(self) -> Table:
        """The result as a table."""

    def tables(self) -> dict[str, Table]:
        """All tables of the result by name; most results have one."""
        return {"items": self.table()}

    def to_arrow(self) -> Any:
        """The rows of `table()` as a `pyarrow.Table`."""
        return self.table().to_arrow()

    def to_pandas(self) -> Any:
        """The rows of `table()` as a `pandas.DataFrame`."""
        return self.table().to_pandas()

    def to_polars(self) -> Any:
        """The rows of `table()` as a `polars.DataFrame`."""
        return self.table().to_polars()

    def _repr_html_(self) -> str:
        return self.table().html()


def printable(text: str, longest: int = 40) -> str:
    """Text that is safe on a terminal and fits a column: invisible characters are escaped, long text is cut."""
    safe = "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
    return safe if len(safe) <= longest else safe[: longest - 3] + "..."


def _width(text: str) -> int:
    """How many columns of a terminal the text takes: two for each wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text
    )


def _padded(cell: str, width: int, to_the_left: bool) -> str:
    """The cell with spaces, so that it takes `width` columns."""
    space = " " * (width - _width(cell))
    return cell + space if to_the_left else space + cell


def _unsigned_zero(number: str) -> str:
    """The number without a minus sign if it is printed as zero: "-0" would look like a mistake."""
    return number.removeprefix("-") if not any(sign in "123456789" for sign in number) else number


def _as_list(values: Any) -> list[Any]:
    listed: list[Any] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return listed


def _take_rows(values: Any, order: Any) -> Any:
    return values[order] if isinstance(values, np.ndarray) else [values[place] for place in order.tolist()]


def _with_one_type(values: Any) -> Any:
    """A column with values of one type: a list with items of several types becomes text."""
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, range):
        return np.arange(values.start, values.stop)
    listed: Sequence[Any] = list(values)
    if not listed:
        return np.zeros(0, "U1")
    return listed if len(set(map(type, listed))) <= 1 else list(map(str, listed))


def _import_package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingPackageError(f"converting to {name} needs the package {name}: pip install {name}") from None
