"""Results of every kind as rows of one shape: for tables of SQL, and for one file of all studies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from localdp.collector.fields import FLAT_COLUMNS
from localdp.table import Table

FlatRow = tuple[str, str, *tuple[float | None, ...]]
"""The name of a table, an item, and the numbers that `FLAT_COLUMNS` names."""


def flat_rows(tables: Mapping[str, Table]) -> Iterator[FlatRow]:
    """The rows of all tables: their items as text, and their numbers under one name each.

    >>> table = Table({"diet": ["vegan"], "share": np.array([0.25]), "low": np.array([0.2]), "high": np.array([0.3])})
    >>> list(flat_rows({"diet": table}))
    [('diet', 'vegan', None, None, None, 0.25, 0.2, 0.3)]
    """
    for name, table in tables.items():
        columns, numbers = dict(table.columns), {}
        counted = "frequency" in columns  # then low and high are those of the frequency, and otherwise of the share
        for column in FLAT_COLUMNS:
            own = column if counted else column.removeprefix("share_")
            if own in columns and (counted or column.startswith("share")):
                numbers[column] = [_number(value) for value in columns[own]]
        items = [list(map(as_text, values)) for column, values in columns.items() if _names(column, values)]
        empty: Sequence[None] = [None] * len(items[0])
        ordered = [numbers.get(column, empty) for column in FLAT_COLUMNS]
        for place, together in enumerate(zip(*items, strict=True)):
            yield (name, " and ".join(together), *(column[place] for column in ordered))


def as_text(item: Any) -> str:
    """An item, or several, as text."""
    if isinstance(item, tuple | list):
        return ", ".join(map(as_text, item))
    return str(item).lower() if isinstance(item, bool) else str(item)


def _names(column: str, values: Any) -> bool:
    """Whether a column says what a row is about, and not how much of it there is."""
    return column == "item" or not (isinstance(values, np.ndarray) and values.dtype.kind in "fiub")


def _number(value: Any) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)
