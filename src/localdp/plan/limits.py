"""What a device does for one report, at most: limits that its owner sets, and limits of the library.

A plan comes from somebody else. It can be valid and still ask for more than the owner of a device wants to give: a
large epsilon, a report of a gigabyte, or a mechanism that takes hours. `Plan.from_json` refuses such a plan.
"""

from __future__ import annotations

from dataclasses import dataclass

from localdp.errors import PlanLimitError
from localdp.mechanisms import Mechanism
from localdp.validation import LARGEST_SIZE, checked_amount, checked_epsilon

MOST_REPORT_BYTES = 1 << 24
"""The longest report that this library makes for a plan from elsewhere: 16 MiB."""

MOST_ROUNDS = 1 << 20
"""The most rounds, one after the other, that this library takes for one report: about ten seconds."""


@dataclass(frozen=True)
class Limits:
    """The limits of one device; None means the library's own limit."""

    most_epsilon: float | None = None
    most_report_bytes: int | None = None
    most_items: int | None = None

    def __post_init__(self) -> None:
        if self.most_epsilon is not None:
            checked_epsilon(self.most_epsilon)
        if self.most_report_bytes is not None:
            checked_amount(self.most_report_bytes, MOST_REPORT_BYTES, "most_report_bytes")
        if self.most_items is not None:
            checked_amount(self.most_items, LARGEST_SIZE, "most_items")

    def check(self, mechanism: Mechanism) -> None:
        """Raise a `PlanLimitError` if a report by this mechanism would go past a limit."""
        if self.most_epsilon is not None and mechanism.requested_epsilon > self.most_epsilon:
            raise PlanLimitError(
                f"this plan asks for epsilon {mechanism.requested_epsilon:g}, and this device gives at most "
                f"{self.most_epsilon:g}"
            )
        if self.most_items is not None and mechanism.size > self.most_items:
            raise PlanLimitError(
                f"this plan has {mechanism.size:,} items, and this device takes at most {self.most_items:,}"
            )
        longest = MOST_REPORT_BYTES if self.most_report_bytes is None else self.most_report_bytes
        if mechanism.report_bytes > longest:
            raise PlanLimitError(
                f"a report under this plan takes {mechanism.report_bytes:,} bytes, and this device sends at most "
                f"{longest:,}"
            )
        if mechanism.rounds > MOST_ROUNDS:
            raise PlanLimitError(
                f"a report under this plan takes {mechanism.rounds:,} rounds of drawing, one after the other, and this "
                f"library takes at most {MOST_ROUNDS:,}"
            )
