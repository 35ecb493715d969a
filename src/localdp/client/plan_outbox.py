"""The reports of one plan that wait to be sent: one file for each, and where they are to be sent.

    <id>.report   a report, written before the first attempt and removed after the last one
    <id>.w<number>.report   the same, of a person who was shown this version of the wording
    address       the address that the reports were made for; there is none if the last one was made for a function
    pause         see `pauses`
    lock          held while reports are sent

A report is this, and is never changed, so that every attempt sends the same bytes with the same upload id:

    offset  bytes  content
    0       8      "LDPOUT1\\n"
    8       16     the upload id, drawn at random
    24      ..     the batch, as it is sent
    ..      32     the SHA-256 of everything before

The files are taken in random order, so that a report which makes a server fail does not keep the others waiting for
ever.
"""

from __future__ import annotations

import os
import re
import stat
import time
from dataclasses import dataclass
from pathlib import Path

from localdp.client import lock
from localdp.client.pauses import Pauses
from localdp.client.private_files import (
    FOLDER_MODE,
    content,
    make_private,
    names,
    remove_unfinished,
    sealed,
    unsealed,
    write_private,
)
from localdp.client.upload import Answer, HttpUpload, Upload, answered

_MAGIC = b"LDPOUT1\n"
_ID_BYTES = 16
_SUFFIX = ".report"
_SHOWN = re.compile(r"[0-9a-f]+\.w([0-9]+)\.report")


@dataclass(frozen=True)
class Attempts:
    """What became of the attempts to send the reports of a plan, and the seconds to wait before the next ones.

    `busy` says that the server is in trouble.
    """

    delivered: int = 0
    dropped: tuple[str, ...] = ()
    trouble: str = ""
    pause: float = 0.0
    busy: bool = False


class PlanOutbox:
    """The waiting reports of one plan, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pauses = Pauses(folder / "pause")

    @property
    def waiting(self) -> int:
        """The number of waiting reports."""
        return len(self._names())

    @property
    def address(self) -> str | None:
        """The address that the reports were made for, if it is known."""
        try:
            data = content(self.folder / "address")
        except OSError:
            return None
        return None if data is None else data.decode("ascii", "replace")

    def put(self, body: bytes, address: str | None, upload_id: bytes | None = None, wording: int | None = None) -> None:
        """Keep a report until it is sent. When this returns, it is on the disk. The caller holds the store's lock.

        The upload id is drawn at random unless it is given. A report that is there already stays as it is.
        """
        for folder in (self.folder.parent, self.folder):
            make_private(folder)
            if stat.S_IMODE(folder.stat().st_mode) != FOLDER_MODE:
                folder.chmod(FOLDER_MODE)
        for target in (f"*{_SUFFIX}", "address"):
            remove_unfinished(self.folder, target)
        if address is None:
            (self.folder / "address").unlink(missing_ok=True)  # or this report would be sent there
        elif address != self.address:
            write_private(self.folder / "address", address.encode("ascii"))
        if upload_id is None:
            upload_id = os.urandom(_ID_BYTES)
        if not any(name.startswith(upload_id.hex()) for name in self._names()):
            shown = "" if wording is None else f".w{wording}"
            path = self.folder / f"{upload_id.hex()}{shown}{_SUFFIX}"
            write_private(path, sealed(_MAGIC + upload_id + body))

    def empty(self) -> None:
        """Give up everything that waits, and what a killed process left of it."""
        remove_unfinished(self.folder, f"*{_SUFFIX}")
        for name in self._names():
            (self.folder / name).unlink(missing_ok=True)

    def flush(self, upload: Upload, until: float) -> Attempts:
        """Try to send every waiting report once, until one of them fails for now or all are gone.

        No attempt is begun after `until`, by the clock that never goes back.
        """
        if not self.waiting:
            return Attempts()
        with lock.locked(self.folder / "lock", wait=0) as acquired:
            pause = self.pauses.left()
            if not acquired or pause:  # another process is sending them, or it is too early
                return Attempts(pause=pause)
            waiting = sorted(self._names(), key=lambda _: os.urandom(8))
            return self._attempts([self.folder / name for name in waiting], upload, until)

    def _attempts(self, paths: list[Path], upload: Upload, until: float) -> Attempts:
        delivered, trouble, pause = 0, "", 0.0
        dropped: list[str] = []
        for path in paths:
            if time.monotonic() > until:
                break
            try:
                data = content(path)
            except OSError as error:  # the others need not wait for it
                trouble = f"a report cannot be read: {error.strerror or error}"
                continue
            if data is None:
                continue
            answer = _sent(data, _showing(path.name, upload))
            if not (answer.delivered or answer.final):
                pause = self.pauses.failed(answer.retry_after)
                return Attempts(delivered, tuple(dropped), _said(answer), pause, answer.busy)
            self.pauses.succeeded()
            delivered += answer.delivered
            if answer.final:
                dropped.append(f"a report was dropped, because it can never be delivered: {_said(answer)}")
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                pause = self.pauses.failed(None)
                trouble = (
                    f"a report has arrived, but its file cannot be removed ({error.strerror or error}), so it will be "
                    "sent again with the same upload id"
                )
                break
        return Attempts(delivered, tuple(dropped), trouble, pause)

    def _names(self) -> list[str]:
        return [name for name in names(self.folder) if name.endswith(_SUFFIX)]


def _showing(name: str, upload: Upload) -> Upload:
    """What sends the report in a file of this name, with the version of the wording that is in the name."""
    shown = _SHOWN.fullmatch(name)
    return upload.showing(shown[1]) if shown and isinstance(upload, HttpUpload) else upload


def _sent(data: bytes, upload: Upload) -> Answer:
    """What is answered to a report in a file with this content."""
    inside = unsealed(data)
    if inside is None or not inside.startswith(_MAGIC):
        return Answer(400, detail="its file was damaged, and it was not sent")
    start = len(_MAGIC) + _ID_BYTES
    try:
        answer = upload(inside[start:], inside[len(_MAGIC) : start])
    except OSError as error:
        reason = getattr(error, "reason", error)  # urllib wraps what the operating system says
        said = getattr(reason, "strerror", None) or str(reason) or type(error).__name__
        return Answer(0, detail=said[:200])
    return answered(answer)


def _said(answer: Answer) -> str:
    """What a server answered, in words."""
    if not answer.status:
        return f"there was no answer ({answer.detail})" if answer.detail else "there was no answer"
    words = f": {answer.detail}" if answer.detail else ""
    return f"the server answered {answer.status}{words}"
