"""Heavy hitters, or the top k: the items that were named, with what is known of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localdp.domain import Item
from localdp.table import Table

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeavyHitters:
    """The items named, in descending order of frequency; prints as a table, and iterates over the items.

    `probabilities` are those of being a heavy hitter, or of being among the true top k; `intervals` the ranges (low,
    high) that hold the true frequencies with probability 0.9; `rule` says how the items were chosen, and `threshold`
    what they are to exceed (None for the top k).
    """

    indices: NDArray[np.intp]
    items: Sequence[Item]
    frequencies: Vector
    intervals: tuple[Vector, Vector]
    probabilities: Vector
    rule: str
    threshold: float | None = None

    @property
    def table(self) -> Table:
        """All of it as a table, which converts to Arrow, pandas and polars."""
        low, high = self.intervals
        columns: dict[str, Any] = {"item": self.items, "frequency": self.frequencies, "low": low, "high": high}
        return Table(columns | {"probability": self.probabilities}, self._title, {"probability": ".3f"})

    @property
    def _title(self) -> str:
        count = f"{len(self)} item{'' if len(self) == 1 else 's'}"
        if self.threshold is None:
            return f"{self.rule}: {count}"
        return f"{count} estimated to be held by more than {self.threshold:,.6g} users (rule {self.rule})"

    def __len__(self) -> int:
        return self.indices.size

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __contains__(self, item: object) -> bool:
        return item in self.items

    def __str__(self) -> str:
        return str(self.table)

    def __repr__(self) -> str:
        return f"<HeavyHitters: {self._title}>"
