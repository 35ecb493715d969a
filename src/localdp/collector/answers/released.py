"""What an answer is made from: the reports that are released, those that wait, and those that look forged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from localdp.errors import TooFewReportsError
from localdp.plan import Aggregate


@dataclass(frozen=True)
class Released:
    """Numbers of reports in a range of days: how many are shown, and how many are not, and why.

    `suspect` are set aside because they look forged; `shown_with` counts those of them that are released by now.
    `held_back` wait for others to be released with. `counted_until` is a moment after which uploads may be missing,
    because counting them takes longer than a question may wait; None if everything is counted.
    """

    minimum: int
    shown: int
    shown_with: int
    suspect: int
    held_back: int
    counted_until: str | None = None

    @classmethod
    def all_of(cls, n: int, minimum: int) -> Released:
        """All n reports together: shown if they reach the minimum, and held back otherwise."""
        shown = n if n >= max(minimum, 1) else 0
        return cls(minimum, shown, shown, 0, n - shown)

    def document(self) -> dict[str, Any]:
        return {
            "minimum": self.minimum,
            "held_back": self.held_back,
            "suspect": self.suspect,
            "n_without_suspects": self.shown,
            "n_with_suspects": self.shown_with,
            "counted_until": self.counted_until,
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know of the reports that are not in the answer."""
        late = f"uploads are being counted, and some that came after {self.counted_until} are missing here"
        return () if self.counted_until is None else (late,)

    def check(self) -> None:
        """Raise a `TooFewReportsError` if nothing is released."""
        if self.shown:
            return
        waiting, least = self.held_back, max(self.minimum, 1)
        have = {0: "there are no reports", 1: "there is 1 report"}.get(waiting, f"there are {waiting:,} reports")
        whole = (
            ""
            if waiting < least
            else ", of whole days: a day with fewer is released when it is over, together with others like it"
        )
        raise TooFewReportsError(
            f"{have} in this range of days, and estimates of this plan are released from {least:,} on{whole}: wait for "
            "more reports, or ask for more days"
        )


@dataclass(frozen=True)
class Blocks:
    """What a history is made from: the days that are released together, their counts, and the reports of each day."""

    days: tuple[tuple[date, ...], ...]
    read: Callable[[tuple[date, ...]], Aggregate]
    reported: Mapping[date, int]
