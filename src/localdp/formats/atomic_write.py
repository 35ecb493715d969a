"""Files that appear whole or not at all: written beside their place under another name, and moved there at the end."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def check_place(path: str | os.PathLike[str], replace: bool = True) -> None:
    """Refuse a place where no file can be put, or, without `replace`, where there is one."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no folder to save in", str(target))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder, not a file", str(target))
    if target.exists() and not target.is_file():
        raise FileExistsError(errno.EEXIST, "this is not a plain file, and would be lost", str(target))
    if target.exists() and not replace:
        raise FileExistsError(errno.EEXIST, "the file exists already (--force replaces it)", str(target))


@contextmanager
def draft(path: str | os.PathLike[str], replace: bool = True) -> Iterator[Path]:
    """A path to write to. If the block ends well it becomes `path`, durably; if not, nothing is left behind.

    Without `replace`, a file that is there already is a `FileExistsError`.
    """
    check_place(path, replace)
    target = Path(path).resolve()  # of a link, what it points to
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        yield unfinished
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, unfinished)
        unfinished.replace(target)
        _sync(target.parent)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _sync(folder: Path) -> None:
    """Make a renaming last, where folders can be opened."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
