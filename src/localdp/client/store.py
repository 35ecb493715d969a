"""The folder of a device: its record in two copies, a lock, and the reports that wait to be sent.

    device, device.copy   the record (see `record`), twice
    lock                  held while the record is read and changed; it says whether the folder was used
    outbox/               see `outbox`
    discoveries/, surveys/, studies/   the answers of this device in studies (see `localdp.client.one_answer`)
    diary                 what was answered, and when (see `localdp.client.diary`)

Each copy is written beside its place, flushed to the disk and renamed. So a crash leaves the old copy or the new one,
never half of one. Nothing is released before both copies are written. If one of them is lost or damaged later, the
other one therefore holds everything that was paid for.

    both copies are good          what either of them says was paid for counts
    one is good                   it counts, and the other one is written anew
    neither is good               `StoreError`: nothing is reported any more
    neither exists                a new device with a new secret, if the folder has nothing of a device; otherwise
                                  `StoreError`

A lost store is a new device: its permanent responses are drawn anew, so the same value spends epsilon once more, and
nothing remembers what was spent before.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from localdp.client import lock
from localdp.client.private_files import (
    check_private,
    close_to_others,
    content,
    make_private,
    names,
    remove_unfinished,
    write_private,
)
from localdp.client.record import Record
from localdp.errors import InvalidInputError, StoreError
from localdp.formats.atomic_write import sync_folder

_NAMES = ("device.copy", "device")
KEPT = ("outbox", "discoveries", "surveys", "studies", "diary")
"""What else is in a store. One of them without a record is that of a device whose record is gone."""
_OF_JAVASCRIPT = re.compile(r"device\.[0-9]+|diary\.[0-9]+|outbox-[0-9a-f]+\..+")  # the files of js/src/node.js
_USED = b"This folder belongs to a device that has been used. Do not remove single files from it.\n"


class Store:
    """The record of one device in a folder. The folder is made if it is missing; only its owner can read it."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = _path(folder)
        with self.explained("opened"):
            make_private(self.folder)
            check_private(self.folder)
            close_to_others(self.folder, _is_of_device)
            found = self._found()
            record = self._best(found) if self._agree(found) else self._made_whole()
            sync_folder(self.folder)  # what a process that was killed has renamed may not be on the disk yet
        self.secret = record.secret

    def kept(self, name: str) -> Path:
        """The path of something that a device keeps beside its record. Its name must be one of `KEPT`."""
        if name not in KEPT:
            raise ValueError(f"{name} is not in KEPT, so a device that lost its record would not be recognized by it")
        return self.folder / name

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
            else:
                sync_folder(self.folder)  # such a writer may have renamed both copies and flushed only one name
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
            if not _exists(found):
                self._check_unused()
            record = self._best(found) if _exists(found) else Record.new()
            if not self._agree(found):
                self._write(record)
            return record

    def _check_unused(self) -> None:
        """A folder with files of a device, and without its record, must not pass for a new device."""
        if content(self.folder / "lock") or any(map(self._is_left, names(self.folder))):
            raise StoreError(
                f"the store {self.folder} was used before, and both copies of its record are gone, so nobody knows "
                "what this device has spent, and it reports nothing. Bring back the files from a backup. Removing the "
                "whole folder makes a new device, which spends epsilon anew"
            )

    def _is_left(self, name: str) -> bool:
        """Whether something with this name is what a device has left that had a record.

        A process that is killed while it writes the first record leaves a draft too, but one without payments.
        """
        if name.startswith(".device"):
            draft = Record.from_bytes(content(self.folder / name) or b"")
            return draft is not None and bool(draft.paid)
        return name in KEPT or _OF_JAVASCRIPT.fullmatch(name) is not None

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
        return [content(self.folder / name) for name in _NAMES]

    def _agree(self, found: list[bytes | None]) -> bool:
        return found[0] is not None and found[0] == found[1] and Record.from_bytes(found[0]) is not None

    def _best(self, found: list[bytes | None]) -> Record:
        """The record that counts: everything that either copy says was paid for."""
        good = [record for record in (Record.from_bytes(data) for data in found if data is not None) if record]
        if not good:
            raise StoreError(
                f"the store {self.folder} is damaged: neither of its two copies can be read, so nobody knows what this "
                "device has spent, and it reports nothing. Bring back the files from a backup. Removing the whole "
                "folder makes a new device, which spends epsilon anew"
            )
        if good[0].secret != good[-1].secret:
            raise StoreError(
                f"the store {self.folder} is damaged: its two copies contradict each other, because they are of two "
                "different devices, so nobody knows what this device has spent, and it reports nothing. Bring back the "
                "files from a backup"
            )
        return good[0].united(good[-1])

    def _write(self, record: Record) -> None:
        data = record.to_bytes()
        if record.paid:
            self._mark_used()  # before the payment, so that a payment never stands in a folder that seems unused
        for name in _NAMES:
            write_private(self.folder / name, data)
        self._mark_used()
        remove_unfinished(self.folder, "device*")  # each of these files holds the secret

    def _mark_used(self) -> None:
        """Write into the file of the lock, which the caller holds. It stays empty while the first record is written,
        so that a process which is killed before that leaves a folder that can still become a new device.
        """
        handle = os.open(self.folder / "lock", os.O_WRONLY)
        try:
            if not os.fstat(handle).st_size:
                os.write(handle, _USED)
                os.fsync(handle)
        finally:
            os.close(handle)

    @contextmanager
    def explained(self, what: str, outcome: str = "nothing was released") -> Iterator[None]:
        """Turn errors of the operating system (a full disk, a read-only folder) into a `StoreError`."""
        try:
            yield
        except OSError as error:
            said = error.strerror or str(error)
            raise StoreError(f"the store {self.folder} cannot be {what}: {said}; {outcome}") from error


def _is_of_device(name: str) -> bool:
    """Whether a device, of either language, has a file or folder with this name."""
    known = name in (*_NAMES, *KEPT, "lock") or name.startswith(".device")
    return known or _OF_JAVASCRIPT.fullmatch(name) is not None


def _path(folder: object) -> Path:
    """The path of a store. An empty text is likelier to be a variable that was not set than the current folder."""
    if not isinstance(folder, str | os.PathLike) or not os.fspath(folder) or isinstance(os.fspath(folder), bytes):
        raise InvalidInputError(
            f"store, the folder of a device, is a path such as ~/.local/share/app, not {folder!r:.60}"
        )
    try:
        return Path(folder).expanduser()
    except RuntimeError as error:
        raise StoreError(f"the store {folder!r} cannot be found: {error}") from error


def _exists(found: list[bytes | None]) -> bool:
    """Whether a copy exists. An empty file is a damaged copy, not a missing one."""
    return any(data is not None for data in found)
