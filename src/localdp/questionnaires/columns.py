"""Everybody's answers as a table: a column for each question, with an answer of each person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from localdp.errors import EmptyError, InvalidInputError
from localdp.questionnaires.asked import unknown_names
from localdp.validation import shown


def checked_columns(table: Any, names: Iterable[str]) -> dict[str, Any]:
    """The columns of a table, which must be those of the questions and equally long.

    A table is a dictionary of lists, or a table of pandas, polars or Arrow.
    """
    columns = _columns(table)
    wanted = list(names)
    unknown = [name for name in columns if name not in wanted]
    if unknown:
        raise unknown_names(unknown, dict.fromkeys(wanted))
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise InvalidInputError(
            f"there is no column for the question {missing[0]!r:.60}: give one for every question, with None for "
            "people who did not answer"
        )
    for name, values in columns.items():
        if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__"):
            raise InvalidInputError(f"the answers to {name!r:.60} are a list with one for each person")
    lengths = {name: len(values) for name, values in columns.items()}
    (first, length), *others = lengths.items()
    for name, other in others:
        if other != length:
            raise InvalidInputError(
                f"every person has an answer to each question, and {first!r:.60} has {length:,} answers but "
                f"{name!r:.60} has {other:,}: put None where somebody did not answer"
            )
    if not length:
        raise EmptyError("no answers were given: give the answers of at least one person")
    return {name: columns[name] for name in wanted}


def _columns(table: Any) -> dict[str, Any]:
    if isinstance(table, Mapping):
        return dict(table)
    names = getattr(table, "column_names", None)  # of Arrow
    if names is None:
        names = getattr(table, "columns", None)  # of pandas and polars
    if names is None or not hasattr(table, "__getitem__"):
        raise InvalidInputError(
            "answers are a table with a column for each question, such as {'diet': [...], 'age': [...]}, not "
            f"{shown(table)}"
        )
    return {str(name): _plain(table[name]) for name in names}


def _plain(column: Any) -> Any:
    """A column as a list or an array, with None where there is no answer."""
    if hasattr(column, "to_pylist"):  # of Arrow
        return column.to_pylist()
    if hasattr(column, "to_list"):  # of pandas and polars
        return column.to_list()
    return np.asarray(column)
