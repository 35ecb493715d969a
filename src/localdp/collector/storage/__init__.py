"""Where the collector keeps collections, tokens, uploads and aggregates: SQLite or PostgreSQL.

`database.py` says what a database must do, `sqlite.py` and `postgres.py` do it, and `schema.py` has the tables. The
other files hold the questions that are asked of it, one file for each table, in SQL that both databases understand.
"""

from __future__ import annotations

from localdp.collector.storage.database import Database
from localdp.errors import InvalidInputError

__all__ = ["Database", "open_database", "sqlite_path"]


def open_database(url: str) -> Database:
    """The database at a URL, with its tables up to date.

    `sqlite:///relative.db`, `sqlite:////absolute.db` or simply a path is a file of SQLite; `postgresql://...` is a
    PostgreSQL server.
    """
    path = sqlite_path(url)
    scheme = url.partition("://")[0]
    if path is not None:
        from localdp.collector.storage.sqlite import SqliteDatabase

        return SqliteDatabase(path)
    if scheme in ("postgresql", "postgres"):
        from localdp.collector.storage.postgres import PostgresDatabase

        return PostgresDatabase(url)
    raise InvalidInputError(
        f"a database is a path, sqlite:///<path> or postgresql://<user>@<host>/<name>, not {scheme[:20]!r}://..."
    )


def sqlite_path(url: str) -> str | None:
    """The path of the file of SQLite that a URL names; None if it names another kind of database."""
    scheme, separator, rest = url.partition("://")
    path = rest.removeprefix("/") if separator else url
    if separator and scheme != "sqlite":
        return None
    if not path:
        raise InvalidInputError("a database of SQLite needs the path of a file, such as sqlite:///collector.db")
    return path
