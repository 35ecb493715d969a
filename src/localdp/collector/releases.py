"""Releases: readers see counts only after at least the minimum of reports has changed, in blocks of whole days.

Whoever may read can ask again and again, for any range of days, and subtract one answer from another. If every change
were shown at once, the difference of two answers would be one person's report. So:

- Counts that are new are kept apart from those that readers see. They are moved over when at least `minimum` reports
  were added or taken back since the last time, all of them at once.
- Days are released in *blocks*, which are fixed for ever. A day with at least `minimum` reports is a block. Days that
  are over and have fewer wait for others like them, until they have enough together. An answer is a sum of whole
  blocks, so two answers differ by blocks and by changes of blocks, and each of these is of `minimum` reports or more.
- The reports of a segment have blocks of their own, by the same rule. Days on which a segment had too few wait for
  other such days of it, for a week; then they are released together with those of other segments, as a *mixed* block,
  which belongs to no segment. The whole is the sum of all blocks, so the whole less all other segments is one, too.
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

MIXED = 1 << 40
"""Blocks of several segments have numbers from here on: the first of their days, and this."""
PATIENCE = 7
"""For so many days, a segment's days with few reports wait for others of the same segment."""
Cell = tuple[str, int]
"""A segment and a day."""


@dataclass(frozen=True)
class Change:
    """What is to be done with some cells of one standing: release them as a block, or withdraw the block."""

    standing: int
    block: int
    cells: tuple[Cell, ...]
    withdraws: bool = False


def due(rows: Iterable[Day], minimum: int, today: int) -> list[Change]:
    """The changes that are due, from the rows of one part."""
    found: list[Change] = []
    least = max(minimum, 1)
    for standing in (COUNTED, SUSPECT):
        own = [row for row in rows if row.standing == standing]
        new = {_cell(row): row for row in own if not row.released}
        for days in _blocks(own).values():
            changed = [new.pop(_cell(day)) for day in days if _cell(day) in new]
            if sum(day.changes for day in changed) >= least:
                left = sum(day.n for day in (*days, *changed))  # a block with none left gives nobody away, and stays
                found.append(Change(standing, _block(days[0]), tuple(map(_cell, days)), 0 < left < least))
        alone: dict[str, list[Day]] = defaultdict(list)  # cells with few reports, by segment
        for day in sorted(new.values(), key=lambda one: (one.day, one.segment)):
            few = alone[day.segment]
            if day.n >= least:
                found.append(Change(standing, day.day, (_cell(day),)))
            elif day.n > 0 and day.day < today:
                few.append(day)
                if sum(one.n for one in few) >= least:
                    found.append(Change(standing, few[0].day, tuple(map(_cell, few))))
                    few.clear()
        late = [day for few in alone.values() for day in few if few[0].day < today - PATIENCE]
        if len({day.segment for day in late}) > 1 and sum(day.n for day in late) >= least:
            late.sort(key=lambda one: (one.day, one.segment))
            found.append(Change(standing, MIXED + late[0].day, tuple(map(_cell, late))))
    return found


def whole_blocks(rows: Iterable[Day], first: int, last: int, standing: int) -> list[tuple[Day, ...]]:
    """The released blocks of one standing that lie in a range of days, in order."""
    blocks = _blocks(row for row in rows if row.standing == standing)
    # A block that reaches beyond the range is left out: cut in two, its parts could be of fewer than the minimum.
    inside = [tuple(days) for days in blocks.values() if all(first <= day.day <= last for day in days)]
    return sorted(inside, key=lambda days: (days[0].day, days[0].segment))


def segment_of(block: tuple[Day, ...]) -> str:
    """The segment that a block belongs to; an empty text for a mixed one, and for reports without a segment."""
    return "" if _block(block[0]) >= MIXED else block[0].segment


def block_of(row: Day) -> tuple[str, int]:
    """What identifies the block that a released row belongs to."""
    number = _block(row)
    return "" if number >= MIXED else row.segment, number


def by_days(blocks: Iterable[tuple[Day, ...]]) -> dict[tuple[int, ...], set[tuple[str, int]]]:
    """Blocks by their days, where those that share a day are taken together: what a history can be made from."""
    found: dict[tuple[int, ...], set[tuple[str, int]]] = {}
    for block in blocks:
        days, names = {row.day for row in block}, {block_of(block[0])}
        for other in [one for one in found if days & set(one)]:
            days |= set(other)
            names |= found.pop(other)
        found[tuple(sorted(days))] = names
    return dict(sorted(found.items()))


def _blocks(rows: Iterable[Day]) -> dict[tuple[str, int], list[Day]]:
    """The released rows by block."""
    blocks: dict[tuple[str, int], list[Day]] = defaultdict(list)
    for row in rows:
        if row.released:
            blocks[block_of(row)].append(row)
    return blocks


def _block(row: Day) -> int:
    return row.day if row.block is None else row.block


def _cell(row: Day) -> Cell:
    return row.segment, row.day


def release(database: Database, writer: Writer, collection: Collection) -> None:
    """Release what is due of a collection, one block at a time, so that uploads do not wait."""
    today = day_of(time.time())
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
    for segment, day in change.cells:
        place = where._replace(segment=segment)
        aggregates.move(session, place, day, change.standing, None if change.withdraws else change.block)
