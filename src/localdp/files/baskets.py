"""Sets of items in files, one for each user: a column of lists, a column of texts, or a file of transactions.

Parquet and Arrow have columns of lists. In a column of texts, as in CSV, a separator divides a cell into items, and an
empty cell is an empty set. A file of transactions (`.dat`) has one set on each line, with spaces between the items.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from localdp.domain import Domain
from localdp.errors import DataFileError, UnknownItemError
from localdp.files.base import UNKNOWN, Format
from localdp.files.csv import item_as_text, item_finder
from localdp.item_sets import ItemSets
from localdp.types import Progress
from localdp.validation import checked_regular_file, shown

TRANSACTIONS = ".dat"
_LINES = 1 << 16  # of a file of transactions, in one piece


def sets(
    path: str | os.PathLike[str],
    column: str | None,
    domain: Domain,
    file_format: Format | None,
    *,
    separator: str = ";",
    known_only: bool = True,
    progress: Progress | None = None,
) -> Iterator[tuple[ItemSets, int]]:
    """Yield the sets in a file, in pieces, each with the number of items in it that the domain does not have.

    `file_format` is None for a file of transactions. Unknown items become the catch-all. If the domain has none, they
    are left out, or with `known_only` an `UnknownItemError` gives the number of the row.
    """
    checked = checked_regular_file(path, DataFileError)
    if file_format is None:
        pieces, below = _transactions(checked), ""
    else:
        pieces = (cells for cells, _ in file_format.values(checked, column, progress))
        below = file_format.below
    split = _splitter(None if file_format is None else separator)
    find, rest = item_finder(domain), UNKNOWN if domain.other is None else domain.other_index
    row = 1
    for cells in pieces:
        held = [split(cell, f"row {row + place} {below}of {path}") for place, cell in enumerate(cells)]
        sizes = np.array([len(items) for items in held], np.int64)
        flat = np.array([find(item) for items in held for item in items], np.int64)
        unknown = flat == UNKNOWN
        if unknown.any() and rest == UNKNOWN:
            users = np.repeat(np.arange(sizes.size), sizes)
            if known_only:
                first = int(unknown.argmax())
                text = [item for items in held for item in items][first]
                raise UnknownItemError(
                    f"row {row + int(users[first])} {below}of {path} has {shown(text)}, which the plan does not list"
                )
            flat, sizes = flat[~unknown], np.bincount(users[~unknown], minlength=sizes.size)
            yield ItemSets.of(flat, sizes), int(unknown.sum())
        else:
            yield ItemSets.of(np.where(unknown, rest, flat), sizes), 0
        row += len(cells)


def _splitter(separator: str | None) -> Callable[[Any, str], list[str]]:
    """A function from a cell to the texts of its items; without a separator, spaces divide them."""

    def split(cell: Any, where: str) -> list[str]:
        if cell is None:
            return []
        if isinstance(cell, str):
            return [part.strip() for part in cell.split(separator) if part.strip()]
        if isinstance(cell, list):
            return [item_as_text(item) for item in cell if item is not None]
        raise DataFileError(f"{where} has {shown(cell)}, which is neither a list of items nor text with separators")

    return split


def _transactions(path: Path) -> Iterator[list[str]]:
    """The lines of a file of transactions, in pieces."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            while piece := list(islice(lines, _LINES)):
                yield piece
    except UnicodeDecodeError:
        raise DataFileError(f"{path} is not a text file in UTF-8: save it as UTF-8 and try again") from None
