"""The table of uploads: what was sent, once for each plan and upload id."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from localdp.collector.storage.database import AGGREGATE, BATCH, Database, NewUpload, Session

KEY_BYTES = 16


def key_of(fingerprint: bytes, upload_id: bytes) -> bytes:
    """What identifies an upload: a digest of the plan's fingerprint and the upload id.

    The upload id itself is not stored, so a copy of the database does not tell which ids are in use.
    """
    return hashlib.sha256(fingerprint + upload_id).digest()[:KEY_BYTES]


def store(session: Session, uploads: Sequence[NewUpload]) -> list[bool | None]:
    """Store a group of uploads; for each, whether it was new, or None if its plan is closed.

    The first of several uploads with one key is stored, and the others count as sent again.
    """
    still_open = session.open_plans(sorted({upload.plan for upload in uploads}))
    first: dict[bytes, int] = {}
    for place, upload in enumerate(uploads):
        if upload.plan in still_open:
            first.setdefault(upload.key, place)
    new = session.insert_uploads([uploads[place] for place in first.values()]) if first else set()
    return [
        None if upload.plan not in still_open else upload.key in new and first[upload.key] == place
        for place, upload in enumerate(uploads)
    ]


def plans_waiting(session: Session) -> list[int]:
    """The plans that have uploads which are not counted yet."""
    return [row[0] for row in session.execute("SELECT DISTINCT plan FROM uploads WHERE folded = 0 ORDER BY plan")]


def number_waiting(session: Session, plan: int) -> tuple[int, int]:
    """The number of a plan's uploads that are not counted yet, and of the reports in them."""
    sql = "SELECT COUNT(*), COALESCE(SUM(count), 0) FROM uploads WHERE plan = ? AND folded = 0"
    ((uploads, reports),) = session.execute(sql, (plan,))
    return int(uploads), int(reports)


def import_aggregate(session: Session, key: bytes, plan: int, day: int, count: int, body: bytes) -> bool:
    """Note that an aggregate was imported; False if this upload was there before."""
    rows = session.execute(
        "INSERT INTO uploads (key, plan, day, kind, count, folded, body) VALUES (?, ?, ?, ?, ?, 1, ?) "
        "ON CONFLICT (key) DO NOTHING RETURNING seq",
        (key, plan, day, AGGREGATE, count, body),
    )
    return bool(rows)


def drop_bodies(session: Session, before: int, most: int) -> int:
    """Drop the bodies of counted uploads of days before `before`, at most so many; return how many were dropped."""
    return session.change(
        "UPDATE uploads SET body = NULL WHERE seq IN "
        "(SELECT seq FROM uploads WHERE folded = 1 AND body IS NOT NULL AND day < ? ORDER BY seq LIMIT ?)",
        (before, most),
    )


def stored(
    database: Database, plan: int, days: tuple[int, int], kind: int = BATCH, piece: int = 1000
) -> Iterator[list[tuple[int, int, bytes | None]]]:
    """Yield day, count and body of a plan's uploads from day to day, in pieces; a dropped body is None.

    Each piece is a transaction of its own, so that a slow reader holds nothing up. What is stored in the meantime is
    left out.
    """
    columns = "SELECT seq, day, count, body FROM uploads"
    with database.reading() as session:
        ((last,),) = session.execute("SELECT COALESCE(MAX(seq), 0) FROM uploads")
    done = 0
    while True:
        with database.reading() as session:
            rows = session.execute(
                f"{columns} WHERE seq > ? AND seq <= ? AND plan = ? AND kind = ? AND day BETWEEN ? AND ? "
                "ORDER BY seq LIMIT ?",
                (done, last, plan, kind, *days, piece),
            )
        if not rows:
            return
        done = rows[-1][0]
        yield [(row[1], row[2], None if row[3] is None else bytes(row[3])) for row in rows]
