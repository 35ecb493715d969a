"""Let one process at a time change a store.

A lock on a file ends with the process that holds it, also when the process is killed. Linux, macOS and other Unix
systems have such locks in `fcntl`, Windows in `msvcrt`. On a system with neither, a store is refused: two processes
could otherwise each spend what the other does not know of.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from localdp.client.private_files import FILE_MODE, tighten
from localdp.errors import StoreError

LONGEST_WAIT = 30.0
"""Seconds to wait for another process. A change takes some milliseconds, so this is long enough for a slow disk."""
_POLL = 0.002

if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _try_lock(handle: int) -> None:
        os.lseek(handle, 1 << 30, os.SEEK_SET)  # past the content, which others could not read otherwise
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

    def _unlock(handle: int) -> None:
        os.lseek(handle, 1 << 30, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

    _AVAILABLE = True
else:
    try:
        import fcntl
    except ImportError:  # pragma: no cover
        _AVAILABLE = False
    else:
        _AVAILABLE = True

    def _try_lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)


@contextmanager
def locked(path: Path, wait: float) -> Iterator[bool]:
    """Hold the lock inside the block. Yields False, without the lock, if another process still has it after `wait`."""
    if not _AVAILABLE:
        raise StoreError(
            "this system has no file locks (neither fcntl nor msvcrt), so several processes could spend more than "
            "allowed: the store cannot be used here"
        )
    handle = os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
    try:
        tighten(handle)  # whoever can open the file can hold the lock for ever
        acquired = _acquired(handle, wait)
        try:
            yield acquired
        finally:
            if acquired:
                _unlock(handle)  # closing is not enough if another thread has forked meanwhile: the child has the file
    finally:
        os.close(handle)


def _acquired(handle: int, wait: float) -> bool:
    until = time.monotonic() + wait
    while True:
        try:
            _try_lock(handle)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
                raise
        else:
            return True
        if time.monotonic() >= until:
            return False
        time.sleep(_POLL)
