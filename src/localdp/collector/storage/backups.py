"""Copies of a database of SQLite: taken while a collector writes, and put in its place when none does."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from localdp.collector.storage import schema, sqlite_path
from localdp.collector.storage.sqlite import claimed
from localdp.errors import DataFileError, InvalidInputError
from localdp.formats.atomic_write import atomic_write, check_writable


def backup(url: str, out: Path, *, replace: bool = False) -> int:
    """Write a copy with everything that was acknowledged before; how many uploads it has.

    SQLite's `VACUUM INTO` reads one moment of the database, whatever is written meanwhile.
    """
    path = _file(url, "pg_dump --format=custom makes a copy of it")
    if not path.is_file():
        raise InvalidInputError(f"there is no database at {path}")
    check_writable(out, replace=replace)
    with atomic_write(out, replace=replace) as unfinished:
        unfinished.unlink(missing_ok=True)
        try:
            with closing(sqlite3.connect(_address(path, "ro"), uri=True, timeout=60)) as database:
                database.execute("VACUUM INTO ?", (str(unfinished),))
        except sqlite3.Error as error:
            raise DataFileError(f"{path} could not be copied: {error}") from None
        unfinished.chmod(0o600)
        return checked(unfinished)


def restore(copy: Path, url: str, *, replace: bool = False) -> int:
    """Put a copy in the place of a database that no collector uses; how many uploads it has."""
    path = _file(url, "pg_restore puts a copy into it")
    if not copy.is_file():
        raise InvalidInputError(f"there is no copy at {copy}")
    uploads = checked(copy)
    if path.exists() and not replace:
        raise InvalidInputError(f"{path} exists: give --force to put the copy in its place, for good")
    lock = claimed(path)
    try:
        with atomic_write(path, replace=True) as unfinished:
            shutil.copyfile(copy, unfinished)
            unfinished.chmod(0o600)
            _put_away(path)
    finally:
        if lock is not None:
            os.close(lock)
    return uploads


def checked(path: Path) -> int:
    """The number of uploads in a copy; an error if it is damaged, or no database of a collector that is known here."""
    log = _beside(path, "-wal")
    if log.exists() and log.stat().st_size:
        raise DataFileError(f"{path} is a database in use, with a log beside it: let localdp backup make a copy of it")
    try:
        with closing(sqlite3.connect(_address(path, "ro&immutable=1"), uri=True)) as database:
            ((said,),) = database.execute("PRAGMA integrity_check(1)")
            ((version,),) = database.execute("SELECT version FROM schema_version")
            ((uploads,),) = database.execute("SELECT COUNT(*) FROM uploads")
    except (sqlite3.Error, ValueError) as error:
        raise DataFileError(f"{path} is no database of a collector: {error}") from None
    if said != "ok":
        raise DataFileError(f"{path} is damaged: {said}")
    if version > len(schema.STEPS):
        raise DataFileError(f"{path} has tables of version {version}, which a newer localdp made: install that one")
    return int(uploads)


def _put_away(path: Path) -> None:
    """Leave nothing of an old database beside its file, which would be taken for part of the new one."""
    if path.exists():
        with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # so that the old file is whole until it is replaced
    for end in ("-wal", "-shm"):
        _beside(path, end).unlink(missing_ok=True)


def _beside(path: Path, end: str) -> Path:
    return path.with_name(f"{path.name}{end}")


def _file(url: str, instead: str) -> Path:
    path = sqlite_path(url)
    if path is None:
        raise InvalidInputError(f"this is for files of SQLite; PostgreSQL has programs of its own: {instead}")
    return Path(path)


def _address(path: Path, mode: str) -> str:
    return f"file:{quote(str(path.absolute()))}?mode={mode}"
