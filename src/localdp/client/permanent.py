"""A device that may be asked again and again: it answers from permanent responses, and pays for each value once."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from localdp.client.budget import Budget
from localdp.client.diary import Diary, Pages
from localdp.client.outbox import Delivery
from localdp.client.periods import is_over, period_of
from localdp.client.post import LONGEST_SEND, Post
from localdp.client.secret import Secret
from localdp.client.store import Store
from localdp.errors import BudgetError, InvalidInputError
from localdp.formats import batch
from localdp.held import OneUser
from localdp.mechanisms import Mechanism
from localdp.randomness import keystream
from localdp.randomness.keystream import Keystream
from localdp.studies import Part

_NOT_SENT = "the value was paid for, and the report was not sent"
_ID_BYTES = 16
_MOST_REMEMBERED = 256  # permanent responses in memory; others are derived again
Held = tuple[int, ...]
"""The indices of the items that the user holds, in ascending order: one, unless users hold sets."""


def permanent_response(mechanism: Mechanism, held: Held, key: bytes) -> bytes:
    """The permanent response to a value, drawn from the keystream of this key."""
    return mechanism.respond(OneUser(np.array(held, np.int64)), Keystream(key)).tobytes()


class Permanent:
    """The answers of one device in the only part of a study, which asks everybody.

    `Client` asks it the same as `OnePart`, and says what each method does.
    """

    place = None

    def __init__(self, part: Part, store: Store, budget: Budget, post: Post, diary: Diary, title: str) -> None:
        self._part, self._store, self._budget, self._post = part, store, budget, post
        self._diary, self._title = diary, title
        self._read, self._mechanism = part.question.read_one, part.plan.mechanism
        self._secret = Secret(store.secret, part.fingerprint)
        self._stream = keystream.secure()
        self._header = batch.pack(part.plan.fingerprint, np.empty((1, 0), np.uint8))
        self._responses: dict[Held, bytes] = {}

    @property
    def part(self) -> str:
        return self._part.fingerprint

    def report(self, value: Any, document: str | bytes | None = None) -> bytes:
        if document is not None:
            raise InvalidInputError("this client has a plan, which has no parts: leave out the document")
        return self._batch(self._response(self._read(value)))

    def send(self, value: Any, document: str | bytes | None = None, wording: int | None = None) -> Delivery:
        self._post.check_room()
        body = self.report(value, document)
        self._diary.note_sent(self.part, self._title, self._mechanism.epsilon)
        with self._store.explained("written", _NOT_SENT), self._store.locked():
            self._post.put(body, self.part, wording=wording)
        return self._post.flush(self.part, time.monotonic() + LONGEST_SEND)

    def send_once(
        self, value: Any, every: str | None, document: str | bytes | None, wording: int | None = None
    ) -> Delivery:
        """When an answer is made depends on the period, and never on the value: the first value counts.

        A device without a budget for a new value gives its last answer once more.
        """
        period_of(every)
        held = self._read(value)  # a value that cannot be reported is an error, whether or not there was an answer
        known = self._known()
        if document is not None:
            raise InvalidInputError("this client has a plan, which has no parts: leave out the document")
        if known is None or is_over(every, known["at"]):
            self._post.check_room()
            known = self._made_once(self._response_or_last(held, known), every, wording)
        if "body" in known:
            upload_id = known["id"]
            with self._store.explained("written", _NOT_SENT), self._store.locked():
                now = self._known() or {}  # its owner may have had it forgotten meanwhile
                if now.get("id") == upload_id and "body" in now:
                    self._post.put(bytes.fromhex(now["body"]), self.part, bytes.fromhex(upload_id), now.get("wording"))

            def posted(pages: Pages) -> bool:
                now = pages["answers"].get(self.part, {})
                return now.get("id") == upload_id and now.pop("body", None) is not None

            self._diary.change(posted)
        return self._post.flush(self.part, time.monotonic() + LONGEST_SEND)

    def answered(self, every: str | None) -> bool:
        period_of(every)
        known = self._known()
        # An answer that is not in the outbox yet can still be lost, unless somebody calls `send_once` again.
        return known is not None and "body" not in known and not is_over(every, known["at"])

    def clear_cache(self) -> None:
        self._responses.clear()

    def _known(self) -> dict[str, Any] | None:
        """The last answer."""
        known: dict[str, Any] | None = self._diary.read()["answers"].get(self.part)
        return known

    def _response_or_last(self, held: Held, known: dict[str, Any] | None) -> bytes:
        try:
            return self._response(held)
        except BudgetError:
            if known is None or "last" not in known:
                raise
            return bytes.fromhex(known["last"])

    def _made_once(self, response: bytes, every: str | None, wording: int | None) -> dict[str, Any]:
        """The answer of this period, from this response unless another process was faster."""
        made = {
            "at": time.time(),
            "id": os.urandom(_ID_BYTES).hex(),
            "body": self._batch(response).hex(),
            "last": response.hex(),
            "epsilon": self._mechanism.epsilon,
            "title": self._title,
            **({} if wording is None else {"wording": wording}),
        }

        def written(pages: Pages) -> bool:
            now = pages["answers"].get(self.part)
            if now is not None and not is_over(every, now["at"]):
                return False
            pages["answers"][self.part] = made
            return True

        answer: dict[str, Any] = self._diary.change(written)["answers"][self.part]
        return answer

    def _batch(self, response: bytes) -> bytes:
        if self._mechanism.perturbs_again:
            response = self._mechanism.again(np.frombuffer(response, np.uint8)[None], self._stream).tobytes()
        return self._header + response

    def _response(self, held: Held) -> bytes:
        response = self._responses.get(held)
        return self._permanent(held) if response is None else response

    def _permanent(self, held: Held) -> bytes:
        """The permanent response to a value, once it is paid for."""
        message, response = self._of_bucket(held) if self._mechanism.keeps_buckets else self._of_value(held)
        self._budget.pay(self._secret.digest(message), self._mechanism.epsilon)
        if len(self._responses) >= _MOST_REMEMBERED:
            self.clear_cache()
        self._responses[held] = response
        return response

    def _of_value(self, held: Held) -> tuple[bytes, bytes]:
        """What is paid for, and its permanent response: the value itself."""
        message = b"".join(index.to_bytes(8, "little") for index in held)
        return message, permanent_response(self._mechanism, held, self._secret.key(message))

    def _of_bucket(self, held: Held) -> tuple[bytes, bytes]:
        """The same where values share responses. The messages are longer than those of values, so that no key is."""
        shared = Keystream(self._secret.key(b"function of all values"))
        (bucket,) = self._mechanism.bucket(np.array(held), shared).tolist()
        message = b"bucket" + bucket.to_bytes(8, "little")
        key = Keystream(self._secret.key(message))
        return message, self._mechanism.randomize_bucket(np.array([bucket], np.uint64), key).tobytes()
