"""The result of a study as its named tables, whatever kind of study it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from localdp.collector.answers.rendering import Answer, plain
from localdp.table import Table


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
    """A table with whole numbers that are items as text: programs that read them as floats would change large ones."""
    columns = {
        name: values
        if isinstance(values, np.ndarray)
        else [str(value) if type(value) is int else value for value in values]
        for name, values in table.columns.items()
    }
    return Table(columns, table.title, table.formats)
