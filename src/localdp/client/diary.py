"""What a device remembers of its answers, in one file of its store, without any value.

    offset  bytes  content
    0       8      "LDPDIA1\\n"
    8       ..     JSON: `answers` by the fingerprint of the plan or study, `out` if the owner has opted out, and what
                   was spent `before` the period of the cap
    ..      32     the SHA-256 of everything before

What `send` has sent is in `sent`, also by fingerprint, with the day when it last did so. An answer has the moment when
it was made (`at`), its upload id (`id`), its batch (`body`) until it is in the outbox, the permanent response that it
was made from (`last`), its `epsilon`, what was asked (`title`) and the version of the wording that was shown
(`wording`, if it is known). A damaged file is a `StoreError`: nobody knows what was answered.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from localdp.client.periods import is_over
from localdp.client.private_files import content, remove_unfinished, sealed, unsealed, write_private
from localdp.client.store import Store
from localdp.errors import StoreError

_MAGIC = b"LDPDIA1\n"
Pages = dict[str, Any]
"""The JSON object in the file."""


class Diary:
    """The file `diary` of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._path = store.kept("diary")

    def read(self) -> Pages:
        """What it holds now."""
        with self._store.explained("read"):
            data = content(self._path)
        if data is None:
            return {"answers": {}}
        inside = unsealed(data)
        if inside is None or not inside.startswith(_MAGIC):
            raise StoreError(
                f"what the store {self._store.folder} has of its answers is damaged, so nobody knows what this device "
                "has answered, and it answers nothing. Bring back the file diary from a backup"
            )
        pages: Pages = json.loads(inside[len(_MAGIC) :])
        return pages

    def change(self, update: Callable[[Pages], bool]) -> Pages:
        """Let a function change the pages. It says whether they are to be written; then they are on the disk."""
        with self._store.explained("written"), self._store.locked():
            pages = self.read()
            if update(pages):
                remove_unfinished(self._path.parent, self._path.name)
                write_private(self._path, sealed(_MAGIC + json.dumps(pages, separators=(",", ":")).encode()))
            return pages

    def note_sent(self, name: str, title: str, epsilon: float) -> None:
        """Write down, for the owner, that reports of this plan are sent: once a day, however many they are."""

        def noted(pages: Pages) -> bool:
            sent = pages.setdefault("sent", {})
            if name in sent and not is_over("day", sent[name]["at"]):
                return False
            sent[name] = {"at": time.time(), "epsilon": epsilon, "title": title}
            return True

        self.change(noted)

    def told(self) -> dict[str, dict[str, Any]]:
        """What was answered or sent last, by the fingerprint of the plan or study."""
        pages = self.read()
        told = {**pages.get("sent", {})}
        for name, answer in pages["answers"].items():
            if name not in told or told[name]["at"] < answer["at"]:
                told[name] = answer
        return told

    @property
    def opted_out(self) -> bool:
        """Whether the owner of the device has opted out."""
        return bool(self.read().get("out"))
