"""What changed between two ranges of days: `localdp.difference` of what readers see of both.

Each range is a sum of whole released blocks, as in any answer, so nobody learns more from a difference than from the
estimates of both ranges.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from localdp.changes import Difference, difference
from localdp.collector.answers.estimates import figure
from localdp.collector.answers.queries import Days, DifferenceQuery
from localdp.collector.answers.released import Released
from localdp.collector.answers.rendering import Answer, one, plain, rounded
from localdp.plan import Aggregate
from localdp.table import Table
from localdp.types import Places


@dataclass(frozen=True, eq=False)
class DifferenceAnswer(Answer):
    """What changed, the largest changes first."""

    query: DifferenceQuery
    ranges: tuple[Days, Days]
    aggregates: tuple[Aggregate, Aggregate]
    released: tuple[Released, Released]

    @cached_property
    def change(self) -> Difference:
        return difference(*self.aggregates)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Whether anything changed, and what is missing in the answer."""
        late = (warning for one in self.released for warning in one.warnings)
        return tuple(dict.fromkeys((*late, *self.change.notes)))

    def table(self) -> Table:
        """All items, or the largest changes, with their intervals and whether they are listed as changed."""
        whole = self.change.table(self.query.level)
        listed = set(self._changed.tolist())
        order = np.argsort(-np.abs(self.change.shares), kind="stable")
        rows = slice(0, self.query.top)
        columns: dict[str, Any] = {name: rounded(values[rows]) for name, values in whole.columns.items()}
        columns["changed"] = np.array([int(place in listed) for place in order[rows].tolist()])
        return Table(columns, whole.title)

    def content(self) -> dict[str, Any]:
        sides = zip(("before", "after"), self.ranges, self.aggregates, strict=True)
        return {
            "plan": self.aggregates[0].plan.fingerprint,
            **{name: {"from": str(days[0]), "to": str(days[1]), "n": one.n} for name, days, one in sides},
            "p_value": self.change.p_value,
            "fdr": self.query.fdr,
            "changed": self._changed.size,
            "level": self.query.level,
            "summary": {name: figure(found) for name, found in self.change.summary(self.query.level).items()},
            "notes": list(self.remarks),
            "items": plain(self.table()),
            "raw": self._raw(),
        }

    def _raw(self) -> dict[str, Any] | None:
        """The changes of the same items before anything is learnt from the others; None where cells have none."""
        if not all(one.plan.mechanism.shows_raw for one in self.aggregates):
            return None
        places = np.argsort(-np.abs(self.change.shares), kind="stable")[: self.query.top]
        raw, error = self.change.raw[places], self.change.std_errors[places]
        beyond = ndtri((1 + self.query.level) / 2) * error
        ends = {"change": raw, "low": raw - beyond, "high": raw + beyond}
        return {name: list(map(one, values.tolist())) for name, values in ends.items()}

    @cached_property
    def _changed(self) -> Places:
        return self.change.changed(self.query.fdr).indices
