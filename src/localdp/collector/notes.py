"""Notes: what an administrator is doing goes into the trail in the transaction that does it.

A request carries a note from its beginning. The first transaction that it changes something in writes the note down as
well, so there is no change without a note, whatever happens in between. One that takes several transactions, such as
deleting a collection, is noted with the first. The pools and the writer hand the note on, by a context variable.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from dataclasses import dataclass

from localdp.collector.storage import trail
from localdp.collector.storage.database import Session
from localdp.collector.storage.tokens import StoredToken


@dataclass
class Note:
    """What the holder of a token is doing, to the collection with this id; whoever does it may add a detail."""

    token: StoredToken
    what: str
    collection: str = ""
    detail: str = ""
    written: bool = False

    def write(self, session: Session) -> None:
        """Write it into the trail. It counts as `written` when the transaction has ended, which the writer says."""
        entry = trail.Entry(int(time.time()), self.token.id, self.token.name, self.what, self.collection, self.detail)
        trail.add(session, entry)


CURRENT: ContextVar[Note | None] = ContextVar("note", default=None)
"""The note of the request that is being answered, if an administrator makes it."""


def about(collection: str) -> None:
    """Say which collection is being made, unless it is made of another one."""
    note = CURRENT.get()
    if note is not None and not note.collection:
        note.collection = collection


def add_detail(text: str) -> None:
    """Say more about what is being done. Called before the change is made, or within its transaction."""
    note = CURRENT.get()
    if note is not None:
        note.detail = text
