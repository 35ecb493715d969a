"""The table of tokens: their SHA-256, what they allow, and when they were revoked."""

from __future__ import annotations

from dataclasses import dataclass

from localdp.collector.storage.database import Session


@dataclass(frozen=True)
class StoredToken:
    """A row of the table. With a `collection`, the token holds for uploads to it only."""

    id: int
    digest: bytes
    name: str
    scope: str
    collection: int | None
    created: int
    revoked: int | None


def add(session: Session, digest: bytes, name: str, scope: str, collection: int | None, now: int) -> StoredToken | None:
    """Store a token by its digest; None if it is there, or was there and is revoked."""
    rows = session.execute(
        "INSERT INTO tokens (digest, name, scope, collection, created) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (digest) DO NOTHING RETURNING id",
        (digest, name, scope, collection, now),
    )
    return StoredToken(rows[0][0], digest, name, scope, collection, now, None) if rows else None


def every(session: Session) -> list[StoredToken]:
    """All tokens, those that are revoked too."""
    rows = session.execute("SELECT id, digest, name, scope, collection, created, revoked FROM tokens ORDER BY id")
    return [StoredToken(row[0], bytes(row[1]), *row[2:]) for row in rows]


def revoke(session: Session, token: int, now: int) -> bool:
    """Revoke a token; False if there is none with this id, or if it was revoked before."""
    return session.change("UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL", (now, token)) == 1


def keeps_an_admin(session: Session) -> bool:
    """Whether a token is left that can make others."""
    return bool(session.execute("SELECT id FROM tokens WHERE scope = 'admin' AND revoked IS NULL LIMIT 1"))
