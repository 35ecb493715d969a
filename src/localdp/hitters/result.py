"""The list of heavy hitters, or of the top k, with the frequency and the uncertainty of each item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from localdp.domain import Domain, Item
from localdp.table import Table
from localdp.types import Places, Vector


@dataclass(frozen=True, eq=False)
class HeavyHitters:
    """Items named as heavy, in descending order of frequency. It prints as a table and iterates over the items.

    `probabilities` has each item's probability of being a heavy hitter, or of belonging to the true top k. `intervals`
    are two arrays (low, high): the true frequency lies between them with probability 0.9. `rule` says how the items
    were chosen, and `threshold` is the number of users that a heavy hitter exceeds (None for the top k).

    >>> from localdp import Estimate
    >>> est = Estimate([900.0, 5.0, 700.0], n=2000, variance=25.0, domain=["tea", "milk", "water"])
    >>> hits = est.heavy_hitters("20%")
    >>> list(hits), "milk" in hits
    (['tea', 'water'], False)
    """

    indices: Places
    domain: Domain
    frequencies: Vector
    intervals: tuple[Vector, Vector]
    probabilities: Vector
    rule: str
    threshold: float | None = None

    @cached_property
    def items(self) -> list[Item]:
        """The items themselves."""
        return [self.domain.items[index] for index in self.indices.tolist()]

    def table(self) -> Table:
        """Items, frequencies, intervals and probabilities as a table, which converts to Arrow, pandas and polars."""
        low, high = self.intervals
        numbered = isinstance(self.domain.items, range)
        columns = {
            "item": self.indices if numbered else self.items,
            "frequency": self.frequencies,
            "low": low,
            "high": high,
            "probability": self.probabilities,
        }
        return Table(columns, self._title, {"item": "d", "probability": ".3f"})

    @property
    def _title(self) -> str:
        count = f"{len(self):,} item{'' if len(self) == 1 else 's'}"
        if self.threshold is None:
            return f"{self.rule} of {self.domain.size:,} items"
        limit = f"{self.threshold:,.0f}" if self.threshold >= 100 else f"{self.threshold:.6g}"
        return f"{count} estimated to be held by more than {limit} users (rule {self.rule})"

    def __len__(self) -> int:
        return self.indices.size

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __contains__(self, item: object) -> bool:
        return item in self.items

    def __str__(self) -> str:
        return str(self.table())

    def __repr__(self) -> str:
        return f"<HeavyHitters: {self._title}>"
