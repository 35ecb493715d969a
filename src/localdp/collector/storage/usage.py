"""The table of usage: the bytes of uploads by collection and day, for quotas."""

from __future__ import annotations

import secrets
import time

from localdp.collector.storage.database import Session

_SLOT = secrets.randbelow(16)  # collectors that share a database seldom write to the same row
_DAY = 86_400
_RECENT = 2  # days whose bytes are of interest one by one


def add(session: Session, collection: int, day: int, more: int) -> None:
    """Add bytes that were stored."""
    session.change(
        "INSERT INTO usage (collection, day, slot, taken, kept) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (collection, day, slot) DO UPDATE "
        "SET taken = usage.taken + excluded.taken, kept = usage.kept + excluded.kept",
        (collection, day, _SLOT, more, more),
    )


def drop(session: Session, collection: int, day: int, fewer: int) -> None:
    """Take away the bytes of bodies that were dropped."""
    session.change(
        "INSERT INTO usage (collection, day, slot, taken, kept) VALUES (?, ?, ?, 0, ?) "
        "ON CONFLICT (collection, day, slot) DO UPDATE SET kept = usage.kept + excluded.kept",
        (collection, day, _SLOT, -fewer),
    )


def by_day(session: Session) -> dict[tuple[int, int], int]:
    """The bytes that came on each of the last days, by collection and day."""
    first = int(time.time() // _DAY) - _RECENT
    sql = "SELECT collection, day, SUM(taken) FROM usage WHERE day >= ? GROUP BY collection, day"
    return {(row[0], row[1]): int(row[2]) for row in session.execute(sql, (first,))}


def kept(session: Session) -> dict[int, int]:
    """The bytes that are kept of each collection."""
    return {
        row[0]: int(row[1]) for row in session.execute("SELECT collection, SUM(kept) FROM usage GROUP BY collection")
    }
