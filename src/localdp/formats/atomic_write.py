"""Write files that appear whole or not at all.

A file is written beside its final place under a temporary name, and renamed at the end. A crash or a full disk leaves
the old file as it was.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def check_writable(path: str | os.PathLike[str], replace: bool = True, option: str = "-o") -> None:
    """Raise an `OSError` if no file can be put at `path`, or if one is there already and `replace` is False.

    Commands call it first, so that a mistyped path is found before minutes of work. `option` is the one that names the
    file.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no folder to save in", str(target))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder, not a file", str(target))
    if target.exists() and not target.is_file():
        raise FileExistsError(errno.EEXIST, "this is not a plain file, and would be lost", str(target))
    if target.exists() and not replace:
        remedies = f"(--force replaces it, or choose another name with {option})"
        raise FileExistsError(errno.EEXIST, f"the file exists already {remedies}", str(target))


@contextmanager
def atomic_write(path: str | os.PathLike[str], replace: bool = True) -> Iterator[Path]:
    """Give the block a temporary path to write to, and rename it to `path` when the block ends.

    If the block raises, the temporary file is deleted and `path` is left as it was. The new file gets the
    permissions of the file that it replaces. Without `replace`, a file that exists already is a `FileExistsError`.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "greeting.txt")
    >>> with atomic_write(path) as temporary:
    ...     _ = temporary.write_text("hello")
    ...     path.exists()
    False
    >>> path.read_text()
    'hello'
    """
    check_writable(path, replace)
    target = Path(path).resolve()  # through a symbolic link to the file, so that the link itself is kept
    temporary = target.with_name(f".{target.name}.{os.urandom(8).hex()}")
    try:
        if target.exists():  # nobody may read in the temporary file what they may not read in the file it replaces
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())  # the content must be on disk before the name points to it
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
        sync_folder(target.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Make a renaming last through a power cut, on systems where folders can be opened."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
