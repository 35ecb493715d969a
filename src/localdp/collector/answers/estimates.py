"""The estimates of a range of days, whole or by segment: frequencies with intervals, heavy hitters, and the top k."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from localdp.calibrate.base import Quantity
from localdp.collector.answers.fitted import Fitted
from localdp.collector.answers.queries import EstimatesQuery
from localdp.collector.answers.released import Released
from localdp.collector.answers.rendering import Answer, one, plain
from localdp.forgery.fake_users import in_users
from localdp.hitters import HeavyHitters
from localdp.table import Table
from localdp.types import Places

REST = "(rest)"
"""What the rest is called. No segment can be called that."""


@dataclass(frozen=True, eq=False)
class EstimatesAnswer(Answer):
    """What the reports of a range of days say, as far as the query asks for it.

    Reports that looked forged when they came in are left out, unless the query asks for them; the answer says how many
    there are.

    >>> from localdp import Plan
    >>> from localdp.collector.answers.fitted import fit
    >>> aggregate = Plan(["tea", "milk"], epsilon=2.0).simulate([700, 300], seed=1)
    >>> released = Released.all_of(aggregate.n, minimum=100)
    >>> answer = EstimatesAnswer(EstimatesQuery.read({"top": "1"}), fit(aggregate), released)
    >>> answer.content()["top"]["items"]["item"]
    ['tea']
    """

    query: EstimatesQuery
    fitted: Fitted
    released: Released

    @cached_property
    def top(self) -> HeavyHitters | None:
        """The most frequent items, if they were asked for."""
        calibrated = self.fitted.calibrated
        return None if self.query.top is None else calibrated.top(min(self.query.top, calibrated.domain.size))

    @cached_property
    def hitters(self) -> HeavyHitters | None:
        """The items above the threshold, if they were asked for."""
        query = self.query
        if query.threshold is None:
            return None
        return self.fitted.calibrated.heavy_hitters(query.threshold, query.rule, fdr=query.fdr)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons to doubt the estimates; empty if there are none."""
        return (*self.fitted.estimate.notes, *self._forged(), *self.released.warnings)

    def _forged(self) -> tuple[str, ...]:
        """A sentence about the reports that look forged, if there are any."""
        number = self.released.suspect
        if not number:
            return ()
        some = "1 report looks" if number == 1 else f"{number:,} reports look"
        most = number * self.fitted.plan.mechanism.push
        what = "are counted here" if self.query.suspects else "are left out"
        return (f"{some} forged, and {what}. Together they can add at most {in_users(most)} users to one item",)

    @property
    def notes(self) -> tuple[str, ...]:
        """Which prior was chosen and why, what the data thought of an order, and how the hitters were chosen."""
        doubts = self.fitted.estimate.notes
        return (*(note for note in self.fitted.calibrated.notes if note not in doubts), *self._chosen)

    @property
    def _chosen(self) -> tuple[str, ...]:
        return () if self.hitters is None else self.hitters.notes

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.warnings, *self.notes)))

    @property
    def plainly(self) -> tuple[str, ...]:
        level = f"{self.query.level:.0%}"
        read = f"quote share: the true one lies between share_low and share_high with probability {level}"
        return tuple(dict.fromkeys((*self.warnings, read, *self._chosen)))

    def table(self) -> Table:
        """One table: all items, or the hitters, or the top if only that was asked for."""
        if self.hitters is not None:
            return self._listed(self.hitters)
        return self._rows(None) if self.top is None else self._listed(self.top)

    def content(self) -> dict[str, Any]:
        fitted, query = self.fitted, self.query
        estimate = fitted.estimate
        made: dict[str, Any] = {
            "plan": fitted.plan.fingerprint,
            "n": fitted.n,
            "from": None if query.first is None else query.first.isoformat(),
            "to": None if query.last is None else query.last.isoformat(),
            "level": query.level,
            "deviations": one(float(ndtri((1 + query.level) / 2)), 6),
            "std_error": one(estimate.std_error, 3) if fitted.has_raw else None,
            "std_error_share": one(estimate.std_error / fitted.n, 12) if fitted.has_raw else None,
            "significance_threshold": one(estimate.significance_threshold(), 3) if fitted.has_raw else None,
            "summary": {name: figure(found) for name, found in fitted.calibrated.summary(query.level).items()},
            "prior": self._prior() if fitted.has_raw else None,
            "suspect_reports": self.released.suspect,
            "suspects": "in" if self.query.suspects else "out",
            "released": self.released.document(),
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }
        if self.top is not None:
            made["top"] = {"k": len(self.top), "items": plain(self._listed(self.top))}
        if self.hitters is not None:
            limit = self.hitters.threshold
            chosen = {"threshold": None if limit is None else one(limit, 3), "rule": self.hitters.rule}
            made["hitters"] = chosen | {"items": plain(self._listed(self.hitters))}
        if self.top is None and self.hitters is None:
            made["items"] = plain(self._rows(None))
        if self.hitters is None and fitted.has_raw:
            made["named"] = fitted.named(query.level, None if self.top is None else self.top.indices)
        return made

    def _prior(self) -> dict[str, Any]:
        prior = self.fitted.calibrated.prior
        return {"asked": self.fitted.prior, "fitted": prior.name, "method": prior.method, "why": list(prior.notes)}

    def _listed(self, hits: HeavyHitters) -> Table:
        """The rows of these items, with the probability of each."""
        rows = self._rows(hits.indices)
        probability = np.round(hits.probabilities, 6)
        return Table({**rows.columns, "probability": probability}, repr(hits).strip("<>"), rows.formats)

    def _rows(self, chosen: Places | None) -> Table:
        """The rows of these items, or of all items in the order of the plan."""
        n, items = self.fitted.n, self.fitted.plan.domain.items
        numbered = isinstance(items, range)
        names: Any = np.arange(len(items)) if numbered else items
        if chosen is not None:
            names = chosen if numbered else [items[place] for place in chosen.tolist()]
        columns = {"item": names, **self.fitted.numbers(self.query.level, chosen)}
        for end in ("low", "high"):
            columns[end] = columns[end].astype(np.int64)
        return Table(columns, f"{len(names):,} items among {n:,} users, intervals of {self.query.level:.0%}")


def figure(found: Quantity) -> dict[str, float | None]:
    return {"value": one(found.value), "low": one(found.low), "high": one(found.high)}


@dataclass(frozen=True, eq=False)
class SegmentsAnswer(Answer):
    """The estimates of every segment side by side, and of the rest, which has an empty label.

    The rest are reports without a segment, or of days with too few. `waiting` are segments of which too little is
    released.
    """

    answers: tuple[tuple[str, EstimatesAnswer], ...]
    waiting: tuple[str, ...]

    def content(self) -> dict[str, Any]:
        found = {label or REST: answer.content() for label, answer in self.answers}
        return {"segments": found, "waiting": list(self.waiting), "notes": list(self._notes)}

    def table(self) -> Table:
        """The rows of all segments, one after the other."""
        tables = [answer.table() for _, answer in self.answers]
        labels = [label or REST for label, _ in self.answers]
        columns: dict[str, Any] = {"segment": np.repeat(labels, [len(table) for table in tables]).tolist()}
        for name in tables[0].columns:
            parts = [table.columns[name] for table in tables]
            whole = all(isinstance(part, np.ndarray) for part in parts)
            columns[name] = np.concatenate(parts) if whole else [value for part in parts for value in part]
        return Table(columns, f"{len(tables)} segments", tables[0].formats)

    @property
    def remarks(self) -> tuple[str, ...]:
        every = (f"{label or REST}: {one}" for label, answer in self.answers for one in answer.warnings)
        return (*every, *self._notes)

    @property
    def _notes(self) -> tuple[str, ...]:
        """What a reader of segments must know."""
        minimum = self.answers[0][1].released.minimum
        rest = (
            "the rest holds reports without a segment, and those of days on which a segment had fewer than "
            f"{minimum:,} reports, so that no sum gives them away"
        )
        few = f"too few reports are released of {', '.join(self.waiting)}"
        return (rest, few) if self.waiting else (rest,)
