"""What every result that lists items can be asked: heavy hitters, discoveries and surveys of sets alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from localdp.table import Tabular


class Result(Tabular):
    """Items in an order, with what is known of each. It prints as a table and iterates over the items.

    Whoever derives from it has `items`, `notes` and `table`.

    >>> from localdp import discover
    >>> found = discover(["tea"] * 6_000 + ["coffee"] * 3_000 + ["milk"] * 1_000, epsilon=4.0, top=2, seed=1)
    >>> list(found), len(found), "milk" in found
    (['tea', 'coffee'], 2, False)
    >>> {name: len(table) for name, table in found.tables().items()}  # everybody else has a row, too
    {'items': 3}
    """

    items: Any
    """The items, in the order of the rows of the table."""
    notes: Any
    """What else there is to know, in sentences."""

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __contains__(self, item: object) -> bool:
        return item in self.items

    def __str__(self) -> str:
        return str(self.table())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.table().title}>"

    def _repr_html_(self) -> str:
        return self.table().html(notes=self.notes)
