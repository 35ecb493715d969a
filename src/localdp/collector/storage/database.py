"""What the collector needs of a database, whichever it is.

SQL is written with `?` for values. Only what the two databases do differently has a method of its own: storing many
uploads at once, reading many at once, and locks.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from localdp.errors import LocalDPError
from localdp.types import Counts

Row = tuple[Any, ...]

BATCH, AGGREGATE = 0, 1
"""The kinds of uploads: a batch of reports, or an aggregate that was made elsewhere."""


def columns(kind: type[Any]) -> str:
    """The names of the columns that make a row of this dataclass, in its order."""
    return ", ".join(one.name for one in fields(kind))


class StorageError(LocalDPError):
    """The database did not do what it was asked; it may do so later."""


class StorageFullError(StorageError):
    """There is no room left on the disk of the database."""


class FoldConflictError(StorageError):
    """Somebody else has counted these uploads in the meantime, so they are not counted again."""


class Where(NamedTuple):
    """Where counts belong, beside their day: a collection, the key of its part, and a segment."""

    collection: int
    part: str = ""
    segment: str = ""


class NewUpload(NamedTuple):
    """An upload on its way into the database. `key` identifies its part and upload id; `body` is the reports' rows.

    A tuple, because thousands are made every second, and a frozen dataclass takes four times as long.
    """

    key: bytes
    collection: int
    part: str
    day: int
    reports: int
    body: bytes
    segment: str = ""
    wording: int = 0  # the version that people were shown, if the device told it


@dataclass(frozen=True, eq=False)
class DayOfUploads:
    """Uploads of one day and segment that are not counted yet: their numbers in the database (`seqs`), the number of
    reports of each, and their rows all together."""

    day: int
    segment: str
    seqs: Counts
    sizes: Counts
    rows: bytes

    @property
    def uploads(self) -> int:
        return self.sizes.size

    @property
    def reports(self) -> int:
        return int(self.sizes.sum())


@dataclass(frozen=True, eq=False)
class Gathered:
    """Uploads of one part that are not counted yet. `handle` is what `mark` needs; `more` says whether others wait."""

    collection: int
    part: str
    days: tuple[DayOfUploads, ...]
    handle: Any
    more: bool

    @property
    def uploads(self) -> int:
        return sum(day.uploads for day in self.days)


class Session(ABC):
    """A transaction that is under way."""

    @abstractmethod
    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""

    @abstractmethod
    def change(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a statement and return the number of rows that it changed."""

    @abstractmethod
    def insert_uploads(self, uploads: Sequence[NewUpload]) -> set[bytes]:
        """Store uploads whose keys are all different, and return the keys that were new."""

    @abstractmethod
    def open_parts(self, parts: Sequence[tuple[int, str]]) -> set[tuple[int, str]]:
        """Those of the parts, by collection and key, that are not closed. They stay so until the transaction ends."""

    @abstractmethod
    def gather(self, collection: int, part: str, most: int, most_reports: int) -> Gathered:
        """Some uploads of a part that are not counted yet, in the order in which they came.

        They are at most `most`, with `most_reports` reports in all, or the first upload alone.
        """

    @abstractmethod
    def mark(self, gathered: Gathered) -> bool:
        """Mark uploads as counted; False if these are not all that would be marked, and nothing may be counted."""

    @abstractmethod
    def try_lock(self, collection: int) -> bool:
        """Claim the counts of a collection until the transaction ends; False if another collector has claimed them."""


class Database(ABC):
    """A database with the collector's tables. Only one thread, the writer, may use `writing`."""

    shared: bool
    """Whether other collectors may use the database at the same time, so that what is remembered must be looked up."""

    @abstractmethod
    def clean(self) -> None:
        """Let no copy of deleted rows stay in files beside the tables, as far as the database can be told so."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Session]:
        """A transaction that may change things. When its block has ended, the changes are on the disk."""

    def __init__(self) -> None:
        self._local = threading.local()
        """What each thread has of its own: its connection, and the transaction that reads, while there is one."""

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A transaction that changes nothing, and sees the database as it was at its first statement.

        Inside another one of the same thread, it is that one.
        """
        under_way: Session | None = getattr(self._local, "session", None)
        if under_way is not None:
            yield under_way
            return
        with self._snapshot() as session:
            self._local.session = session
            try:
                yield session
            finally:
                self._local.session = None

    @abstractmethod
    def _snapshot(self) -> AbstractContextManager[Session]:
        """A new transaction that changes nothing, on the connection of this thread."""

    @abstractmethod
    def used(self, session: Session) -> int:
        """The bytes of the database that are in use, without room that it has and does not need."""

    @abstractmethod
    def size(self) -> int:
        """The bytes that the database takes on its disk."""

    def claim(self) -> None:  # noqa: B027 (most databases may be shared)
        """Make sure that no other collector uses the database, if that is not possible; an error if one does."""

    @abstractmethod
    def close(self) -> None:
        """Close all connections."""
