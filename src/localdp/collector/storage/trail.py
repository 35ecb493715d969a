"""The table of the trail: what administrators did, when, and with which token."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from localdp.collector.storage.database import Session, columns


@dataclass(frozen=True)
class Entry:
    """A row of the table: at this moment, the holder of a token did something to a collection, or to the collector.

    `collection` is the id of the collection, or empty. `detail` says what changed.
    """

    moment: int
    token: int
    who: str
    what: str
    collection: str
    detail: str


def add(session: Session, entry: Entry) -> None:
    session.change(f"INSERT INTO trail ({columns(Entry)}) VALUES (?, ?, ?, ?, ?, ?)", astuple(entry))  # noqa: S608


def newest(session: Session, most: int, collection: str | None = None) -> list[Entry]:
    """The newest entries, or those about one collection and the one that made it as a copy, the newest first."""
    found = f"SELECT {columns(Entry)} FROM trail WHERE collection = COALESCE(?, collection) OR detail = ?"  # noqa: S608
    values = (collection, f"made {collection}", most)
    return [Entry(*row) for row in session.execute(f"{found} ORDER BY seq DESC LIMIT ?", values)]


def forget_details(session: Session, collection: str) -> None:
    """Keep who did what to a collection, and drop what was in it: titles, for example."""
    session.change("UPDATE trail SET detail = '' WHERE collection = ?", (collection,))
