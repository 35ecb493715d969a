"""A file of SQLite, in the mode of a write-ahead log (WAL): one writer, and readers that never wait for it.

`synchronous = FULL` makes a commit wait until the disk has the log. Many rows go into one statement, and many come out
as one row: Python gives its global lock away at each row, and a busy server would make us wait for it every time.
"""

from __future__ import annotations

import importlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from localdp.collector.storage import schema
from localdp.collector.storage.database import (
    BATCH,
    Database,
    DayOfUploads,
    Gathered,
    NewUpload,
    Row,
    Session,
    StorageError,
    StorageFullError,
)
from localdp.errors import InvalidInputError
from localdp.types import Counts

fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" else None
_WAIT = 10.0  # seconds for another process to finish its transaction
_LARGEST_STEP = 256  # rows in one statement
_LAST = """
SELECT MAX(CASE WHEN place = 1 OR (place <= ?3 AND running <= ?4) THEN seq END), COUNT(*)
FROM (
    SELECT seq, ROW_NUMBER() OVER (ORDER BY seq) AS place, SUM(count) OVER (ORDER BY seq) AS running
    FROM (
        SELECT seq, count FROM uploads WHERE collection = ?1 AND part = ?5 AND folded = 0 ORDER BY seq LIMIT ?2
    )
)
"""
_ROWS = """
SELECT day, segment, group_concat(seq), group_concat(count), group_concat(hex(body), '')
FROM (
    SELECT seq, day, segment, count, body FROM uploads
    WHERE collection = ? AND part = ? AND folded = 0 AND seq <= ? ORDER BY seq
)
GROUP BY day, segment ORDER BY day, segment
"""
WORDS = {"serial": "INTEGER PRIMARY KEY", "bytes": "BLOB", "name": "'c' || lower(hex(randomblob(10)))"}
_COLUMNS = f"(?, ?, ?, ?, ?, {BATCH}, ?, 0, ?)"


class SqliteDatabase(Database):
    """One file. Several processes may open it, but one collector for each file is what it is made for."""

    shared = False

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self.path = Path(path)
        self._readers: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._claim: int | None = None
        with _errors(self.path):
            with suppress(OSError):  # SQLite says what is wrong with the place, if something is
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))  # a new file is for its owner alone
            self._writer = self._connect()
            try:
                with self._transaction(self._writer, "BEGIN IMMEDIATE") as session:
                    schema.migrate(session.execute, **WORDS)
                self._inode = self.path.stat().st_ino
            except BaseException:
                self.close()
                raise

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")  # what is deleted or dropped is overwritten
            connection.execute(f"PRAGMA journal_size_limit = {1 << 26}")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def claim(self) -> None:
        self._claim = claimed(self.path)

    def _check_there(self) -> None:
        """An error if the file is gone, or is another one: what is written would be lost."""
        try:
            there = self.path.stat().st_ino == self._inode
        except OSError:
            there = False
        if not there:
            raise StorageError(
                f"the file of the database, {self.path}, was removed or replaced: start the collector anew"
            )

    @contextmanager
    def writing(self) -> Iterator[Session]:
        self._check_there()
        with _errors(), self._transaction(self._writer, "BEGIN IMMEDIATE") as session:
            yield session

    def clean(self) -> None:
        with _errors(), closing(self._connect()) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def _snapshot(self) -> Iterator[Session]:
        connection = getattr(self._local, "reader", None)
        with _errors():
            if connection is None:
                connection = self._local.reader = self._connect()
                with self._lock:
                    self._readers.append(connection)
            with self._transaction(connection, "BEGIN") as session:
                yield session

    @contextmanager
    def _transaction(self, connection: sqlite3.Connection, begin: str) -> Iterator[Session]:
        connection.execute(begin)
        try:
            yield _SqliteSession(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # some errors, such as a full disk, have ended it already
                connection.execute("ROLLBACK")
            raise

    def used(self, session: Session) -> int:
        ((pages,),), ((free,),), ((size,),) = (
            session.execute(f"PRAGMA {name}") for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)

    def size(self) -> int:
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def close(self) -> None:
        with self._lock:
            for connection in (*self._readers, self._writer):
                connection.close()
            self._readers.clear()
            if self._claim is not None:
                os.close(self._claim)
                self._claim = None


class _SqliteSession(Session):
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()

    def change(self, sql: str, values: Sequence[Any] = ()) -> int:
        return self._connection.execute(sql, values).rowcount

    def insert_uploads(self, uploads: Sequence[NewUpload]) -> set[bytes]:
        stored = self._insert(uploads)
        keys = {upload.key for upload in uploads}
        if stored == len(uploads):
            return keys
        # Some were there before, which is rare: undo, ask which, and store the others.
        self._connection.execute("ROLLBACK")
        self._connection.execute("BEGIN IMMEDIATE")
        marks = ",".join("?" * len(uploads))
        found = self._connection.execute(f"SELECT key FROM uploads WHERE key IN ({marks})", list(keys))  # noqa: S608
        new = keys - {row[0] for row in found}
        self._insert([upload for upload in uploads if upload.key in new])
        return new

    def _insert(self, uploads: Sequence[NewUpload]) -> int:
        """Store what is new, in statements of 256, 128, 64.. rows, so that few statements have to be prepared."""
        stored, start, step = 0, 0, _LARGEST_STEP
        while start < len(uploads):
            while step > len(uploads) - start:
                step //= 2
            part = uploads[start : start + step]
            values = [
                value
                for one in part
                for value in (one.key, one.collection, one.part, one.segment, one.day, one.reports, one.body)
            ]
            stored += self._connection.execute(_insertion(step), values).rowcount
            start += step
        return stored

    def open_parts(self, parts: Sequence[tuple[int, str]]) -> set[tuple[int, str]]:
        marks = ",".join(["(?, ?)"] * len(parts))
        sql = f"SELECT collection, key FROM parts WHERE closed IS NULL AND (collection, key) IN (VALUES {marks})"  # noqa: S608
        return {(row[0], row[1]) for row in self.execute(sql, [value for part in parts for value in part])}

    def gather(self, collection: int, part: str, most: int, most_reports: int) -> Gathered:
        ((last, waiting),) = self.execute(_LAST, (collection, most + 1, most, most_reports, part))
        if last is None:
            return Gathered(collection, part, (), None, more=False)
        rows = self.execute(_ROWS, (collection, part, last))
        days = tuple(
            DayOfUploads(day, segment, _numbers(seqs), _numbers(sizes), bytes.fromhex(body))
            for day, segment, seqs, sizes, body in rows
        )
        return Gathered(collection, part, days, last, more=waiting > sum(day.uploads for day in days))

    def mark(self, gathered: Gathered) -> bool:
        # Nothing can be stored later with a smaller number, so up to the last one these are the same uploads.
        sql = "UPDATE uploads SET folded = 1 WHERE collection = ? AND part = ? AND folded = 0 AND seq <= ?"
        return self.change(sql, (gathered.collection, gathered.part, gathered.handle)) == gathered.uploads

    def try_lock(self, collection: int) -> bool:  # noqa: ARG002 (a transaction that writes excludes all others)
        return True


def claimed(path: Path) -> int | None:
    """An open file that says that nobody else may use the database at this path; an error if a collector does."""
    if fcntl is None:
        return None
    # A file of its own, because closing any file of the database would give up the locks of SQLite.
    lock: int = os.open(path.with_name(f"{path.name}-lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise InvalidInputError(
            f"another collector uses {path}: stop it, or give another file with --db. A file of SQLite is for one "
            "collector; several share PostgreSQL"
        ) from None
    return lock


def _numbers(text: str) -> Counts:
    return np.fromstring(text, np.int64, sep=",")


def _insertion(rows: int) -> str:
    values = ", ".join([_COLUMNS] * rows)
    columns = "key, collection, part, segment, day, kind, count, folded, body"
    return f"INSERT INTO uploads ({columns}) VALUES {values} ON CONFLICT (key) DO NOTHING"  # noqa: S608


@contextmanager
def _errors(path: Path | None = None) -> Iterator[None]:
    """Turn errors of SQLite into ours."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            raise StorageFullError("the disk of the database is full") from error
        where = "" if path is None else f" at {path}"
        hint = ""
        if path is not None and not path.absolute().parent.is_dir():
            hint = "; there is no such folder: make it, or give another file with --db"
        elif code == sqlite3.SQLITE_NOTADB:
            hint = "; give another file with --db"
        raise StorageError(f"the database{where} failed: {error}{hint}") from error
