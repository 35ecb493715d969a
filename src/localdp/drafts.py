"""Files that appear whole or not at all: written beside their place under another name, and moved there at the end."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def draft(path: str | os.PathLike[str], replace: bool = True) -> Iterator[Path]:
    """A path to write to. If the block ends well it becomes `path`, durably; if not, nothing is left behind.

    Without `replace`, a file that is there already is a `FileExistsError`.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no folder to save in", str(target))
    if not replace and target.exists():
        raise FileExistsError(errno.EEXIST, "the file exists already", str(target))
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        yield unfinished
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, unfinished)
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
