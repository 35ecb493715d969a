"""What a device does for one report, at most: limits that its owner sets, and limits of the library.

A plan comes from somebody else. It can be valid and still ask for more than the owner of a device wants to give: a
large epsilon, a report of a gigabyte, or a mechanism that takes hours. `Plan.from_json` refuses such a plan.
"""

from __future__ import annotations

from typing import Any

from localdp.errors import PlanLimitError
from localdp.frozen import Frozen
from localdp.mechanisms import Mechanism
from localdp.questions import Question
from localdp.validation import LARGEST_EPSILON, LARGEST_SIZE, checked_amount, checked_epsilon

MOST_REPORT_BYTES = 1 << 24
"""The longest report that this library makes for a plan from elsewhere: 16 MiB."""

MOST_ROUNDS = 1 << 17
"""The most rounds, one after the other, that this library takes for one report: about ten seconds."""


class Limits(Frozen):
    """The limits of one device; None means the library's own limit."""

    def __init__(
        self, most_epsilon: float | None, most_report_bytes: int | None, most_items: int | None, needs_other: bool
    ) -> None:
        self.most_epsilon = LARGEST_EPSILON if most_epsilon is None else checked_epsilon(most_epsilon)
        self.most_report_bytes = (
            MOST_REPORT_BYTES
            if most_report_bytes is None
            else checked_amount(most_report_bytes, MOST_REPORT_BYTES, "most_report_bytes")
        )
        self.most_items = LARGEST_SIZE if most_items is None else checked_amount(most_items, LARGEST_SIZE, "most_items")
        self.needs_other = needs_other
        self._freeze()

    def check_document(self, document: Any) -> None:
        """Refuse what can be refused before anything is derived, which takes time and memory for many items."""
        domain = document.get("domain") if isinstance(document, dict) else None
        if not isinstance(domain, dict):
            return  # another question, which is checked when it is read, or no plan at all
        items = domain.get("items", domain.get("size"))
        size = len(items) if isinstance(items, list) else items
        if isinstance(size, int) and size <= LARGEST_SIZE:  # a larger one is no size at all, as the plan will say
            self._check_size(size)
        epsilon = document.get("epsilon")
        if isinstance(epsilon, float | int):
            self._check_epsilon(epsilon)
        if "other" not in domain:
            self._check_other(False)

    def check_question(self, question: Question) -> None:
        """Raise a `PlanLimitError` if some values have no answer, and this device wants one for all."""
        self._check_other(question.takes_everything)

    def _check_other(self, takes_everything: bool) -> None:
        if self.needs_other and not takes_everything:
            raise PlanLimitError(
                "this plan has no catch-all item, and this device answers only plans with one: staying silent would "
                "tell that its value is not listed"
            )

    def _check_epsilon(self, epsilon: float) -> None:
        if self.most_epsilon < epsilon <= LARGEST_EPSILON:  # a larger one is no epsilon at all, as the plan will say
            raise PlanLimitError(
                f"this plan asks for epsilon {epsilon:g}, and this device gives at most {self.most_epsilon:g}"
            )

    def _check_size(self, size: int) -> None:
        if size > self.most_items:
            raise PlanLimitError(f"this plan has {size:,} items, and this device takes at most {self.most_items:,}")

    def check(self, mechanism: Mechanism) -> None:
        """Raise a `PlanLimitError` if a report by this mechanism would go past a limit."""
        self._check_epsilon(mechanism.requested_epsilon)
        self._check_size(mechanism.size)
        if mechanism.report_bytes > self.most_report_bytes:
            raise PlanLimitError(
                f"a report under this plan takes {mechanism.report_bytes:,} bytes, and this device sends at most "
                f"{self.most_report_bytes:,}"
            )
        if mechanism.rounds > MOST_ROUNDS:
            raise PlanLimitError(
                f"a report under this plan takes {mechanism.rounds:,} rounds of drawing, one after the other, and this "
                f"library takes at most {MOST_ROUNDS:,}"
            )
