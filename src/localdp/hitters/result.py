"""The list of heavy hitters, or of the top k, with the frequency and the uncertainty of each item."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from localdp.domain import Domain
from localdp.items import Item
from localdp.result import Result
from localdp.table import Table
from localdp.types import Places, Vector

SHARE = ".2%"
"""How a share of the users is printed."""

_MEANINGS = {
    "mean": "Rule mean lists the items whose estimated frequency is above the threshold.",
    "f1": "Rule f1 lists the items with which the F-score is expected to be best: it misses few and adds few.",
    "fdr": "Rule fdr lists as many items as it can while the expected share of false ones stays within {}.",
}


@dataclass(frozen=True, eq=False)
class HeavyHitters(Result):
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
    n: int | None = None
    """The number of users, which shares are shares of."""

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
            **({} if self.n is None else {"share": self.frequencies / self.n}),
            "low": low,
            "high": high,
            "probability": self.probabilities,
        }
        return Table(columns, self._title, {"item": "d", "share": SHARE, "probability": ".3f"})

    @property
    def notes(self) -> tuple[str, ...]:
        """How the items were chosen, and why some of them have a frequency that is not above the threshold."""
        if self.threshold is None:
            return ()
        name = self.rule.split()[0]
        below = int((self.frequencies <= self.threshold).sum())
        some = "1 of them is" if below == 1 else f"{below:,} of them are"
        low = f" {some} estimated at or below the threshold, but may well be above it: see the probability."
        return (_MEANINGS[name].format(self.rule.removeprefix("fdr ")) + (low if below else ""),)

    @property
    def _title(self) -> str:
        count = f"{len(self):,} item{'' if len(self) == 1 else 's'}"
        if self.threshold is None:
            return f"{self.rule} of {self.domain.size:,} items"
        limit = f"{self.threshold:,.0f}" if self.threshold >= 100 else f"{self.threshold:.3g}"
        return f"{count} estimated to be held by more than {limit} users (rule {self.rule})"

    def __len__(self) -> int:
        return self.indices.size  # there may be many items, which are listed when somebody asks for them

    def __repr__(self) -> str:
        return f"<HeavyHitters: {self._title}>"
