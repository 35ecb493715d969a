"""TALLY: what was counted in a study, by part, day and segment. Tallies are added up in any order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from localdp.errors import InvalidInputError, PlanMismatchError
from localdp.frozen import Frozen
from localdp.plan import Aggregate
from localdp.studies.part import Part


class Key(NamedTuple):
    """What is counted apart: the fingerprint of the part, the day, and the segment, a label that devices send."""

    part: str
    day: Any = None
    segment: str = ""


class Tally(Frozen):
    """Aggregates by part, day and segment. A tally is a value: `counting` and `+` make new ones.

    The aggregates are not copied, so do not add to them afterwards.

    >>> from localdp import Plan
    >>> from localdp.studies import Single
    >>> (part,) = Single(Plan(["tea", "coffee"], epsilon=1.0)).parts()
    >>> monday, tuesday = (part.aggregate(part.privatize(day)) for day in (["tea"], ["tea", "coffee"]))
    >>> tally = Tally().counting(part, monday, day=1) + Tally().counting(part, tuesday, day=2)
    >>> tally.of(part).n, tally.of(part, where=lambda key: key.day == 2).n
    (3, 2)
    """

    def __init__(self, aggregates: Mapping[Key, Aggregate] | None = None) -> None:
        self.aggregates = dict(aggregates or {})
        self._freeze()

    def counting(self, part: Part | str, aggregate: Aggregate, *, day: Any = None, segment: str = "") -> Tally:
        """This tally with more reports of a part (or of the part with this fingerprint)."""
        if not isinstance(aggregate, Aggregate):
            raise InvalidInputError(f"a tally counts Aggregates, not {type(aggregate).__name__}")
        if isinstance(part, Part) and aggregate.plan != part.plan:
            raise PlanMismatchError(f"{aggregate!r} is not of the plan of {part!r}")
        return self + Tally({Key(part if isinstance(part, str) else part.fingerprint, day, segment): aggregate})

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        together = dict(self.aggregates)
        for key, aggregate in other.aggregates.items():
            known = together.get(key)
            together[key] = aggregate if known is None else _sum(known, aggregate)
        return Tally(together)

    def of(self, part: Part, where: Callable[[Key], bool] = lambda _key: True) -> Aggregate:
        """The reports of a part, on all days and in all segments, or only where the function says so."""
        chosen = [
            aggregate for key, aggregate in self.aggregates.items() if key.part == part.fingerprint and where(key)
        ]
        if len(chosen) == 1:
            return chosen[0]
        return _sum(Aggregate(part.plan), *chosen)

    def __repr__(self) -> str:
        reports = sum(aggregate.n for aggregate in self.aggregates.values())
        return f"<Tally of {reports:,} reports in {len({key.part for key in self.aggregates})} parts>"


def _sum(first: Aggregate, *others: Aggregate) -> Aggregate:
    total = Aggregate(first.plan).merge(first)
    for other in others:
        total.merge(other)
    return total
