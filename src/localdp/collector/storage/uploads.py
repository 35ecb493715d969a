"""The table of uploads: what was sent, once for each part and upload id."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from localdp.collector.storage import usage
from localdp.collector.storage.database import AGGREGATE, BATCH, Database, NewUpload, Session, Where, columns

KEY_BYTES = 16
PIECE_BYTES = 8 << 20
"""Bytes of bodies that are read at once, about."""
_LISTED = 4_096  # uploads whose sizes are looked at before bodies are read


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


def delete_some(session: Session, collection: int, most: int) -> int:
    """Remove up to so many uploads of a collection; how many there were."""
    some = "SELECT seq FROM uploads WHERE collection = ? LIMIT ?"
    return session.change(f"DELETE FROM uploads WHERE seq IN ({some})", (collection, most))  # noqa: S608


def import_aggregate(session: Session, key: bytes, where: Where, day: int, count: int, body: bytes) -> bool:
    """Note that an aggregate was imported; False if this upload was there before."""
    rows = session.execute(
        "INSERT INTO uploads (key, collection, part, segment, day, kind, count, folded, body) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?) ON CONFLICT (key) DO NOTHING RETURNING seq",
        (key, *where, day, AGGREGATE, count, body),
    )
    return bool(rows)


@dataclass(frozen=True)
class Listed:
    """An upload without its body."""

    seq: int
    day: int
    segment: str
    kind: int
    count: int
    verdict: int
    standing: int
    folded: int


_LIST = f"SELECT {columns(Listed)} FROM uploads WHERE collection = ? AND part = ?"  # noqa: S608 (names of ours)


def listed(session: Session, where: Where, standing: int, after: int, most: int) -> list[Listed]:
    """Counted uploads of a part with this standing and numbers beyond `after`, in order."""
    aside = " AND (standing > 0 OR verdict > 0)" if standing else ""  # for the index
    sql = f"{_LIST} AND seq > ? AND standing = ? AND folded = 1{aside} ORDER BY seq LIMIT ?"
    rows = session.execute(sql, (where.collection, where.part, after, standing, most))
    return [Listed(*row) for row in rows]


def one(session: Session, where: Where, seq: int) -> Listed | None:
    """The upload with this number, if it belongs to this part."""
    rows = session.execute(f"{_LIST} AND seq = ?", (where.collection, where.part, seq))
    return Listed(*rows[0]) if rows else None


def body(session: Session, seq: int) -> bytes | None:
    """The body of the upload with this number; None if it was dropped."""
    ((data,),) = session.execute("SELECT body FROM uploads WHERE seq = ?", (seq,))
    return None if data is None else bytes(data)


def change_standing(session: Session, seq: int, before: int, after: int) -> bool:
    """Give an upload another standing; False if it does not have this one any more."""
    return session.change("UPDATE uploads SET standing = ? WHERE seq = ? AND standing = ?", (after, seq, before)) == 1


def judge(session: Session, seq: int, verdict: int, standing: int) -> None:
    """Keep with an upload how many of its reports look forged, and whether it is counted."""
    session.change("UPDATE uploads SET verdict = ?, standing = ? WHERE seq = ?", (verdict, standing, seq))


def drop_bodies(session: Session, before: int, most: int) -> int:
    """Drop the bodies of counted uploads of days before `before`, at most so many; return how many were dropped."""
    rows = session.execute(
        "SELECT seq, collection, day, LENGTH(body) FROM uploads "
        "WHERE folded = 1 AND body IS NOT NULL AND day < ? ORDER BY day, seq LIMIT ?",
        (before, most),
    )
    fewer: Counter[tuple[int, int]] = Counter()
    for seq, collection, day, size in rows:
        session.change("UPDATE uploads SET body = NULL WHERE seq = ?", (seq,))
        fewer[collection, day] += size
    for (collection, day), size in fewer.items():
        usage.drop(session, collection, day, size)
    return len(rows)


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
    database: Database,
    collection: int,
    part: str,
    days: tuple[int, int],
    kind: int = BATCH,
    most_bytes: int = PIECE_BYTES,
    *,
    only_waiting: bool = False,
) -> Iterator[list[Stored]]:
    """Yield the uploads of a part from day to day, in pieces of about so many bytes; or only those not counted yet.

    Each piece is a transaction of its own, so that a slow reader holds nothing up. What is stored in the meantime is
    left out.
    """
    waiting = " AND folded = 0" if only_waiting else ""  # there is an index for these
    here = f"collection = ? AND part = ? AND kind = ? AND day BETWEEN ? AND ?{waiting}"
    with database.reading() as session:
        ((last,),) = session.execute("SELECT COALESCE(MAX(seq), 0) FROM uploads")
    done = 0
    while True:
        with database.reading() as session:
            sizes = session.execute(
                f"SELECT seq, COALESCE(LENGTH(body), 0) FROM uploads WHERE seq > ? AND seq <= ? AND {here} "  # noqa: S608
                "ORDER BY seq LIMIT ?",
                (done, last, collection, part, kind, *days, _LISTED),
            )
            if not sizes:
                return
            end, taken = sizes[0][0], sizes[0][1]
            for seq, size in sizes[1:]:
                taken += size
                if taken > most_bytes:
                    break
                end = seq
            rows = session.execute(
                f"SELECT {columns(Stored)} FROM uploads WHERE seq > ? AND seq <= ? AND {here} ORDER BY seq",  # noqa: S608
                (done, end, collection, part, kind, *days),
            )
        done = end
        yield [
            Stored(row[0], row[1], row[2], row[3], row[4], None if row[5] is None else bytes(row[5])) for row in rows
        ]
