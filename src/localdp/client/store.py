"""The folder of a device: its record in two copies, a lock, and the reports that wait to be sent.

    device, device.copy   the record (see `record`), twice
    lock                  held while the record is read and changed
    outbox/               see `outbox`

Each copy is written beside its place, flushed to the disk and renamed. So a crash leaves the old copy or the new one,
never half of one. Nothing is released before both copies are written. If one of them is lost or damaged later, the
other one therefore holds everything that was paid for.

    both copies are good          the one with the larger generation counts
    one is good                   it counts, and the other one is written anew
    neither is good               `StoreError`: nothing is reported any more
    neither exists                a new device with a new secret

A lost store is a new device: its permanent responses are drawn anew, so the same value spends epsilon once more, and
nothing remembers what was spent before.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from localdp.client import lock
from localdp.client.record import Record
from localdp.errors import StoreError
from localdp.formats.atomic_write import atomic_write, sync_folder

_NAMES = ("device.copy", "device")


class Store:
    """The record of one device in a folder. The folder is made if it is missing; only its owner can read it."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).expanduser()
        with self.explained("opened"):
            make_private(self.folder)
            found = self._found()
            record = self._best(found) if self._agree(found) else self._made_whole()
        self.secret = record.secret

    def read(self) -> Record:
        """The record as it is on the disk now."""
        with self.explained("read"):
            return self._same_device(self._found())

    def read_whole(self) -> Record | None:
        """The record, if both copies hold it; None if one of them is missing, damaged or old."""
        with self.explained("read"):
            found = self._found()
            return self._same_device(found) if self._agree(found) else None

    def change(self, changed: Callable[[Record], Record]) -> Record:
        """Replace the record by what `changed` makes of it. When this returns, the new record is on the disk.

        `changed` may return the record as it is, and it may raise; then nothing is written.
        """
        with self.explained("written"), self.locked():
            found = self._found()
            before = self._same_device(found)
            after = changed(before)
            if after is not before or not self._agree(found):  # a copy may be that of a writer that was killed
                self._write(after)
            return after

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the store inside the block."""
        with lock.locked(self.folder / "lock", lock.LONGEST_WAIT) as acquired:
            if not acquired:
                raise StoreError(
                    f"another process has held the lock of the store {self.folder} for {lock.LONGEST_WAIT:g} seconds; "
                    "nothing was released"
                )
            yield

    def _made_whole(self) -> Record:
        """The record of a store in which a copy is missing, damaged or old; of a new device if there is none."""
        with self.locked():
            found = self._found()
            record = self._best(found) if _exists(found) else Record.new()
            if not self._agree(found):
                self._write(record)
            return record

    def _same_device(self, found: list[bytes | None]) -> Record:
        """The record, which must still be that of the device that was opened."""
        if not _exists(found):
            raise StoreError(
                f"the store {self.folder} was removed while it was in use; make a new client, which is a new device"
            )
        record = self._best(found)
        if record.secret != self.secret:
            raise StoreError(
                f"the store {self.folder} was replaced by that of another device while it was in use; make a new client"
            )
        return record

    def _found(self) -> list[bytes | None]:
        """The content of both copies; None for one that does not exist."""
        return [path.read_bytes() if path.exists() else None for path in (self.folder / name for name in _NAMES)]

    def _agree(self, found: list[bytes | None]) -> bool:
        return found[0] is not None and found[0] == found[1] and Record.from_bytes(found[0]) is not None

    def _best(self, found: list[bytes | None]) -> Record:
        """The record that counts."""
        good = [record for record in (Record.from_bytes(data) for data in found if data is not None) if record]
        if not good:
            raise StoreError(
                f"the store {self.folder} is damaged: neither of its two copies can be read, so nobody knows what this "
                "device has spent, and it reports nothing. Bring back the files from a backup. Removing them makes a "
                "new device, which spends epsilon anew"
            )
        older, best = sorted([good[0], good[-1]], key=lambda record: record.generation)
        if older.secret != best.secret or (older.generation == best.generation and older != best):
            raise StoreError(
                f"the store {self.folder} is damaged: its two copies contradict each other, so nobody knows what this "
                "device has spent, and it reports nothing. Bring back the files from a backup"
            )
        return best

    def _write(self, record: Record) -> None:
        data = record.to_bytes()
        for name in _NAMES:
            write_private(self.folder / name, data)
        for leftover in self.folder.glob(".device*"):  # of writers that were killed; each holds the secret
            leftover.unlink(missing_ok=True)

    @contextmanager
    def explained(self, what: str) -> Iterator[None]:
        """Turn errors of the operating system (a full disk, a read-only folder) into a `StoreError`."""
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"the store {self.folder} cannot be {what}: {error.strerror or error}; nothing was released"
            ) from error


def _exists(found: list[bytes | None]) -> bool:
    """Whether a copy exists. An empty file is a damaged copy, not a missing one."""
    return any(data is not None for data in found)


def make_private(folder: Path) -> None:
    """Make a folder, and those above it, that only its owner can read. When this returns, they are on the disk."""
    for level in reversed([folder, *folder.parents]):
        if not level.is_dir():
            level.mkdir(mode=0o700, exist_ok=True)
            sync_folder(level.parent)


def write_private(path: Path, data: bytes) -> None:
    """Put a file at `path`, whole or not at all, that only its owner can read. When this returns, it is on the disk."""
    with atomic_write(path) as unfinished:
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            written = 0
            while written < len(data):
                written += os.write(handle, data[written:])
        finally:
            os.close(handle)
