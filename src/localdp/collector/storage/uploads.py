"""The table of uploads: what was sent, once for each part and upload id."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from localdp.collector.storage.database import AGGREGATE, BATCH, Database, NewUpload, Session, Where

KEY_BYTES = 16


def key_of(fingerprint: bytes, upload_id: bytes) -> bytes:
    """What identifies an upload: a digest of the part's fingerprint and the upload id.

    The upload id itself is not stored, so a copy of the database does not tell which ids are in use.
    """
    return hashlib.sha256(fingerprint + upload_id).digest()[:KEY_BYTES]


def store(session: Session, uploads: Sequence[NewUpload]) -> list[bool | None]:
    """Store a group of uploads; for each, whether it was new, or None if its part is closed.

    The first of several uploads with one key is stored, and the others count as sent again.
    """
    still_open = session.open_parts(sorted({(upload.collection, upload.part) for upload in uploads}))
    first: dict[bytes, int] = {}
    for place, upload in enumerate(uploads):
        if (upload.collection, upload.part) in still_open:
            first.setdefault(upload.key, place)
    new = session.insert_uploads([uploads[place] for place in first.values()]) if first else set()
    return [
        upload.key in new and first[upload.key] == place if (upload.collection, upload.part) in still_open else None
        for place, upload in enumerate(uploads)
    ]


def parts_waiting(session: Session) -> list[tuple[int, str]]:
    """The parts, by collection and key, that have uploads which are not counted yet."""
    sql = "SELECT DISTINCT collection, part FROM uploads WHERE folded = 0 ORDER BY collection, part"
    return [(row[0], row[1]) for row in session.execute(sql)]


def number_waiting(session: Session, collection: int, part: str = "") -> tuple[int, int]:
    """The number of a part's uploads that are not counted yet, and of the reports in them."""
    sql = "SELECT COUNT(*), COALESCE(SUM(count), 0) FROM uploads WHERE collection = ? AND part = ? AND folded = 0"
    ((uploads, reports),) = session.execute(sql, (collection, part))
    return int(uploads), int(reports)


def import_aggregate(session: Session, key: bytes, where: Where, day: int, count: int, body: bytes) -> bool:
    """Note that an aggregate was imported; False if this upload was there before."""
    rows = session.execute(
        "INSERT INTO uploads (key, collection, part, segment, day, kind, count, folded, body) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?) ON CONFLICT (key) DO NOTHING RETURNING seq",
        (key, *where, day, AGGREGATE, count, body),
    )
    return bool(rows)


def drop_bodies(session: Session, before: int, most: int) -> int:
    """Drop the bodies of counted uploads of days before `before`, at most so many; return how many were dropped."""
    return session.change(
        "UPDATE uploads SET body = NULL WHERE seq IN "
        "(SELECT seq FROM uploads WHERE folded = 1 AND body IS NOT NULL AND day < ? ORDER BY seq LIMIT ?)",
        (before, most),
    )


@dataclass(frozen=True)
class Stored:
    """An upload that is stored. A dropped body is None."""

    seq: int
    day: int
    segment: str
    standing: int
    count: int
    body: bytes | None


def stored(
    database: Database, collection: int, part: str, days: tuple[int, int], kind: int = BATCH, piece: int = 1000
) -> Iterator[list[Stored]]:
    """Yield the uploads of a part from day to day, in pieces.

    Each piece is a transaction of its own, so that a slow reader holds nothing up. What is stored in the meantime is
    left out.
    """
    columns = "SELECT seq, day, segment, standing, count, body FROM uploads"
    with database.reading() as session:
        ((last,),) = session.execute("SELECT COALESCE(MAX(seq), 0) FROM uploads")
    done = 0
    while True:
        with database.reading() as session:
            rows = session.execute(
                f"{columns} WHERE seq > ? AND seq <= ? AND collection = ? AND part = ? AND kind = ? "
                "AND day BETWEEN ? AND ? ORDER BY seq LIMIT ?",
                (done, last, collection, part, kind, *days, piece),
            )
        if not rows:
            return
        done = rows[-1][0]
        yield [
            Stored(row[0], row[1], row[2], row[3], row[4], None if row[5] is None else bytes(row[5])) for row in rows
        ]
