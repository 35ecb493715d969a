"""The tables of wordings: what people read of a collection before it was corrected, and how many read which.

The wording in force, and its version, are in the settings of the collection. Reports are counted by version, part and
day; nothing ties a single upload to what was read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from localdp.collector.storage.database import NewUpload, Session


def keep(session: Session, collection: int, version: int, words: str, now: int) -> None:
    """Keep the words that were in force until now."""
    sql = "INSERT INTO wordings (collection, version, until, words) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
    session.change(sql, (collection, version, now, words))


def replaced(session: Session, collection: int) -> list[tuple[int, int, str]]:
    """The versions that were replaced: the version, until when it was in force, and its words, the oldest first."""
    sql = "SELECT version, until, words FROM wordings WHERE collection = ? ORDER BY version"
    return [(row[0], row[1], row[2]) for row in session.execute(sql, (collection,))]


def count(session: Session, uploads: Iterable[NewUpload]) -> None:
    """Count the reports of uploads by what their people were shown."""
    read: Counter[tuple[int, str, int, int]] = Counter()
    for one in uploads:
        read[one.collection, one.part, one.day, one.wording] += one.reports
    for where, reports in sorted(read.items()):
        session.change(
            "INSERT INTO shown (collection, part, day, version, reports) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (collection, part, day, version) DO UPDATE SET reports = shown.reports + excluded.reports",
            (*where, reports),
        )


def shown(session: Session, collection: int) -> list[tuple[str, int, int, int]]:
    """The part, the day, the version and the number of reports whose devices told the version."""
    sql = "SELECT part, day, version, reports FROM shown WHERE collection = ? ORDER BY day, version, part"
    return [(row[0], row[1], row[2], row[3]) for row in session.execute(sql, (collection,))]
