"""A device that may be asked again and again: it answers from permanent responses, and pays for each value once."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from localdp.client.answers import Answers
from localdp.client.budget import Budget
from localdp.client.outbox import Delivery
from localdp.client.post import LONGEST_SEND, Post
from localdp.client.secret import Secret
from localdp.client.short_way import Held, OneReport
from localdp.client.store import Store
from localdp.errors import InvalidInputError
from localdp.formats import batch
from localdp.randomness import keystream
from localdp.studies import Part

_NOT_SENT = "the value was paid for, and the report was not sent"
_MOST_REMEMBERED = 256  # permanent responses in memory; others are derived again


class Permanent(Answers):
    """The answers of one device in the only part of a study, which asks everybody."""

    def __init__(self, part: Part, store: Store, budget: Budget, post: Post) -> None:
        self._part, self._store, self._budget, self._post = part, store, budget, post
        self._read, self._mechanism = part.question.read_one, part.plan.mechanism
        self._secret = Secret(store.secret, part.fingerprint)
        self._single = OneReport(self._mechanism)
        self._stream = keystream.secure()
        self._header = batch.pack(part.plan.fingerprint, np.empty((1, 0), np.uint8))
        self._responses: dict[Held, bytes] = {}

    @property
    def part(self) -> str:
        return self._part.fingerprint

    def report(self, value: Any, document: str | bytes | None = None) -> bytes:
        if document is not None:
            raise InvalidInputError("this client has a plan, which has no parts: leave out the document")
        held = self._read(value)
        response = self._responses.get(held)
        if response is None:
            response = self._permanent(held)
        if self._mechanism.perturbs_again:
            response = self._single.again(response, self._stream)
        return self._header + response

    def send(self, value: Any, document: str | bytes | None = None) -> Delivery:
        self._post.check_room()
        body = self.report(value, document)
        with self._store.explained("written", _NOT_SENT), self._store.locked():
            self._post.put(body, self.part)
        return self._post.flush(self.part, time.monotonic() + LONGEST_SEND)

    def forget(self) -> None:
        self._responses.clear()

    def _permanent(self, held: Held) -> bytes:
        """The permanent response to a value, once it is paid for."""
        message = b"".join(index.to_bytes(8, "little") for index in held)
        response = self._single.permanent(held, self._secret.key(message))
        self._budget.pay(self._secret.digest(message), self._mechanism.epsilon)
        if len(self._responses) >= _MOST_REMEMBERED:
            self.forget()
        self._responses[held] = response
        return response
