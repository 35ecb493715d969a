"""The table of tokens: their SHA-256, what they allow, and when they were revoked."""

from __future__ import annotations

from dataclasses import dataclass

from localdp.collector.storage.database import Session, columns


@dataclass(frozen=True)
class StoredToken:
    """A row of the table. With a `collection`, the token holds for that one only.

    From `expires` on it is not valid; `used` is when it was used last, to the hour.
    """

    id: int
    digest: bytes
    name: str
    scope: str
    collection: int | None
    created: int
    revoked: int | None = None
    expires: int | None = None
    used: int | None = None


def add(
    session: Session,
    digest: bytes,
    name: str,
    scope: str,
    collection: int | None,
    now: int,
    expires: int | None = None,
) -> StoredToken | None:
    """Store a token by its digest; None if it is there, or was there and is revoked."""
    rows = session.execute(
        "INSERT INTO tokens (digest, name, scope, collection, created, expires) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (digest) DO NOTHING RETURNING id",
        (digest, name, scope, collection, now, expires),
    )
    return StoredToken(rows[0][0], digest, name, scope, collection, now, None, expires) if rows else None


def every(session: Session) -> list[StoredToken]:
    """All tokens, those that are revoked too."""
    rows = session.execute(f"SELECT {columns(StoredToken)} FROM tokens ORDER BY id")  # noqa: S608 (names of ours)
    return [StoredToken(row[0], bytes(row[1]), *row[2:]) for row in rows]


def revoke(session: Session, token: int, now: int) -> bool:
    """Revoke a token; False if there is none with this id, or if it was revoked before."""
    return session.change("UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL", (now, token)) == 1


def keeps_an_admin(session: Session) -> bool:
    """Whether a token is left that can make others."""
    lasting = "scope = 'admin' AND revoked IS NULL AND expires IS NULL"
    return bool(session.execute(f"SELECT id FROM tokens WHERE {lasting} LIMIT 1"))  # noqa: S608


def use(session: Session, token: int, now: int) -> None:
    session.change("UPDATE tokens SET used = ? WHERE id = ?", (now, token))
