"""Releases: readers see counts only after at least the minimum of reports has changed, in blocks of whole days.

Whoever may read can ask again and again, for any range of days, and subtract one answer from another. If every change
were shown at once, the difference of two answers would be one person's report. So:

- Counts that are new are kept apart from those that readers see. They are moved over when at least `minimum` reports
  were added or taken back since the last time, all of them at once.
- Days are released in *blocks*, which are fixed for ever. A day with at least `minimum` reports is a block. Days that
  are over and have fewer wait for others like them, until they have enough together. An answer is a sum of whole
  blocks, so two answers differ by blocks and by changes of blocks, and each of these is of `minimum` reports or more.
- Reports that look forged are released by the same rule, apart from the others: an answer with them minus one without
  them is a sum of their blocks.
- A block that has fewer than `minimum` reports after some were taken back is withdrawn, until there are enough again.

At most `minimum` - 1 reports of a block wait, and so do those of thin days. The rule is about *reports*, which are
private by themselves; it adds that nobody who reads answers gets to see a single one. Whoever has the scope `admin` can
export all of them.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from localdp.collector.collections import Collection, day_of
from localdp.collector.storage import Database, aggregates
from localdp.collector.storage.aggregates import COUNTED, SUSPECT, Day
from localdp.collector.storage.database import FoldConflictError, Session, Where
from localdp.collector.writer import Writer


@dataclass(frozen=True)
class Change:
    """What is to be done with some days of one standing: release them as a block, or withdraw the block."""

    standing: int
    block: int
    days: tuple[int, ...]
    withdraws: bool = False


def due(rows: Iterable[Day], minimum: int, today: int) -> list[Change]:
    """The changes that are due, from the rows of one part and segment."""
    found: list[Change] = []
    least = max(minimum, 1)
    for standing in (COUNTED, SUSPECT):
        seen: dict[int, list[Day]] = defaultdict(list)  # what is released, by block
        new: dict[int, Day] = {}  # what is not released, by day
        for row in rows:
            if row.standing == standing and row.released:
                seen[row.day if row.block is None else row.block].append(row)
            elif row.standing == standing:
                new[row.day] = row
        for block, days in seen.items():
            changed = [new.pop(day.day) for day in days if day.day in new]
            if sum(day.changes for day in changed) >= least:
                left = sum(day.n for day in (*days, *changed))
                found.append(Change(standing, block, tuple(day.day for day in days), 0 < left < least))
        thin: list[Day] = []
        for day in sorted(new.values(), key=lambda one: one.day):
            if day.n >= least:
                found.append(Change(standing, day.day, (day.day,)))
            elif day.n > 0 and day.day < today:
                thin.append(day)
                if sum(one.n for one in thin) >= least:
                    found.append(Change(standing, thin[0].day, tuple(one.day for one in thin)))
                    thin = []
    return found


def whole_blocks(rows: Iterable[Day], first: int, last: int, standing: int) -> list[tuple[Day, ...]]:
    """The released blocks of one standing that lie in a range of days, in order."""
    blocks: dict[int, list[Day]] = defaultdict(list)
    for row in rows:
        if row.released and row.standing == standing:
            blocks[row.day if row.block is None else row.block].append(row)
    inside = [tuple(days) for days in blocks.values() if all(first <= day.day <= last for day in days)]
    return sorted(inside, key=lambda days: days[0].day)


def release(database: Database, writer: Writer, collection: Collection, now: float | None = None) -> None:
    """Release what is due of a collection, one block at a time, so that uploads do not wait."""
    today = day_of(time.time() if now is None else now)
    where, minimum = collection.where, collection.terms.minimum
    with database.reading() as session:
        changes = due(aggregates.days(session, where), minimum, today)
    for change in changes:
        # Between the look and the change more may have been counted, or released by another collector.
        writer.run(partial(_change, where=where, change=change, minimum=minimum, today=today))


def _change(session: Session, where: Where, change: Change, minimum: int, today: int) -> None:
    if not session.try_lock(where.collection):
        raise FoldConflictError("another collector counts or releases these reports")
    if change not in due(aggregates.days(session, where), minimum, today):
        return
    for day in change.days:
        aggregates.move(session, where, day, change.standing, None if change.withdraws else change.block)
