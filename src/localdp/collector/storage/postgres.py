"""A PostgreSQL server, which several collectors may share.

Each thread has a connection of its own, and opens a new one when it was lost. What two collectors must not do at the
same time is held by locks that end with the transaction.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

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
from localdp.errors import MissingPackageError

if TYPE_CHECKING:
    import psycopg

_LOCKS = 0x4C4450  # "LDP": our advisory locks, beside those of other programs on the same database
_MIGRATION = 0
_PATIENCE = {"connect_timeout": 10, "keepalives_idle": 20, "keepalives_interval": 5, "tcp_user_timeout": 40_000}
"""How long a server may be silent (seconds; the last in milliseconds), unless the URL says otherwise. Without it, the
writer would wait for hours for a server that has vanished from the network."""
WORDS = {
    "serial": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "bytes": "BYTEA",
    "name": "'c' || left(replace(gen_random_uuid()::text, '-', ''), 20)",
}
_INSERTED = ("key", "collection", "part", "segment", "day", "reports", "body")
_INSERT = f"""
INSERT INTO uploads (key, collection, part, segment, day, kind, count, folded, body)
SELECT key, collection, part, segment, day, {BATCH}, count, 0, body
FROM unnest(%s::bytea[], %s::bigint[], %s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::bytea[])
    AS new (key, collection, part, segment, day, count, body)
ON CONFLICT (key) DO NOTHING RETURNING key
"""  # noqa: S608 (a number of ours)


_GATHER = """
WITH waiting AS (
    SELECT seq, ROW_NUMBER() OVER (ORDER BY seq) AS place, SUM(count) OVER (ORDER BY seq) AS running,
        day, segment, count, body
    FROM (
        SELECT seq, day, segment, count, body FROM uploads
        WHERE collection = ? AND part = ? AND folded = 0 ORDER BY seq LIMIT ?
    ) AS first
)
SELECT day, segment, array_agg(seq ORDER BY seq), array_agg(count ORDER BY seq), string_agg(body, '' ORDER BY seq),
    (SELECT COUNT(*) FROM waiting)
FROM waiting WHERE place = 1 OR (place <= ? AND running <= ?) GROUP BY day, segment ORDER BY day, segment
"""


class PostgresDatabase(Database):
    """The tables in one database of a server."""

    shared = True

    def __init__(self, url: str) -> None:
        super().__init__()
        try:
            import psycopg
        except ImportError:
            raise MissingPackageError.of_extra("PostgreSQL", "psycopg", "collector") from None
        self._psycopg = psycopg
        said = psycopg.conninfo.conninfo_to_dict(url)
        self._url = psycopg.conninfo.make_conninfo(url, **{key: _PATIENCE[key] for key in _PATIENCE.keys() - said})
        self._all: list[psycopg.Connection[Row]] = []
        self._lock = threading.Lock()
        try:
            with self.writing() as session:
                session.execute("SELECT pg_advisory_xact_lock(?, ?)", (_LOCKS, _MIGRATION))
                schema.migrate(session.execute, **WORDS)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def writing(self) -> Iterator[Session]:
        with self._errors(), self._connection().transaction():
            yield _PostgresSession(self._connection())

    def clean(self) -> None:
        """Nothing to do: PostgreSQL's autovacuum overwrites what was deleted, when it comes to it."""

    @contextmanager
    def _snapshot(self) -> Iterator[Session]:
        with self._errors(), self._connection().transaction():
            session = _PostgresSession(self._connection())
            session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield session

    def _connection(self) -> psycopg.Connection[Row]:
        connection: psycopg.Connection[Row] | None = getattr(self._local, "connection", None)
        if connection is None or connection.closed:
            connection = self._psycopg.connect(self._url, autocommit=True)
            # Servers can be told to acknowledge commits early; a collector must not.
            connection.execute("SET synchronous_commit = on")
            self._local.connection = connection
            with self._lock:
                self._all = [one for one in self._all if not one.closed]
                self._all.append(connection)
        return connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors of PostgreSQL into ours. After one of the connection, the next call makes a new connection."""
        try:
            yield
        except self._psycopg.Error as error:
            connection = getattr(self._local, "connection", None)
            if isinstance(error, self._psycopg.OperationalError) and connection is not None:
                with suppress(self._psycopg.Error):
                    connection.close()
            if isinstance(error, self._psycopg.errors.DiskFull):
                raise StorageFullError("the disk of the database is full") from error
            said = str(error).strip().splitlines()
            raise StorageError(f"the database failed: {said[0] if said else type(error).__name__}") from error

    def used(self, session: Session) -> int:
        return int(session.execute("SELECT pg_database_size(current_database())")[0][0])

    def size(self) -> int:
        with self.reading() as session:
            return self.used(session)

    def close(self) -> None:
        with self._lock:
            for connection in self._all:
                connection.close()
            self._all.clear()


class _PostgresSession(Session):
    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        cursor = self._connection.execute(_translated(sql), values)
        return cursor.fetchall() if cursor.description is not None else []

    def change(self, sql: str, values: Sequence[Any] = ()) -> int:
        return self._connection.execute(_translated(sql), values).rowcount

    def insert_uploads(self, uploads: Sequence[NewUpload]) -> set[bytes]:
        ordered = sorted(uploads, key=lambda upload: upload.key)  # so that two collectors never wait for each other
        columns = [[getattr(one, name) for one in ordered] for name in _INSERTED]
        return {bytes(row[0]) for row in self._connection.execute(_INSERT, columns)}

    def open_parts(self, parts: Sequence[tuple[int, str]]) -> set[tuple[int, str]]:
        sql = (
            "SELECT collection, key FROM parts WHERE closed IS NULL AND (collection, key) IN "
            "(SELECT * FROM unnest(?::bigint[], ?::text[])) ORDER BY collection, key FOR SHARE"
        )
        columns = ([part[0] for part in parts], [part[1] for part in parts])
        return {(row[0], row[1]) for row in self.execute(sql, columns)}

    def gather(self, collection: int, part: str, most: int, most_reports: int) -> Gathered:
        rows = self.execute(_GATHER, (collection, part, most + 1, most, most_reports))
        days = tuple(
            DayOfUploads(day, segment, np.array(seqs, np.int64), np.array(sizes, np.int64), bytes(body))
            for day, segment, seqs, sizes, body, _ in rows
        )
        seqs = [seq for row in rows for seq in row[2]]
        return Gathered(collection, part, days, seqs, more=bool(rows) and rows[0][5] > len(seqs))

    def mark(self, gathered: Gathered) -> bool:
        # By their numbers: an upload with a smaller number may be committed later by another collector.
        sql = "UPDATE uploads SET folded = 1 WHERE folded = 0 AND seq = ANY(?)"
        return self.change(sql, (gathered.handle,)) == gathered.uploads

    def try_lock(self, collection: int) -> bool:
        return bool(self.execute("SELECT pg_try_advisory_xact_lock(?, ?)", (_LOCKS, collection))[0][0])


def _translated(sql: str) -> bytes:
    return sql.replace("%", "%%").replace("?", "%s").encode()
