"""Tokens: who may write, read or administer; everything, or one collection, and perhaps until some moment.

A token is 32 random bytes, shown once when it is made. The database has its SHA-256 only; a token has so much
randomness that a plain hash cannot be reversed. `admin` may do everything, `read` may read, `write` may upload.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import secrets
import threading
import time
from base64 import urlsafe_b64encode

from localdp.collector.problems import Problem, unauthorized
from localdp.collector.storage import Database, tokens
from localdp.collector.storage.tokens import StoredToken
from localdp.errors import InvalidInputError

SCOPES = ("write", "read", "admin")
BEGINNING = "ldp_"
_SHORTEST = 32  # characters; a plain hash protects only what cannot be guessed
_FEWEST = 8  # different characters
_NOTED_EVERY = 3_600.0  # seconds between two notes of a token's last use
_REMEMBERED = 1.0  # seconds for which a token that another collector revoked may still be taken


def new_token() -> str:
    return BEGINNING + urlsafe_b64encode(secrets.token_bytes(32)).rstrip(b"=").decode()


def digest_of(token: str) -> bytes:
    """What is stored of a token."""
    return hashlib.sha256(token.encode()).digest()


def checked_token(token: str) -> str:
    """A token that an operator chose; an error if it could not be sent, or if anybody could guess it."""
    if not re.fullmatch(r"[!-~]+", token) or len(token) < _SHORTEST:
        raise InvalidInputError(
            f"LOCALDP_ADMIN_TOKEN must be at least {_SHORTEST} visible ASCII characters without spaces; "
            "openssl rand -hex 32 makes a good one"
        )
    # A token of random hexadecimal digits fails this once in a million times.
    if len(set(token)) < _FEWEST or token in (token + token)[1:-1]:
        raise InvalidInputError(
            f"LOCALDP_ADMIN_TOKEN can be guessed: it repeats itself, or has fewer than {_FEWEST} different characters; "
            "openssl rand -hex 32 makes a good one"
        )
    return token


def check_limit(token: StoredToken, scope: str, collection: int | None) -> None:
    """A `Problem` if a token is for another collection than this one; None is none that a token could be for."""
    if token.collection is not None and token.collection != collection:
        raise _wrong(token, scope)


def _wrong(token: StoredToken, scope: str) -> Problem:
    where = "" if token.collection is None else ", for one study"
    return Problem(403, "wrong-scope", f"this needs the scope {scope}, and the token has {token.scope}{where}")


class Tokens:
    """The tokens that are valid, kept in memory for a second where several collectors share a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._valid: list[StoredToken] = []
        self._read_at = -math.inf
        self._changes = 0
        self._used: dict[int, float] = {}

    def forget(self) -> None:
        """Read the tokens anew at the next request. Called when the change is on the disk."""
        self._changes += 1
        self._read_at = -math.inf

    @property
    def fresh(self) -> bool:
        """Whether `check` answers without the database."""
        lasts = _REMEMBERED if self._database.shared else 1e12
        return time.monotonic() - self._read_at < lasts

    def newly_used(self, token: StoredToken) -> bool:
        """Whether the last use of a token that was noted is an hour ago. The caller notes it anew."""
        now = time.time()
        if now - self._used.get(token.id, token.used or 0) < _NOTED_EVERY:
            return False
        self._used[token.id] = now
        return True

    def check(self, authorization: str | None, scope: str) -> StoredToken:
        """The token in an Authorization header, if it is valid for this scope; otherwise a `Problem`, 401 or 403.

        A token may be for one collection only, which `check_limit` checks.
        """
        kind, _, token = (authorization or "").partition(" ")
        if kind.lower() != "bearer" or not token.strip():
            raise unauthorized(f"this needs a token with the scope {scope}: send it as Authorization: Bearer <token>")
        found = self._find(digest_of(token.strip()))
        if found is None:
            raise unauthorized("this token is not valid here: it is unknown, or it was revoked")
        if found.expires is not None and time.time() >= found.expires:
            raise unauthorized("this token has expired")
        if found.scope not in (scope, "admin"):
            raise _wrong(found, scope)
        return found

    def _find(self, digest: bytes) -> StoredToken | None:
        """The valid token with this digest. All are compared, each in constant time."""
        found = None
        for one in self._current():
            if hmac.compare_digest(one.digest, digest):
                found = one
        return found

    def _current(self) -> list[StoredToken]:
        if self.fresh:
            return self._valid
        with self._lock:
            read_at, changes = time.monotonic(), self._changes
            with self._database.reading() as session:
                valid = [one for one in tokens.every(session) if one.revoked is None]
            if changes == self._changes:  # otherwise they may have been read before the last change
                self._valid, self._read_at = valid, read_at
            return valid
