"""The table of parts: what takes uploads. A plan has one, whose key is empty; other studies have one a round."""

from __future__ import annotations

from dataclasses import dataclass

from localdp.collector.storage.collections import SHORT
from localdp.collector.storage.database import Session, columns


@dataclass(frozen=True)
class StoredPart:
    """A row of the table. `plan` is JSON, and so is `document`, which is empty if devices fetch the plan itself.

    Uploads are known by the `fingerprint`. `needed` is how many reports the study waits for before it goes on, and
    `reports` and `suspect` how many it had then.
    """

    collection: int
    key: str
    number: int
    fingerprint: str
    plan: str
    document: str
    opened: int
    closed: int | None
    needed: int
    reports: int | None
    suspect: int | None


_COLUMNS = f"SELECT {columns(StoredPart)} FROM parts"  # noqa: S608 (names of ours)


def add(session: Session, part: StoredPart) -> bool:
    """Store a part; False if there is one with this fingerprint, or with one that begins alike."""
    rows = session.execute(
        "INSERT INTO parts (collection, key, number, fingerprint, short, plan, document, opened, needed) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING collection",
        (
            *(part.collection, part.key, part.number, part.fingerprint, part.fingerprint[:SHORT]),
            *(part.plan, part.document, part.opened, part.needed),
        ),
    )
    return bool(rows)


def find(session: Session, name: str) -> StoredPart | None:
    """The part with this fingerprint, or with these first 16 digits of it."""
    column = "short" if len(name) == SHORT else "fingerprint"
    rows = session.execute(f"{_COLUMNS} WHERE {column} = ?", (name,))
    return StoredPart(*rows[0]) if rows else None


def of(session: Session, collection: int) -> list[StoredPart]:
    """All parts of a collection, in order."""
    return [
        StoredPart(*row) for row in session.execute(f"{_COLUMNS} WHERE collection = ? ORDER BY number", (collection,))
    ]


def every(session: Session) -> list[tuple[int, str, str, int | None, str]]:
    """The collection, the key, the fingerprint, the moment of closing and the settings of every part, newest first."""
    rows = session.execute(
        "SELECT parts.collection, parts.key, parts.fingerprint, parts.closed, collections.settings "
        "FROM parts JOIN collections ON collections.id = parts.collection ORDER BY parts.collection DESC, parts.number"
    )
    return [(row[0], row[1], row[2], row[3], row[4]) for row in rows]


def filling(session: Session, collection: int, key: str) -> tuple[int, int]:
    """How many reports the study waits for in a part, and how many are there and not counted."""
    ((needed,),) = session.execute("SELECT needed FROM parts WHERE collection = ? AND key = ?", (collection, key))
    sql = "SELECT COALESCE(SUM(count), 0) FROM uploads WHERE collection = ? AND part = ? AND folded = 0"
    ((has,),) = session.execute(sql, (collection, key))
    return int(needed), int(has)


def close(session: Session, collection: int, key: str, now: int) -> bool:
    """Close a part; False if it was closed before."""
    sql = "UPDATE parts SET closed = ? WHERE collection = ? AND key = ? AND closed IS NULL"
    return session.change(sql, (now, collection, key)) == 1


def end(session: Session, collection: int, key: str, reports: int, suspect: int) -> None:
    """Note how many reports a part had, and how many of them look forged, and mark all its uploads as counted."""
    sql = "UPDATE parts SET reports = ?, suspect = ? WHERE collection = ? AND key = ?"
    session.change(sql, (reports, suspect, collection, key))
    sql = "UPDATE uploads SET folded = 1 WHERE collection = ? AND part = ? AND folded = 0"
    session.change(sql, (collection, key))
