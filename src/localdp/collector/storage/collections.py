"""The table of collections. A collection holds a study; its parts, which take the uploads, have a table of their own.

What is asked never changes. The state of its study does, it can be closed and opened again, and its words corrected.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from localdp.collector.storage.database import Session, columns

SHORT = 16
"""The hexadecimal digits of a fingerprint that are enough to name a plan, a study or a part."""

PLAN, DISCOVERY = "plan", "discovery"
"""The kinds of studies that have routes of their own beside those of all studies."""

_OF_A_COLLECTION = (
    "aggregates", "parts", "sources", "usage", "tokens", "wordings", "shown", "publications", "published", "happened",
)  # fmt: skip


@dataclass(frozen=True)
class StoredCollection:
    """A row of the table. `name` is its id for people; `form`, `settings` and `state` are JSON, or empty.

    `step` grows with every change of the state. `created` and `closed` are seconds since 1970.
    """

    id: int
    name: str
    kind: str
    fingerprint: str
    form: str
    settings: str
    state: str
    step: int
    created: int
    closed: int | None


_COLUMNS = f"SELECT {columns(StoredCollection)} FROM collections"  # noqa: S608 (names of ours)


def new_name() -> str:
    """A new id for people. It is no secret, and cannot be taken for a fingerprint."""
    return "c" + secrets.token_hex(10)


def add(
    session: Session, kind: str, fingerprint: str, settings: str, now: int, form: str = "", state: str = ""
) -> StoredCollection | None:
    """Store a collection; None if there is one with this fingerprint, or with one that begins alike."""
    name = new_name()
    rows = session.execute(
        "INSERT INTO collections (name, kind, fingerprint, short, form, settings, state, step, created) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?) ON CONFLICT DO NOTHING RETURNING id",
        (name, kind, fingerprint, fingerprint[:SHORT], form, settings, state, now),
    )
    if not rows:
        return None
    return StoredCollection(rows[0][0], name, kind, fingerprint, form, settings, state, 0, now, None)


def find(session: Session, name: str) -> StoredCollection | None:
    """The collection with this id, this fingerprint, or these first 16 digits of a fingerprint."""
    rows = session.execute(f"{_COLUMNS} WHERE {_column(name)} = ?", (name,))
    return StoredCollection(*rows[0]) if rows else None


def by_id(session: Session, collection: int) -> StoredCollection:
    """The collection with this number, which there must be."""
    (row,) = session.execute(f"{_COLUMNS} WHERE id = ?", (collection,))
    return StoredCollection(*row)


def version(session: Session, name: str) -> tuple[str, int, int | None] | None:
    """The fingerprint, the step and the end of a collection, without its long texts."""
    sql = f"SELECT fingerprint, step, closed FROM collections WHERE {_column(name)} = ?"  # noqa: S608
    rows = session.execute(sql, (name,))
    return (rows[0][0], rows[0][1], rows[0][2]) if rows else None


def every(session: Session, kind: str | None = None) -> list[str]:
    """The fingerprints of all collections, or of those whose study is of this kind, the newest first."""
    sql = "SELECT fingerprint FROM collections WHERE kind = COALESCE(?, kind) ORDER BY id DESC"
    return [row[0] for row in session.execute(sql, (kind,))]


def settings_of(session: Session) -> list[tuple[str, str]]:
    """The id and the settings of every collection."""
    return [(row[0], row[1]) for row in session.execute("SELECT name, settings FROM collections ORDER BY id")]


def going_on(session: Session) -> list[str]:
    """The fingerprints of the collections that wait for the reports of a part, the oldest first."""
    rows = session.execute(
        "SELECT fingerprint FROM collections WHERE closed IS NULL AND id IN "
        "(SELECT collection FROM parts WHERE needed > 0 AND reports IS NULL) ORDER BY id"
    )
    return [row[0] for row in rows]


def move_on(session: Session, collection: int, step: int, state: str, closed: int | None) -> bool:
    """Replace the state that belongs to this step; False if another collector has done so, or has closed it."""
    sql = "UPDATE collections SET state = ?, step = step + 1, closed = ? WHERE id = ? AND step = ? AND closed IS NULL"
    return session.change(sql, (state, closed, collection, step)) == 1


def close(session: Session, collection: int, now: int) -> bool:
    """Close a collection and all its parts; False if it was closed before."""
    session.change("UPDATE parts SET closed = ? WHERE collection = ? AND closed IS NULL", (now, collection))
    return session.change("UPDATE collections SET closed = ? WHERE id = ? AND closed IS NULL", (now, collection)) == 1


def reopen(session: Session, collection: int) -> bool:
    """Open a collection again, and the parts that were closed with it; False if it is not closed."""
    together = "closed = (SELECT closed FROM collections WHERE id = ?)"
    session.change(f"UPDATE parts SET closed = NULL WHERE collection = ? AND {together}", (collection, collection))  # noqa: S608
    return (
        session.change("UPDATE collections SET closed = NULL WHERE id = ? AND closed IS NOT NULL", (collection,)) == 1
    )


def correct(session: Session, collection: int, settings: str) -> None:
    """Replace the settings. The step grows, so that whoever remembers the old ones notices."""
    session.change("UPDATE collections SET settings = ?, step = step + 1 WHERE id = ?", (settings, collection))


def delete(session: Session, collection: int) -> None:
    """Remove a collection and everything that belongs to it, but its uploads."""
    for table in _OF_A_COLLECTION:
        session.change(f"DELETE FROM {table} WHERE collection = ?", (collection,))  # noqa: S608 (names of ours)
    session.change("DELETE FROM collections WHERE id = ?", (collection,))


def closed_at(session: Session, collection: int) -> int | None:
    """When a collection was closed, by whichever collector; None if it is not."""
    moment: int | None = session.execute("SELECT closed FROM collections WHERE id = ?", (collection,))[0][0]
    return moment


def _column(name: str) -> str:
    """The column in which a name is looked for."""
    return "name" if name.startswith("c") and len(name) == 21 else "short" if len(name) == SHORT else "fingerprint"
