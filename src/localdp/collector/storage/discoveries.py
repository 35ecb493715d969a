"""The tables of discoveries and of their rounds. The state of a discovery changes by one round at a time."""

from __future__ import annotations

from dataclasses import dataclass

from localdp.collector.storage.database import Session
from localdp.collector.storage.plans import SHORT

_COLUMNS = "SELECT id, fingerprint, document, settings, state, round, created, done FROM discoveries"


@dataclass(frozen=True)
class StoredDiscovery:
    """A row of the table. `document` and `settings` are JSON, `state` is what the library saves."""

    id: int
    fingerprint: str
    document: str
    settings: str
    state: str
    round: int
    created: int
    done: int | None


@dataclass(frozen=True)
class StoredRound:
    """A round: its number, its plan, the reports it needs, and how many it had when it was over."""

    number: int
    plan: int
    document: str
    needed: int
    reports: int | None
    suspect: int | None


def add(session: Session, fingerprint: str, document: str, settings: str, state: str, now: int) -> int | None:
    """Store a discovery, and return its number; None if it is there, or one whose fingerprint begins alike."""
    rows = session.execute(
        "INSERT INTO discoveries (fingerprint, short, document, settings, state, round, created) "
        "VALUES (?, ?, ?, ?, ?, 0, ?) ON CONFLICT DO NOTHING RETURNING id",
        (fingerprint, fingerprint[:SHORT], document, settings, state, now),
    )
    return rows[0][0] if rows else None


def version(session: Session, name: str) -> tuple[str, int, int | None] | None:
    """The fingerprint, the round and the end of the discovery with this fingerprint, or with these first 16 digits."""
    column = "short" if len(name) == SHORT else "fingerprint"
    rows = session.execute(f"SELECT fingerprint, round, done FROM discoveries WHERE {column} = ?", (name,))  # noqa: S608
    return (rows[0][0], rows[0][1], rows[0][2]) if rows else None


def read(session: Session, fingerprint: str) -> StoredDiscovery:
    """The discovery with this fingerprint, which there must be."""
    (row,) = session.execute(f"{_COLUMNS} WHERE fingerprint = ?", (fingerprint,))
    return StoredDiscovery(*row)


def every(session: Session) -> list[str]:
    """The fingerprints of all discoveries, the newest first."""
    return [row[0] for row in session.execute("SELECT fingerprint FROM discoveries ORDER BY id DESC")]


def under_way(session: Session) -> list[str]:
    """The fingerprints of those that are not done."""
    return [row[0] for row in session.execute("SELECT fingerprint FROM discoveries WHERE done IS NULL ORDER BY id")]


def move_on(session: Session, discovery: int, number: int, state: str, following: int, done: int | None) -> bool:
    """Replace the state that belongs to round `number`; False if another collector has done so before."""
    sql = "UPDATE discoveries SET state = ?, round = ?, done = ? WHERE id = ? AND round = ? AND done IS NULL"
    return session.change(sql, (state, following, done, discovery, number)) == 1


def add_round(session: Session, discovery: int, number: int, plan: int, document: str, needed: int) -> None:
    """Store the round that begins now."""
    session.change(
        "INSERT INTO rounds (discovery, number, plan, document, needed) VALUES (?, ?, ?, ?, ?)",
        (discovery, number, plan, document, needed),
    )


def end_round(session: Session, discovery: int, number: int, reports: int, suspect: int) -> None:
    """Note how many reports a round had, and how many of them look forged."""
    sql = "UPDATE rounds SET reports = ?, suspect = ? WHERE discovery = ? AND number = ?"
    session.change(sql, (reports, suspect, discovery, number))


def rounds(session: Session, discovery: int) -> list[StoredRound]:
    """All rounds so far, in order."""
    sql = "SELECT number, plan, document, needed, reports, suspect FROM rounds WHERE discovery = ? ORDER BY number"
    return [StoredRound(*row) for row in session.execute(sql, (discovery,))]


def mark_counted(session: Session, plan: int) -> None:
    """Mark all uploads of a round as counted."""
    session.change("UPDATE uploads SET folded = 1 WHERE plan = ? AND folded = 0", (plan,))
