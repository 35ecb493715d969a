"""The table of aggregates: counts by collection, part, segment and UTC day.

Uploads that look forged, and those that were taken back, are counted in rows of their own (`standing`), so that they
can be left out or added. What readers have not seen yet is in rows of its own too (`released` 0).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from localdp.collector.storage.database import Session, Where
from localdp.types import Counts

COUNTED, SUSPECT, TAKEN_BACK = 0, 1, 2
"""The standings of an upload: counted, set aside because it looks forged, or taken back by an administrator."""

_ROW = "collection = ? AND part = ? AND segment = ? AND day = ? AND standing = ? AND released = ?"
_COLUMNS = "SELECT day, standing, released, block, n, suspect, changes, version, segment FROM aggregates"


@dataclass(frozen=True)
class Day:
    """A row of the table without its counts. The version changes whenever the counts do.

    `suspect` of the n reports look forged and are counted all the same, as was done once. `changes` is how many
    reports were added or removed since the last release, and `block` names what is released together.
    """

    day: int
    standing: int
    released: bool
    block: int | None
    n: int
    suspect: int
    changes: int
    version: int
    segment: str = ""


def add(
    session: Session, where: Where, day: int, n: int, counts: Counts, suspect: int = 0, standing: int = COUNTED
) -> None:
    """Add counts to those of a day that are not released yet; negative ones are taken away.

    `suspect` of the n reports look forged.
    """
    row = (*where, day, standing, 0)
    session.execute(
        "INSERT INTO aggregates (collection, part, segment, day, standing, released, n, suspect, changes, version, "
        "counts) VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?) ON CONFLICT DO NOTHING",
        (*row, b""),
    )
    # First the number, which locks the row against other collectors, then what depends on it.
    session.change(
        f"UPDATE aggregates SET n = n + ?, suspect = suspect + ?, changes = changes + ?, version = version + 1 WHERE {_ROW}",  # noqa: S608, E501
        (n, suspect, abs(n), *row),
    )
    total = _counts(session, row, counts.size) + counts
    session.change(f"UPDATE aggregates SET counts = ? WHERE {_ROW}", (total.astype("<i8").tobytes(), *row))  # noqa: S608


def move(session: Session, where: Where, day: int, standing: int, block: int | None) -> None:
    """Let readers see all counts of a day, in this block; without a block, none of them any more."""
    source, target = (0, 1) if block is not None else (1, 0)
    key = (*where, day, standing)
    rows = session.execute(f"SELECT n, suspect, version, LENGTH(counts) FROM aggregates WHERE {_ROW}", (*key, source))  # noqa: S608
    if not rows:
        return
    ((n, suspect, version, size),) = rows
    changes = 0 if block is not None else n
    if not session.execute(f"SELECT n FROM aggregates WHERE {_ROW}", (*key, target)):  # noqa: S608
        sql = f"UPDATE aggregates SET released = ?, block = ?, changes = ?, version = version + 1 WHERE {_ROW}"  # noqa: S608
        session.change(sql, (target, block, changes, *key, source))
        return
    total = sum(_counts(session, (*key, kind), int(size) // 8) for kind in (0, 1))
    session.change(
        f"UPDATE aggregates SET n = n + ?, suspect = suspect + ?, changes = changes + ?, counts = ?, block = ?, version = version + ? + 1 WHERE {_ROW}",  # noqa: S608, E501
        (n, suspect, changes, np.asarray(total).astype("<i8").tobytes(), block, version, *key, target),
    )
    session.change(f"DELETE FROM aggregates WHERE {_ROW}", (*key, source))  # noqa: S608


def days(session: Session, where: Where) -> list[Day]:
    """The rows that there are of all segments, by day."""
    sql = f"{_COLUMNS} WHERE collection = ? AND part = ? ORDER BY day, segment, standing, released"
    found = session.execute(sql, (where.collection, where.part))
    return [Day(row[0], row[1], bool(row[2]), *row[3:]) for row in found]


def merged(session: Session, where: Where, of: Iterable[Day], size: int) -> tuple[int, Counts]:
    """The number of users and the counts of these rows together."""
    n, counts = 0, np.zeros(size, np.int64)
    for one in of:
        n += one.n
        place = (where.collection, where.part, one.segment)
        counts += _counts(session, (*place, one.day, one.standing, int(one.released)), size)
    return n, counts


def claim_sources(session: Session, collection: int, sources: Iterable[str]) -> bool:
    """Note what an imported aggregate was made from; False if something of it was counted before."""
    sql = "INSERT INTO sources (collection, source) VALUES (?, ?) ON CONFLICT DO NOTHING"
    return all(session.change(sql, (collection, source)) for source in sorted(sources))


def _counts(session: Session, row: tuple[int, str, str, int, int, int], size: int) -> Counts:
    ((data,),) = session.execute(f"SELECT counts FROM aggregates WHERE {_ROW}", row)  # noqa: S608
    return np.frombuffer(bytes(data), "<i8").astype(np.int64) if data else np.zeros(size, np.int64)
