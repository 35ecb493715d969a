"""Reports that wait to be sent: one file for each, written before the first attempt and removed after the last one.

    offset  bytes  content
    0       8      "LDPOUT1\\n"
    8       16     the upload id, drawn at random
    24      ..     the batch, as it is sent
    ..      32     the SHA-256 of everything before

The file is never changed, so every attempt sends the same bytes with the same upload id, and a collector that has seen
the id counts the report once. The files are taken in random order, so that a report which makes a server fail does not
keep the others waiting for ever.

    the answer                                      what happens
    2xx                                             the report was delivered, and its file is removed
    4xx, except 408, 425 and 429                    it can never succeed: its file is removed, and the caller is told
    anything else, no answer, no network            it stays, and nothing more is tried until a pause is over
"""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from localdp.client import lock
from localdp.client.pauses import Pauses
from localdp.client.store import make_private, write_private
from localdp.client.upload import Answer, Upload
from localdp.errors import OutboxFullError

_MAGIC = b"LDPOUT1\n"
_ID_BYTES, _CHECKSUM_BYTES = 16, 32
_SUFFIX = ".report"


@dataclass(frozen=True)
class Delivery:
    """What became of the reports in an outbox.

    `delivered` were taken by the collector, `waiting` will be tried again, `pause` seconds from now at the earliest.
    `dropped` holds one sentence for each report that can never be delivered and was removed. `trouble` says why the
    last attempt failed, if it did.
    """

    delivered: int = 0
    waiting: int = 0
    pause: float = 0.0
    dropped: tuple[str, ...] = ()
    trouble: str = ""

    def after(self, earlier: Delivery) -> Delivery:
        """This delivery and an earlier one, as one."""
        total, dropped = earlier.delivered + self.delivered, earlier.dropped + self.dropped
        return Delivery(total, self.waiting, self.pause, dropped, self.trouble)


class Outbox:
    """The waiting reports of one plan, in a folder, at most `most` of them."""

    def __init__(self, folder: Path, most: int) -> None:
        self._folder = folder
        self._most = most
        self._pauses = Pauses(folder / "pause")

    @property
    def waiting(self) -> int:
        """The number of waiting reports."""
        return sum(1 for _ in self._files())

    def check_room(self) -> None:
        """Raise an `OutboxFullError` if no more reports can wait."""
        if self.waiting >= self._most:
            raise OutboxFullError(
                f"{self._most:,} reports are waiting to be sent in {self._folder}, and no more are taken: see whether "
                "the address is right and the server answers, and call flush"
            )

    def put(self, body: bytes) -> None:
        """Keep a report until it is sent. When this returns, it is on the disk."""
        self.check_room()
        make_private(self._folder)
        upload_id = os.urandom(_ID_BYTES)
        content = _MAGIC + upload_id + body
        write_private(self._folder / f"{upload_id.hex()}{_SUFFIX}", content + hashlib.sha256(content).digest())

    def flush(self, upload: Upload) -> Delivery:
        """Try to send every waiting report once, until one of them fails for now or all are gone."""
        if not self._folder.is_dir():
            return Delivery()
        with lock.locked(self._folder / "lock", wait=0) as acquired:
            pause = self._pauses.left()
            if not acquired or pause:  # another process is sending them, or it is too early
                return Delivery(waiting=self.waiting, pause=pause)
            files = list(self._files())
            random.SystemRandom().shuffle(files)
            delivered, dropped, trouble = 0, [], ""
            for path in files:
                answer = self._attempt(path, upload)
                if not (answer.delivered or answer.final):
                    pause, trouble = self._pauses.failed(answer.retry_after), _said(answer)
                    break
                self._pauses.succeeded()
                path.unlink(missing_ok=True)
                delivered += answer.delivered
                if answer.final:
                    dropped.append(f"a report was dropped, because it can never be delivered: {_said(answer)}")
            return Delivery(delivered, self.waiting, pause, tuple(dropped), trouble)

    def _attempt(self, path: Path, upload: Upload) -> Answer:
        waiting = _parts(path)
        if waiting is None:
            return Answer(400, detail="its file was damaged, and it was not sent")
        try:
            answer = upload(*waiting)
        except OSError as error:
            reason = getattr(error, "reason", error)  # urllib wraps what the operating system says
            said = getattr(reason, "strerror", None) or str(reason) or type(error).__name__
            return Answer(0, detail=said[:200])
        if isinstance(answer, Answer):
            return answer
        return Answer(200 if answer is None else int(answer))

    def _files(self) -> Iterator[Path]:
        return self._folder.glob(f"*{_SUFFIX}")


def _parts(path: Path) -> tuple[bytes, bytes] | None:
    """The batch and the upload id in a file, or None if the file is not as it was written."""
    data = path.read_bytes()
    content, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    if hashlib.sha256(content).digest() != checksum or content[: len(_MAGIC)] != _MAGIC:
        return None
    return content[len(_MAGIC) + _ID_BYTES :], content[len(_MAGIC) : len(_MAGIC) + _ID_BYTES]


def _said(answer: Answer) -> str:
    """What a server answered, in words."""
    if not answer.status:
        return f"there was no answer ({answer.detail})"
    words = f": {answer.detail}" if answer.detail else ""
    return f"the server answered {answer.status}{words}"
