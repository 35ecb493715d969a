"""Columns of equal length that print well and convert to what other software reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from localdp.errors import InvalidInputError, MissingPackageError

_SHOWN = 20


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns, each an array or a list, with a title and how to print them.

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
        return zip(*map(_listed, self.columns.values()), strict=True)

    def largest(self, column: str, rows: int = _SHOWN) -> Table:
        """The rows with the largest values of a column, in descending order."""
        order = np.argsort(-np.asarray(self[column]), kind="stable")[:rows]
        return Table({name: _taken(values, order) for name, values in self.columns.items()}, self.title, self.formats)

    def to_arrow(self) -> Any:
        """The table as a `pyarrow.Table`."""
        return _package("pyarrow").table({name: _uniform(values) for name, values in self.columns.items()})

    def to_pandas(self) -> Any:
        """The table as a `pandas.DataFrame`."""
        return _package("pandas").DataFrame({name: _uniform(values) for name, values in self.columns.items()})

    def to_polars(self) -> Any:
        """The table as a `polars.DataFrame`."""
        return _package("polars").DataFrame({name: _uniform(values) for name, values in self.columns.items()})

    def __str__(self) -> str:
        cells = [[name, *self._shown(name)] for name in self.columns]
        widths = [max(map(len, column)) for column in cells]
        texts = [not isinstance(values, np.ndarray) for values in self.columns.values()]
        lines = [self.title] if self.title else []
        for row in zip(*cells, strict=True):
            aligned = zip(row, widths, texts, strict=True)
            lines.append("  ".join(f"{cell:<{w}}" if text else f"{cell:>{w}}" for cell, w, text in aligned).rstrip())
        if len(self) > _SHOWN:
            lines.append(f"... and {len(self) - _SHOWN:,} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Table of {len(self)} rows: {', '.join(self.columns)}>"

    def _shown(self, name: str) -> list[str]:
        values = self.columns[name][:_SHOWN]
        if not isinstance(values, np.ndarray):
            return [str(value) for value in values]
        layout = (self.formats or {}).get(name, ",.0f")
        return [format(value, layout) for value in (values + 0.0).tolist()]


def _listed(values: Any) -> list[Any]:
    listed: list[Any] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return listed


def _taken(values: Any, order: Any) -> Any:
    return values[order] if isinstance(values, np.ndarray) else [values[place] for place in order.tolist()]


def _uniform(values: Any) -> Any:
    """Arrays as they are; lists of several kinds of items as text, for a column elsewhere has one type."""
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, range):
        return np.arange(values.start, values.stop)
    listed: Sequence[Any] = list(values)
    return listed if len(set(map(type, listed))) <= 1 else list(map(str, listed))


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingPackageError(f"converting to {name} needs the package {name}: pip install {name}") from None
