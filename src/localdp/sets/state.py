"""What the rounds of a survey of sets have found so far, and the same as a JSON value."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Self

from localdp.sets.candidates import Itemset


@dataclass(frozen=True)
class State:
    """What the rounds that are over have found: numbers of reports, set sizes, candidates, and the last counts."""

    reports: tuple[int, ...] = ()
    find_size: int = 0
    find_seen: float = 0.0
    candidates: tuple[Itemset, ...] = ()
    least_share: float = 0.0
    """The share of the users, as far as it is seen, that hold the last item or itemset that is wanted."""
    count_size: int = 0
    count_seen: float = 0.0
    count_doubt: float = 0.0
    counts: tuple[int, ...] = ()
    kept: float = 1.0
    """The share of the true top that is expected to be among the candidates."""

    def document(self) -> dict[str, Any]:
        """The state as a JSON value; a share that is kept whole is left out, as earlier versions did."""
        written = {name: _lists(value) for name, value in asdict(self).items()}
        return written if self.kept < 1 else {name: value for name, value in written.items() if name != "kept"}

    @classmethod
    def from_document(cls, written: dict[str, Any]) -> Self:
        """The state in such a JSON value; `ValueError` if its numbers are impossible."""
        seen = written["find_seen"], written["count_seen"], written.get("kept", 1.0)  # earlier versions kept no share
        doubts = written["count_doubt"], written["least_share"]
        if not all(0 <= number <= 1 for number in seen) or not all(0 <= number < math.inf for number in doubts):
            raise ValueError("a share is not between 0 and 1")
        if (len(written["reports"]) > 1 and not seen[0]) or (len(written["reports"]) > 2 and not seen[1]):
            raise ValueError("a share that estimates are divided by is 0")
        candidates = tuple(tuple(itemset) for itemset in written["candidates"])
        whole = {name: tuple(written[name]) for name in ("reports", "counts")}
        return cls(**(written | whole | {"candidates": candidates}))


def _lists(value: Any) -> Any:
    """Tuples as lists, as JSON has them."""
    return [_lists(one) for one in value] if isinstance(value, tuple) else value
