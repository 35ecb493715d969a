"""Cut the power while a collector writes to SQLite: whatever it acknowledged is stored and counted exactly once.

python audits/power_loss.py                    at 120 moments
python audits/power_loss.py --moments 60

A process that is killed loses nothing that the operating system has taken; a power cut does. So the collector's own
storage code runs on a disk that is simulated: what was written and not yet flushed (`fsync`) is remembered as such. At
a chosen write or flush the power is cut. Of what was not flushed, the disk then keeps nothing, or everything, or each
write by a fair coin, cut in the middle by another coin. Each of these disks is written to real files and opened as
after a restart.

The disk is a VFS of SQLite by the package apsw, which brings a SQLite of its own. Such a VFS has no shared memory, so
there is one connection, in exclusive mode; writes and flushes are those of the write-ahead log all the same.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import numpy as np

import localdp as ldp
from localdp.collector.checking import stored_reports
from localdp.collector.storage import aggregates, collections, open_database, parts, schema, uploads
from localdp.collector.storage.database import NewUpload, Session, Where
from localdp.collector.storage.parts import StoredPart
from localdp.collector.storage.sqlite import WORDS, SqliteDatabase, _SqliteSession

PLAN = ldp.Plan(["tea", "coffee", "water"], "grr", 1.0)
NAME = "collector.db"
_NUMBERS = itertools.count()
KEEP = ("nothing", "everything", "some", "some")


class PowerCutError(Exception):
    """The moment has come."""


class File:
    """A file of the simulated disk: what is flushed, and the writes since then."""

    def __init__(self) -> None:
        self.now, self.flushed = bytearray(), bytearray()
        self.exists_on_disk = False
        self.pending: list[tuple[int, bytes | None]] = []

    def apply(self, content: bytearray, offset: int, data: bytes | None) -> None:
        """A write, or with None a truncation, to this content."""
        if data is None:
            del content[offset:]
            return
        content.extend(bytes(max(0, offset + len(data) - len(content))))
        content[offset : offset + len(data)] = data

    def after_the_cut(self, keep: str, coin: random.Random) -> bytes:
        """What the disk holds when the power is back."""
        content = bytearray(self.flushed)
        for offset, data in self.pending:
            if keep == "nothing" or (keep == "some" and coin.random() < 0.5):
                continue
            if keep == "some" and data is not None and coin.random() < 0.3:
                data = data[: coin.randrange(len(data))]
            self.apply(content, offset, data)
        return bytes(content)


class Disk(apsw.VFS):
    """Files in memory. `events` counts writes and flushes; at number `cut` the power goes."""

    def __init__(self, cut: int | None) -> None:
        self.files: dict[str, File] = {}
        self.events, self.cut = 0, cut
        self.dead = False
        self.name = f"power{next(_NUMBERS)}"
        super().__init__(self.name, "")

    def event(self) -> bool:
        """A write or a flush is about to happen; False once the power is gone, and then nothing happens."""
        if self.dead:
            return False
        self.events += 1
        if self.events == self.cut:
            self.dead = True
            raise PowerCutError
        return True

    def xOpen(self, name: Any, flags: list[int]) -> OpenFile:  # noqa: N802
        path = Path(name.filename() if isinstance(name, apsw.URIFilename) else str(name)).name
        flags[1] = flags[0]
        return OpenFile(self, self.files.setdefault(path, File()))

    def xDelete(self, name: str, syncdir: bool) -> None:  # noqa: ARG002, N802
        if self.event():
            self.files.pop(Path(name).name, None)

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: ARG002, N802
        found = self.files.get(Path(pathname).name)
        return found is not None and bool(found.now)

    def xFullPathname(self, name: str) -> str:  # noqa: N802
        return name

    def image(self, folder: Path, keep: str, coin: random.Random) -> None:
        """Write the files as the disk has them after the cut."""
        for name, file in self.files.items():
            if file.exists_on_disk or keep != "nothing":
                (folder / name).write_bytes(file.after_the_cut(keep, coin))


class OpenFile:
    """What SQLite does with a file."""

    def __init__(self, disk: Disk, file: File) -> None:
        self.disk, self.file = disk, file

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        return bytes(self.file.now[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        if self.disk.event():
            self.file.pending.append((offset, bytes(data)))
            self.file.apply(self.file.now, offset, bytes(data))

    def xTruncate(self, size: int) -> None:  # noqa: N802
        if self.disk.event():
            self.file.pending.append((size, None))
            self.file.apply(self.file.now, size, None)

    def xSync(self, flags: int) -> None:  # noqa: ARG002, N802
        if self.disk.event():
            self.file.flushed, self.file.pending = bytearray(self.file.now), []
            self.file.exists_on_disk = True

    def xFileSize(self) -> int:  # noqa: N802
        return len(self.file.now)

    def xClose(self) -> None:  # noqa: N802
        pass

    def xLock(self, level: int) -> None:  # noqa: N802
        pass

    def xUnlock(self, level: int) -> None:  # noqa: N802
        pass

    def xCheckReservedLock(self) -> bool:  # noqa: N802
        return False

    def xFileControl(self, op: int, pointer: int) -> bool:  # noqa: ARG002, N802
        return False

    def xSectorSize(self) -> int:  # noqa: N802
        return 512

    def xDeviceCharacteristics(self) -> int:  # noqa: N802
        return 0


class Connection:
    """A connection of apsw that looks like one of `sqlite3`, as far as the collector uses it."""

    def __init__(self, disk: Disk) -> None:
        self._own = apsw.Connection(NAME, vfs=disk.name)

    def execute(self, sql: str, values: Any = ()) -> Any:
        rows = self._own.execute(sql, tuple(values)).fetchall()
        return Result(rows, self._own.changes())

    @property
    def in_transaction(self) -> bool:
        return bool(self._own.in_transaction)

    def close(self) -> None:
        self._own.close()


class Result:
    """The rows of a statement, and how many it changed."""

    def __init__(self, rows: list[Any], rowcount: int) -> None:
        self._rows, self.rowcount = rows, rowcount

    def fetchall(self) -> list[Any]:
        return self._rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)


class SimulatedDatabase(SqliteDatabase):
    """The collector's database on the simulated disk, with one connection for everything."""

    def __init__(self, disk: Disk, synchronous: str = "FULL") -> None:
        self._writer: Any = Connection(disk)
        for pragma in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", f"synchronous = {synchronous}"):
            self._writer.execute(f"PRAGMA {pragma}")
        self._writer.execute(
            "PRAGMA wal_autocheckpoint = 150"
        )  # so that there are some checkpoints, and commits between them
        with self._transaction(self._writer, "BEGIN IMMEDIATE") as session:
            schema.migrate(session.execute, **WORDS)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        yield _SqliteSession(self._writer)

    @contextmanager
    def writing(self) -> Iterator[Session]:
        with self._transaction(self._writer, "BEGIN IMMEDIATE") as session:
            yield session


def work(disk: Disk, steps: int, acknowledged: dict[bytes, int], synchronous: str = "FULL") -> int:
    """Take uploads and count them, until the power is cut or all is done; the number of writes and flushes."""
    coin = random.Random(18)  # noqa: S311 (not for privacy)
    database = SimulatedDatabase(disk, synchronous)
    with database.writing() as session:
        name, document = PLAN.fingerprint, PLAN.to_json()
        plan = collections.add(session, collections.PLAN, name, "{}", 1)
        assert plan is not None
        parts.add(session, StoredPart(plan.id, "", 0, name, document, "", 1, None, 0, None, None))
    for step in range(steps):
        group = []
        for _ in range(coin.randrange(1, 40)):
            reports = coin.choice((1, 1, 300))
            group.append(NewUpload(coin.randbytes(16), plan.id, "", step // 5, reports, b"\1" * reports))
        with database.writing() as session:
            stored = uploads.store(session, group)
        if disk.dead:  # SQLite does not report a failure that comes after the commit, while it tidies the log
            raise PowerCutError
        acknowledged |= {upload.key: upload.reports for upload, new in zip(group, stored, strict=True) if new}
        if step % 3 == 2:
            with database.reading() as session:
                piece = session.gather(plan.id, "", 50, 10_000)
            with database.writing() as session:
                assert session.mark(piece)
                for day in piece.days:
                    part = PLAN.aggregate(stored_reports(day.rows, PLAN))
                    aggregates.add(session, Where(plan.id), day.day, part.n, part.counts)
    disk.cut = None  # not while the connection is closed
    return disk.events


def check(folder: Path, acknowledged: dict[bytes, int]) -> str | None:
    """What is wrong with a disk after the cut; None if nothing is."""
    connection = sqlite3.connect(folder / NAME)
    try:
        damage = connection.execute("PRAGMA integrity_check").fetchall()
    except sqlite3.DatabaseError as error:
        damage = [(str(error),)]
    finally:
        connection.close()
    if damage != [("ok",)]:
        return f"the database is damaged: {damage[0][0]}"
    database = open_database(str(folder / NAME))
    try:
        with database.reading() as session:
            rows = session.execute("SELECT key, count, folded, day, body FROM uploads")
            counted = dict(session.execute("SELECT day, SUM(n) FROM aggregates GROUP BY day"))
            bytes_counted = dict(session.execute("SELECT day, counts FROM aggregates"))
    finally:
        database.close()
    stored = {row[0]: row[1] for row in rows}
    missing = sum(stored.get(key) != reports for key, reports in acknowledged.items())
    if missing or len(stored) != len(rows):
        return f"{missing} acknowledged uploads are missing"
    days: dict[int, ldp.Aggregate] = {}
    for _, _, folded, day, body in rows:
        if folded:
            days.setdefault(day, ldp.Aggregate(PLAN)).add(stored_reports(body, PLAN))
    if {day: one.n for day, one in days.items()} != counted:
        return "the aggregates are not the sum of the uploads that are marked as counted"
    for day, one in days.items():
        if not np.array_equal(np.frombuffer(bytes_counted[day], "<i8"), one.counts):
            return f"the counts of day {day} are wrong"
    return None


def cut(moments: int, steps: int = 30, synchronous: str = "FULL") -> tuple[int, list[str]]:
    """Cut the power at so many moments, spread evenly; the number of disks that were opened, and what was wrong."""
    events = work(Disk(None), steps, {}, synchronous)
    wrong, opened = [], 0
    for number in range(moments):
        moment = 1 + number * events // moments
        disk, acknowledged = Disk(moment), dict[bytes, int]()
        with suppress(PowerCutError, apsw.Error):
            work(disk, steps, acknowledged, synchronous)
        for place, keep in enumerate(KEEP):
            with tempfile.TemporaryDirectory() as name:
                disk.image(Path(name), keep, random.Random(moment * 10 + place))  # noqa: S311
                if not acknowledged and not (Path(name) / NAME).exists():
                    continue
                found = check(Path(name), acknowledged)
                opened += 1
            if found and (acknowledged or "damaged" not in found or keep != "some"):
                wrong.append(f"power cut at write or flush {moment}, {keep} kept: {found}")
    return opened, wrong


def cut_power(moments: int = 120) -> bool:
    """Cut the power at so many moments, and say what came of it; whether nothing was lost."""
    started = time.perf_counter()
    opened, wrong = cut(moments)
    print(
        f"power cut at {moments} moments, {opened} disks opened again, in {time.perf_counter() - started:.0f} s: "
        + ("nothing that was acknowledged is missing" if not wrong else f"{len(wrong)} FINDINGS"),
        flush=True,
    )
    for line in wrong[:20]:
        print(f"  - {line}")
    return not wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=120)
    sys.exit(0 if cut_power(parser.parse_args().moments) else 1)
