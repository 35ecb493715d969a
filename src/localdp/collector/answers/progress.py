"""How far a plan has come: its reports, how precise they are by now, and what more of them would give."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from localdp.advice import Option, fake_users
from localdp.advice.shapes import shaped
from localdp.collector.answers.rendering import one
from localdp.plan import Plan

MULTIPLES = (2, 5, 10)
"""The multiples of today's number of reports that the answer looks at."""

FROM_NOTHING = (1_000, 10_000, 100_000)
"""The numbers of reports that the answer looks at while there are none."""


@dataclass(frozen=True)
class Precision:
    """What a number of reports gives, whatever the people hold."""

    reports: int
    std_error: float
    """The standard error of an item that nobody holds, in users."""
    std_error_share: float
    """The same as a share of the users."""
    threshold: float
    """The significance threshold in users: with probability 95%, no unheld item's raw estimate exceeds it."""
    visible_share: float | None
    """The smallest share of the users that is detected 90% of the time; None if not even everybody is."""

    @classmethod
    def of(cls, plan: Plan, reports: int) -> Precision:
        """The precision of this number of reports under a plan."""
        option = Option(plan.mechanism, (shaped("equal", plan.domain.size, reports),))
        error, seen = option.standard_error, option.smallest_share
        return cls(reports, error, error / reports, option.threshold, seen if seen <= 1 else None)

    def document(self) -> dict[str, Any]:
        return {name: None if value is None else one(value, 12) for name, value in asdict(self).items()}


@dataclass(frozen=True)
class ProgressAnswer:
    """How many reports there are, how precise they are, and what more would give. It needs no counts.

    >>> from localdp import Plan
    >>> answer = ProgressAnswer(Plan(1_000, "llh", epsilon=1.0), 100_000)
    >>> round(answer.now.std_error), round(answer.later[-1].std_error_share / answer.now.std_error_share, 3)
    (607, 0.316)
    """

    plan: Plan
    reports: int
    minimum: int = 1
    suspect: int = 0
    shown: int | None = None
    """The reports that are released, if there are some; without it, all are as soon as there are enough."""

    @cached_property
    def now(self) -> Precision | None:
        """None while there are no reports, and where there are no raw estimates whose precision could be told."""
        known = self.reports and self.plan.mechanism.shows_raw
        return Precision.of(self.plan, self.reports) if known else None

    @cached_property
    def later(self) -> tuple[Precision, ...]:
        """The precision of more reports, where it could be told."""
        more = [self.reports * multiple for multiple in MULTIPLES] if self.reports else FROM_NOTHING
        return tuple(Precision.of(self.plan, count) for count in more) if self.plan.mechanism.shows_raw else ()

    @property
    def released(self) -> bool:
        """Whether there are enough reports for estimates to be released."""
        # What is released is decided in `localdp.collector.releases`; without it, all reports are taken for one block.
        return bool(self.shown) if self.shown is not None else self.reports >= max(self.minimum, 1)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The answer in plain words."""
        missing = max(self.minimum, 1) - self.reports
        more = "1 more report is" if missing == 1 else f"{missing:,} more reports are"
        waiting = () if missing <= 0 else (f"{more} needed before estimates are released.",)
        if missing <= 0 and not self.released:
            waiting = ("Days with too few reports are released together, when they are over.",)
        shown = (_seen(self.now, now=True),) if self.now is not None else ()
        later = (_seen(self.later[-1], now=False),) if self.later else ()
        return (*waiting, *shown, *later)

    def document(self) -> dict[str, Any]:
        mechanism = self.plan.mechanism
        made: dict[str, Any] = {
            "plan": self.plan.fingerprint,
            "reports": self.reports,
            "minimum": self.minimum,
            "released": self.released,
            "suspect_reports": self.suspect,
            "mechanism": mechanism.name,
            "epsilon": mechanism.epsilon,
            "items": self.plan.domain.size,
            "now": None if self.now is None else self.now.document(),
            "later": [precision.document() for precision in self.later],
            "sentences": list(self.sentences),
            "fake_users": None,
        }
        if self.now is not None:
            forged = fake_users(self.plan, self.reports)
            made["fake_users"] = {
                "push": one(forged.push),
                "items_at_once": forged.items_at_once,
                "needed": forged.needed,
                "mechanisms": [
                    {
                        "mechanism": other.mechanism,
                        "push": one(other.push),
                        "items_at_once": other.items_at_once,
                        "std_error": one(other.std_error),
                        "needed": other.needed,
                        "needed_here": other.needed_for(forged.own.std_error),
                    }
                    for other in forged.others
                ],
                "sentences": list(forged.sentences),
            }
        return made


def _seen(precision: Precision, *, now: bool) -> str:
    """What can be seen with this number of reports, or could be if there were so many, as a sentence."""
    reports = f"{precision.reports:,} report{'' if precision.reports == 1 else 's'}"
    begin, are, stands = (
        (f"With {reports} so far,", "is", "stands") if now else (f"If there were {reports},", "would be", "would stand")
    )
    error = f"{begin} the standard error of an item {are} {_percent(precision.std_error_share)} of the users"
    if precision.visible_share is None:
        return f"{error}, and no item {stands} out of the noise."
    return f"{error}, and an item that {_percent(precision.visible_share)} of them hold {stands} out of the noise."


def _percent(share: float) -> str:
    """A share with two digits that matter."""
    percent = share * 100
    digits = max(0, 1 - math.floor(math.log10(percent))) if percent > 0 else 0
    return f"{percent:.{digits}f}%"
