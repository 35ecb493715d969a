"""The tables of what is published: the latest estimates of every study, and what has happened.

Two views are for those who read by SQL: `latest_estimates`, and `events`. They hold what anybody with the scope `read`
is told, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from localdp.collector.fields import FLAT_COLUMNS
from localdp.collector.storage.database import Session, columns

Line = tuple[str, str, *tuple[float | None, ...]]
"""The name of a table, an item, and the numbers."""
_ROWS = 200  # in one statement


@dataclass(frozen=True)
class Publication:
    """What was published of a collection: when, of how many reports, and what people read beside it.

    `digest` identifies the rows, and `week` is the last week that was compared with the one before it.
    """

    collection: int
    moment: str
    n: int
    title: str
    question: str
    survey: str
    notes: str
    digest: str
    week: int


@dataclass(frozen=True)
class Event:
    """Something that happened to a collection, which `study` is the id of."""

    seq: int
    moment: int
    study: str
    kind: str
    sentence: str


def find(session: Session, collection: int) -> Publication | None:
    """What is published of a collection, without the rows."""
    sql = f"SELECT {columns(Publication)} FROM publications WHERE collection = ?"  # noqa: S608 (names of ours)
    rows = session.execute(sql, (collection,))
    return Publication(*rows[0]) if rows else None


def withdraw(session: Session, collection: int) -> None:
    """Remove what is published of a collection."""
    for table in ("publications", "published"):
        session.change(f"DELETE FROM {table} WHERE collection = ?", (collection,))  # noqa: S608 (names of ours)


def publish(session: Session, publication: Publication, lines: Sequence[Line]) -> None:
    """Put this in the place of what is published of a collection."""
    withdraw(session, publication.collection)
    row = astuple(publication)
    sql = f"INSERT INTO publications ({columns(Publication)}) VALUES ({', '.join('?' * len(row))})"  # noqa: S608
    session.change(sql, row)
    names = ", ".join(("collection", "place", "part", "item", *FLAT_COLUMNS))
    marks = f"({', '.join('?' * (4 + len(FLAT_COLUMNS)))})"
    for start in range(0, len(lines), _ROWS):
        piece = lines[start : start + _ROWS]
        values: list[Any] = [
            value for place, line in enumerate(piece, start) for value in (publication.collection, place, *line)
        ]
        rows = ", ".join([marks] * len(piece))
        session.change(f"INSERT INTO published ({names}) VALUES {rows}", values)  # noqa: S608 (names of ours)


def compared(session: Session, collection: int, week: int) -> None:
    """Note that a week was compared with the one before it."""
    session.change("UPDATE publications SET week = ? WHERE collection = ?", (week, collection))


def happened(session: Session, collection: int, moment: int, kind: str, sentence: str) -> None:
    sql = "INSERT INTO happened (collection, moment, kind, sentence) VALUES (?, ?, ?, ?)"
    session.change(sql, (collection, moment, kind, sentence))


def events(session: Session, after: int, most: int) -> list[Event]:
    """What has happened after the event with this number, the newest first.

    If there is more, whoever has seen some events gets those that follow them, and misses none by asking again.
    """
    rows = session.execute(
        "SELECT happened.seq, happened.moment, collections.name, happened.kind, sentence FROM happened "
        "JOIN collections ON collections.id = happened.collection WHERE happened.seq > ? "
        "ORDER BY happened.seq * ? LIMIT ?",
        (after, 1 if after else -1, most),
    )
    return sorted((Event(*row) for row in rows), key=lambda one: -one.seq)
