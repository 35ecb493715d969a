"""The table of plans. A plan is never changed; it can only be closed.

The rounds of discoveries are in it as well, under the fingerprint of the round, with the number of their discovery.
"""

from __future__ import annotations

from dataclasses import dataclass

from localdp.collector.storage.database import Row, Session

SHORT = 16
"""The hexadecimal digits of a fingerprint that are enough to name a plan."""

_COLUMNS = "SELECT id, fingerprint, document, settings, created, closed, discovery FROM plans"


@dataclass(frozen=True)
class StoredPlan:
    """A row of the table. `document` and `settings` are JSON; `created` and `closed` are seconds since 1970."""

    id: int
    fingerprint: str
    document: str
    settings: str
    created: int
    closed: int | None
    discovery: int | None = None


def add(
    session: Session, fingerprint: str, document: str, settings: str, now: int, discovery: int | None = None
) -> StoredPlan | None:
    """Store a plan; None if one with this fingerprint, or one with the same beginning, is there."""
    rows = session.execute(
        "INSERT INTO plans (fingerprint, short, document, settings, created, discovery) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING RETURNING id",
        (fingerprint, fingerprint[:SHORT], document, settings, now, discovery),
    )
    return StoredPlan(rows[0][0], fingerprint, document, settings, now, None, discovery) if rows else None


def find(session: Session, name: str) -> StoredPlan | None:
    """The plan with this fingerprint, or with these first 16 digits of it."""
    column = "short" if len(name) == SHORT else "fingerprint"
    return _first(session.execute(f"{_COLUMNS} WHERE {column} = ?", (name,)))


def every(session: Session) -> list[tuple[int, str, int | None]]:
    """The id, the fingerprint and the moment of closing of every plan, the newest first."""
    rows = session.execute("SELECT id, fingerprint, closed FROM plans ORDER BY id DESC")
    return [(row[0], row[1], row[2]) for row in rows]


def closed_at(session: Session, plan: int) -> int | None:
    """When a plan was closed, by whichever collector; None if it is not."""
    moment: int | None = session.execute("SELECT closed FROM plans WHERE id = ?", (plan,))[0][0]
    return moment


def close(session: Session, plan: int, now: int) -> bool:
    """Close a plan; False if it was closed before."""
    return session.change("UPDATE plans SET closed = ? WHERE id = ? AND closed IS NULL", (now, plan)) == 1


def _first(rows: list[Row]) -> StoredPlan | None:
    return StoredPlan(*rows[0]) if rows else None
