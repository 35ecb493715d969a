"""A device in a study of several parts: it knows which of them asks it, and answers once.

The place of a device (see `localdp.studies.places`) is drawn from a keystream whose key is the first 16 bytes of
HMAC-SHA-256(secret of the device, "localdp place/1", 0x00, the study's fingerprint), or with another label in the place
of "place" that the study gives. So it is the same whenever it is asked for, and never depends on the value.

The first report that a device makes in a study is the only one (`one_answer`), so it has one upload, whose id is
derived in the same way, with the label "localdp upload/1". However often the report is put into the outbox and sent,
the collector counts it once. A file beside the answer says that it was put there.
"""

from __future__ import annotations

import hmac
import time
from hashlib import sha256
from typing import Any

from localdp.client.budget import Budget
from localdp.client.diary import Diary, Pages
from localdp.client.one_answer import OneAnswer, posted
from localdp.client.outbox import Delivery
from localdp.client.post import LONGEST_SEND, Post
from localdp.client.private_files import content, write_private
from localdp.client.secret import KEY_BYTES
from localdp.client.store import Store
from localdp.errors import InvalidInputError
from localdp.formats import batch
from localdp.plan.limits import Limits
from localdp.randomness.keystream import Keystream
from localdp.studies import Study

_ID_BYTES = 16
_NOT_SENT = "the answer was paid for, and was not sent"


class OnePart:
    """The one answer of one device in a study; a `Client` asks it as it asks `Permanent`."""

    def __init__(
        self, study: Study, store: Store, budget: Budget, post: Post, limits: Limits, diary: Diary, title: str
    ) -> None:
        self._study, self._store, self._post, self._limits = study, store, post, limits
        self._diary, self._title = diary, title
        self._answer = OneAnswer(store, budget, study.fingerprint, study.epsilon, study.what, study.folder)
        self._posted = posted(self._answer.path)
        self.place = int(study.places.draw(1, Keystream(self._derived(study.places.label)[:KEY_BYTES]))[0])

    @property
    def part(self) -> str | None:
        return self._answer.asked

    def clear_cache(self) -> None:
        """Nothing to drop: the answer is on the disk."""

    def report(self, value: Any, document: str | bytes | None = None) -> bytes | None:
        part = self._study.part_in(self._asked(document), self._limits)
        held = part.question.read([value])
        if self.place not in part.span:
            return None

        def made(stream: Keystream) -> bytes:
            return batch.pack(part.plan.fingerprint, part.plan.mechanism.answer(held, stream))

        return self._answer.to(part.fingerprint, held.items.tolist(), made)

    def send(self, value: Any, document: str | bytes | None = None, wording: int | None = None) -> Delivery:
        if not self._is_posted():
            self._post.check_room()  # before the answer is paid for
            known = self._asked(document)
            asked = self._post.fetch() if known is None else known
            if isinstance(asked, Delivery):
                return asked
            report = self.report(value, asked)
            if report is None:
                return Delivery(asked=False)
            noted = self._diary.change(lambda pages: self._noted(pages, wording))
            shown = noted["answers"][self._study.fingerprint].get("wording")
            with self._store.explained("written", _NOT_SENT), self._store.locked():
                if not self._is_posted():
                    part = self._study.part_in(asked, self._limits).fingerprint
                    self._post.put(report, part, self._derived("upload")[:_ID_BYTES], shown)
                    write_private(self._posted, b"")
        return self._post.flush(self.part, time.monotonic() + LONGEST_SEND)

    def _asked(self, document: str | bytes | None) -> str | bytes | None:
        """The document that was given, or that of the part that asks this device, if the study alone tells it."""
        if document is not None or self._study.goes_on:
            return document
        part = self._study.part_at(self.place)
        return None if part is None else part.to_json()

    def send_once(
        self, value: Any, every: str | None, document: str | bytes | None, wording: int | None = None
    ) -> Delivery:
        if every is not None:
            raise InvalidInputError(f"a {self._study.what} asks each device once: leave out every")
        return self.send(value, document, wording)

    def answered(self, every: str | None) -> bool:  # noqa: ARG002 (there is one answer for ever)
        return self._is_posted()

    def _noted(self, pages: Pages, wording: int | None) -> bool:
        """Write down that there is an answer, for the owner of the device, and the version that was shown."""
        made = {"at": time.time(), "epsilon": self._study.epsilon, "title": self._title}
        if wording is not None:
            made["wording"] = wording
        return bool(pages["answers"].setdefault(self._study.fingerprint, made) is made)

    def _is_posted(self) -> bool:
        """Whether the report was put into the outbox before, from where it is sent."""
        with self._store.explained("read"):
            return content(self._posted) is not None

    def _derived(self, label: str) -> bytes:
        message = f"localdp {label}/1\0".encode() + bytes.fromhex(self._study.fingerprint)
        return hmac.new(self._store.secret, message, sha256).digest()
