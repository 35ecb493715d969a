"""Files and folders of one user: nobody else can read or change them, and a crash leaves them whole.

A file is written beside its place, flushed to the disk and renamed, with the permissions 0600, whatever permissions the
file had that it replaces. So a crash leaves the old file or the new one, never half of one.

Only what is known to be missing counts as missing. A file or folder that cannot be looked at is an `OSError`: if it
were taken for a missing one (as `Path.exists` does in newer versions of Python), a device would forget its spending.
"""

from __future__ import annotations

import errno
import fnmatch
import hashlib
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from localdp.errors import StoreError
from localdp.formats.atomic_write import sync_folder

FILE_MODE, FOLDER_MODE = 0o600, 0o700
_OTHERS = 0o077
_CHECKSUM_BYTES = 32


def sealed(data: bytes) -> bytes:
    """The data with their SHA-256 behind them, as every file of a device ends."""
    return data + hashlib.sha256(data).digest()


def unsealed(data: bytes) -> bytes | None:
    """What was sealed, or None if a single bit of it is not as it was written."""
    inside, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    return inside if hashlib.sha256(inside).digest() == checksum else None


def content(path: Path) -> bytes | None:
    """What a file holds, or None if there is no such file. Permissions for other users are taken away.

    A file of another user is a `StoreError`: it may have been put there while others could write to the folder, and
    whoever knows the secret of a device can read its reports.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        return None
    try:
        owner = os.fstat(handle).st_uid
        if hasattr(os, "geteuid") and owner != os.geteuid():
            raise StoreError(
                f"the file {path} belongs to another user (number {owner}), who may have made it up; if it is yours, "
                "make it yours with chown, and otherwise choose another folder"
            )
        with suppress(OSError):  # a read-only disk; the content can be used nevertheless
            tighten(handle)
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)


def tighten(handle: int) -> None:
    """Take the permissions of other users away from an open file."""
    if hasattr(os, "fchmod") and stat.S_IMODE(os.fstat(handle).st_mode) & _OTHERS:
        os.fchmod(handle, FILE_MODE)


def names(folder: Path) -> list[str]:
    """The names of what is in a folder; none if there is no such folder."""
    try:
        return [path.name for path in folder.iterdir()]  # `Path.glob` would hide a folder that cannot be read
    except FileNotFoundError:
        return []


def make_private(folder: Path) -> None:
    """Make a folder, and those above it, that only its owner can read. When this returns, they are on the disk."""
    try:
        if stat.S_ISDIR(folder.stat().st_mode):
            return
    except FileNotFoundError:
        if folder.parent != folder:
            make_private(folder.parent)
    with suppress(FileExistsError):  # another process may be making it at the same time
        folder.mkdir(mode=FOLDER_MODE)
        sync_folder(folder.parent)
        return
    if not stat.S_ISDIR(folder.stat().st_mode):
        raise FileExistsError(errno.EEXIST, "File exists, and is not a folder", str(folder))


def check_private(folder: Path) -> None:
    """Raise a `StoreError` if somebody else owns the folder or can put files there."""
    if not hasattr(os, "geteuid"):  # pragma: no cover (Windows, where these bits mean nothing)
        return
    found = folder.stat()
    if found.st_uid != os.geteuid():
        raise StoreError(
            f"the store {folder} belongs to another user (number {found.st_uid}, and this program runs as number "
            f"{os.geteuid()}), who could change what this device has spent; run the program as that user, choose "
            "another folder, or make the folder yours with chown"
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise StoreError(
            f"other users may write to the store {folder}, and could change what this device has spent; take that away "
            f"with: chmod go-w {folder}"
        )


def close_to_others(folder: Path, is_ours: Callable[[str], bool]) -> None:
    """Take the permissions of other users away from a folder that holds nothing but what is ours.

    Sizes and times of files tell how many values were paid for, and when. A folder with other files keeps its
    permissions: somebody may have chosen a home folder, or one that a web server reads.
    """
    if not hasattr(os, "geteuid"):  # pragma: no cover (Windows)
        return
    if stat.S_IMODE(folder.stat().st_mode) & _OTHERS and all(map(is_ours, names(folder))):
        with suppress(OSError):  # a read-only disk
            folder.chmod(FOLDER_MODE)


def write_private(path: Path, data: bytes, *, flush: bool = True) -> None:
    """Put a file at `path`, whole or not at all. With `flush`, it is on the disk when this returns."""
    unfinished = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(unfinished, flags, FILE_MODE)
    try:
        try:
            written = 0
            while written < len(data):
                written += os.write(handle, data[written:])
            if flush:
                os.fsync(handle)  # the content must be on the disk before the name points to it
        finally:
            os.close(handle)
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise
    if flush:
        sync_folder(path.parent)


def remove_unfinished(folder: Path, target: str) -> None:
    """Remove what writers left that were killed while they wrote files with such a name; * stands for anything.

    The caller holds the lock of those who write them.
    """
    for name in fnmatch.filter(names(folder), f".{target}.*"):
        with suppress(OSError):
            (folder / name).unlink()
