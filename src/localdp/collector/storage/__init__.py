"""Where the collector keeps collections, tokens, uploads and aggregates: SQLite or PostgreSQL.

`database.py` says what a database must do, `sqlite.py` and `postgres.py` do it, and `schema.py` has the tables. The
other files hold the questions that are asked of it, one file for each table, in SQL that both databases understand.
"""

from __future__ import annotations

from localdp.collector.storage.database import Database
from localdp.errors import InvalidInputError

__all__ = ["Database", "open_database"]


def open_database(url: str) -> Database:
    """The database at a URL, with its tables up to date.

    `sqlite:///relative.db`, `sqlite:////absolute.db` or simply a path is a file of SQLite; `postgresql://...` is a
    PostgreSQL server.
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        scheme, rest = "sqlite", f"/{url}"
    if scheme == "sqlite":
        from localdp.collector.storage.sqlite import SqliteDatabase

        path = rest.removeprefix("/")
        if not path:
            raise InvalidInputError("a database of SQLite needs the path of a file, such as sqlite:///collector.db")
        return SqliteDatabase(path)
    if scheme in ("postgresql", "postgres"):
        from localdp.collector.storage.postgres import PostgresDatabase

        return PostgresDatabase(url)
    raise InvalidInputError(
        f"a database is a path, sqlite:///<path> or postgresql://<user>@<host>/<name>, not {scheme[:20]!r}://..."
    )
