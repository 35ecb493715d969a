"""Heavy hitters, or the top k: the items that were named, with what is known of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from localdp.domain import Domain, Item
from localdp.table import Table
from localdp.types import Places, Vector


@dataclass(frozen=True, eq=False)
class HeavyHitters:
    """The items named, in descending order of frequency; prints as a table, and iterates over the items.

    `probabilities` are those of being a heavy hitter, or of being among the true top k; `intervals` the ranges (low,
    high) that hold the true frequencies with probability 0.9; `rule` says how the items were chosen, and `threshold`
    what they are to exceed (None for the top k).
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
        """All of it as a table, which converts to Arrow, pandas and polars."""
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
