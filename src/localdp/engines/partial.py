"""The one function that all engines run: from a batch of reports to sums, which add up to the counts.

The sums are what `Mechanism.count_partial` returns: the counts themselves, or, for `llh` and `hr`, what is transformed
into counts. Each task adds up its own share, the shares are added up in any order, and `aggregates` transforms the
total once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from localdp.engines.failures import raised
from localdp.plan import Aggregate, Plan
from localdp.types import Counts, Rows

_LARGE_BYTES = 1 << 22  # a batch of this size is counted at once
_HELD_BYTES = 1 << 26  # smaller ones wait until they have this size together: each count has a fixed cost


def partial_counts(plan: Plan, rows: Rows, threads: int | None = 1) -> Counts:
    """The sums of a batch of reports: int64 numbers that add up over batches. `threads` None means all processors.

    >>> plan = Plan(4, mechanism="llh", epsilon=1.0)
    >>> rows = plan.privatize([0, 1, 2, 3, 3]).rows
    >>> sums = partial_counts(plan, rows[:2]) + partial_counts(plan, rows[2:])
    >>> (plan.mechanism.complete(sums, 5) == plan.mechanism.count(rows)).all()
    np.True_
    """
    return plan.mechanism.tally_partial(rows, threads=threads)


@dataclass(frozen=True)
class Group:
    """The sums of `n` reports, and how many rows were skipped because they were not reports."""

    n: int
    skipped: int
    sums: Counts


@dataclass(frozen=True)
class FileCount:
    """How many reports of one file were counted, and what identifies them (empty if another task finds it out)."""

    n: int = 0
    identity: str = ""


@dataclass(frozen=True)
class Partial:
    """What one task, or several together, found out.

    `groups` has a group for each value of the grouping column, or one under None. `files` has the files by their
    number. If the work failed, `failure` describes the error.
    """

    groups: Mapping[Hashable, Group] = field(default_factory=dict)
    files: Mapping[int, FileCount] = field(default_factory=dict)
    failure: str = ""


class Sums:
    """Adds up reports by group. Small batches are held back and counted together."""

    def __init__(self, plan: Plan, threads: int | None = 1) -> None:
        self._plan, self._threads = plan, threads
        self._sums: dict[Hashable, Counts] = {}
        self._n: dict[Hashable, int] = {}
        self._skipped: dict[Hashable, int] = {}
        self._held: dict[Hashable, list[Rows]] = {}
        self._held_bytes = 0

    def add(self, rows: Rows, key: Hashable = None, skipped: int = 0) -> None:
        """Count these reports, which were checked before, in the group `key`."""
        self._n[key] = self._n.get(key, 0) + len(rows)
        self._skipped[key] = self._skipped.get(key, 0) + skipped
        if rows.nbytes >= _LARGE_BYTES:
            self._count(rows, key)
        elif len(rows):
            self._held.setdefault(key, []).append(rows)
            self._held_bytes += rows.nbytes
            if self._held_bytes >= _HELD_BYTES:
                self._count_held()

    def partial(self) -> Partial:
        """What was added so far."""
        self._count_held()
        none = np.zeros(self._plan.mechanism.partial_size, np.int64)
        return Partial({key: Group(n, self._skipped[key], self._sums.get(key, none)) for key, n in self._n.items()})

    def _count_held(self) -> None:
        held, self._held, self._held_bytes = self._held, {}, 0
        for key, pieces in held.items():
            self._count(np.concatenate(pieces), key)

    def _count(self, rows: Rows, key: Hashable) -> None:
        sums = partial_counts(self._plan, rows, self._threads)
        if key in self._sums:
            self._sums[key] += sums
        else:
            self._sums[key] = sums.copy()


def merged(partials: Iterable[Partial]) -> Partial:
    """The sum of several partial results. A failure among them is kept, and the first one wins."""
    groups: dict[Hashable, Group] = {}
    files: dict[int, FileCount] = {}
    failure = ""
    for partial in partials:
        failure = failure or partial.failure
        for key, group in partial.groups.items():
            before = groups.get(key)
            if before is None:
                groups[key] = Group(group.n, group.skipped, group.sums.copy())
            else:
                np.add(before.sums, group.sums, out=before.sums)
                groups[key] = Group(before.n + group.n, before.skipped + group.skipped, before.sums)
        for number, found in partial.files.items():
            known = files.get(number, FileCount())
            files[number] = FileCount(known.n + found.n, known.identity or found.identity)
    return Partial(groups, files, failure)


def aggregates(plan: Plan, partial: Partial) -> dict[Any, Aggregate]:
    """The aggregate of every group; an error if the work failed."""
    if partial.failure:
        raise raised(partial.failure)
    found: dict[Any, Aggregate] = {}
    for key, group in partial.groups.items():
        found[key] = Aggregate(plan, plan.mechanism.complete(group.sums, group.n), group.n)
        found[key].skipped = group.skipped
    return found


def result(plan: Plan, partial: Partial, by: str | None) -> Aggregate | dict[Any, Aggregate]:
    """One aggregate if there is no grouping column (`by` is None), else one for each of its values, in order."""
    found = aggregates(plan, partial)
    if by is None:
        return found.get(None) or Aggregate(plan)
    return dict(sorted(found.items(), key=lambda entry: (entry[0] is None, entry[0])))
