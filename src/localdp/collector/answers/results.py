"""Results of studies: tables by name, the values that a discovery found, and rows of one shape for all kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from localdp.collector.answers.rendering import Answer, one, plain, rounded, shares, users
from localdp.collector.fields import FLAT_COLUMNS
from localdp.discovery import Found
from localdp.table import Table

FlatRow = tuple[str, str, *tuple[float | None, ...]]
"""The name of a table, an item, and the numbers that `FLAT_COLUMNS` names."""


@dataclass(frozen=True, eq=False)
class ResultAnswer(Answer):
    """The tables of the result of a study by name, and what must be known of them. CSV and Arrow hold one table.

    `about` is what JSON has beside them: which study it is, and how many reports there were.
    """

    about: Mapping[str, Any]
    tables: Mapping[str, Table]
    notes: tuple[str, ...]
    chosen: str

    def content(self) -> dict[str, Any]:
        tables = {name: {"title": one.title, "columns": plain(_exact(one))} for name, one in self.tables.items()}
        return {**self.about, "notes": list(self.notes), "tables": tables}

    @property
    def remarks(self) -> tuple[str, ...]:
        return self.notes

    def table(self) -> Table:
        return _exact(self.tables[self.chosen])


def _exact(table: Table) -> Table:
    """A table with rounded numbers, and with whole numbers that are items as text.

    Programs that read those as floats would change large ones.
    """
    columns = {
        name: rounded(values)
        if isinstance(values, np.ndarray)
        else [str(value) if type(value) is int else value for value in values]
        for name, values in table.columns.items()
    }
    return Table(columns, table.title, table.formats)


@dataclass(frozen=True)
class FoundAnswer(Answer):
    """The values of a discovery that is done, with intervals of this level."""

    found: Found
    level: float

    def content(self) -> dict[str, Any]:
        other = self.found.other(self.level)
        return {
            "n": self.found.n,
            "epsilon": self.found.epsilon,
            "level": self.level,
            "notes": list(self.found.notes),
            "other": {name: one(getattr(other, name)) for name in ("value", "low", "high")},
            "items": plain(self.table()),
        }

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(self.found.notes)

    def table(self) -> Table:
        found = self.found.table(self.level)
        columns: dict[str, Any] = {
            # Keys as text: programs that read numbers of JSON as floats would change large ones.
            "item": [str(item) for item in found["item"]],
            "frequency": users(found["frequency"]),
            "share": shares(found["frequency"], max(self.found.n, 1)),
            "low": users(found["low"]),
            "high": users(found["high"]),
            "probability": np.round(found["probability"], 6),
            "kind": found["kind"],
        }
        return Table(columns, "Values that were found")


def flat_rows(tables: Mapping[str, Table]) -> Iterator[FlatRow]:
    """The rows of all tables: their items as text, and their numbers under one name each. SQL reads them.

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
