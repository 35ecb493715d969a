"""A device that is asked for its value, perhaps again and again, and answers within a budget."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Collection
from typing import Any

import numpy as np

from localdp.client.budget import Budget
from localdp.client.outbox import Delivery, Outbox
from localdp.client.secret import Secret
from localdp.client.single import Held, Single
from localdp.client.store import Store
from localdp.client.upload import Upload, by_http
from localdp.errors import InvalidInputError
from localdp.formats import batch
from localdp.item_sets import ItemSets
from localdp.items import Item
from localdp.plan import Plan
from localdp.plan.limits import Limits
from localdp.randomness import keystream
from localdp.validation import checked_amount

_TURN = 0.05  # seconds to wait while another process is sending
_LONGEST_SEND = 30.0  # seconds after which `send` begins no further upload
_NOT_SENT = "the value was paid for, and the report was not sent"
_STILL_WAITING = "reports that were not delivered are still waiting"
_MOST_REMEMBERED = 256  # permanent responses in memory; others are derived again


Value = Item | Collection[Item]
"""An item, or under a plan with sets a list of items."""


class Client:
    """One device: `report(value)` gives a batch of one report, as bytes, to be sent to the collector.

    `plan` is a `Plan`, or its JSON as it came from the collector. `store` is a folder for the secret of this device and
    for what it has spent; it is made if it is missing. Losing it makes a new device, which spends epsilon anew.

    Asked again for the same value, the device makes its report from the same permanent response. Without `once` in the
    plan the bytes are the same; with it, every report perturbs the permanent response once more. So a value spends the
    plan's epsilon once, however often it is asked for. Every other value spends it again, until the cap `most` is
    reached, which holds for all plans of the store together. Then new values are a `BudgetError`.

    The device refuses plans that ask too much, with a `PlanLimitError`: a larger epsilon than `most_epsilon`, longer
    reports than `most_report_bytes`, more items than `most_items`, and with `needs_other` also plans without a
    catch-all item.

    `upload` is the address of the collector, or a function that takes a batch and an upload id of 16 bytes. With it,
    `send(value)` keeps a report on the disk until it is delivered. At most `most_waiting` reports wait. `token` is
    sent with every upload, if the collector wants one.

    >>> import tempfile
    >>> plan = Plan(["tea", "coffee", "water"], epsilon=1.0)
    >>> client = Client(plan, store=tempfile.mkdtemp(), most=4.0)
    >>> client.report("tea") == client.report("tea")
    True
    >>> client.spent == plan.mechanism.epsilon, client.most
    (True, 4.0)
    """

    def __init__(
        self,
        plan: Plan | str | bytes,
        *,
        store: str | os.PathLike[str],
        most: float = 8.0,
        upload: str | Upload | None = None,
        token: str | None = None,
        most_waiting: int = 1_000,
        most_epsilon: float = 4.0,
        most_report_bytes: int = 4_096,
        most_items: int = 100_000,
        needs_other: bool = False,
    ) -> None:
        self.plan = _accepted(plan, most_epsilon, most_report_bytes, most_items, needs_other)
        waiting = checked_amount(most_waiting, 1_000_000, "most_waiting, the number of reports that may wait,")
        self._upload = by_http(upload, self.plan.fingerprint, token) if isinstance(upload, str) else upload
        if self._upload is not None and not callable(self._upload):
            raise InvalidInputError(f"upload is an address or a function, not {type(upload).__name__}")
        self._store = Store(store)
        self._budget = Budget(self._store, most)
        self._outbox = Outbox(self._store.kept("outbox"), self.plan.fingerprint, waiting)
        self._secret = Secret(self._store.secret, self.plan.fingerprint)
        self._single = Single(self.plan.mechanism)
        self._stream = keystream.secure()
        self._header = batch.pack(self.plan.fingerprint, np.empty((1, 0), np.uint8))
        self._responses: dict[Held, bytes] = {}

    @property
    def spent(self) -> float:
        """The epsilon that this device has spent, under all plans of its store, through this and other processes."""
        return self._budget.spent

    @property
    def most(self) -> float:
        """The cap: what this device spends at most."""
        return self._budget.most

    @property
    def waiting(self) -> int:
        """The number of reports that wait to be sent, under all plans of the store."""
        with self._store.explained("read", _STILL_WAITING):
            return self._outbox.waiting

    def report(self, value: Value) -> bytes:
        """A batch of one report, in the wire format. What it spends is on the disk before this returns.

        Under a plan with `set_size`, the value is a list of items. Every other set is a new value.

        A new value that the device has no budget for is a `BudgetError`, a store that cannot be read or written a
        `StoreError`. Then nothing is released.
        """
        held = self._held(value)
        response = self._responses.get(held)
        if response is None:
            response = self._permanent(held)
        if self.plan.mechanism.perturbs_again:
            response = self._single.again(response, self._stream)
        return self._header + response

    def send(self, value: Value) -> Delivery:
        """Make a report, keep it on the disk until it is delivered, and try to send what is waiting.

        Without a network the report waits for the next `send` or `flush`. So do others if sending takes more than 30
        seconds. An `OutboxFullError` says that too many reports are waiting already; then nothing is
        released, and nothing is spent unless another process took the last place at this moment.
        """
        upload = self._needed_upload()
        with self._store.explained("read"):
            self._outbox.check_room()
        body = self.report(value)
        with self._store.explained("written", _NOT_SENT), self._store.locked():
            self._outbox.put(body, upload)
        return self._flush(upload, time.monotonic() + _LONGEST_SEND)

    def flush(self, wait: float = 0.0) -> Delivery:
        """Try to send what is waiting, unless a pause after a failure is not over yet.

        With `wait`, try again after every pause for up to this many seconds.
        """
        upload = self._needed_upload()
        until = time.monotonic() + wait
        done = self._flush(upload)
        while done.waiting > done.elsewhere and time.monotonic() + done.pause < until:
            time.sleep(done.pause or _TURN)
            done = self._flush(upload).after(done)
        return done

    def forget(self) -> None:
        """Drop the permanent responses that are in memory. They are derived again when they are needed."""
        self._responses.clear()

    def _held(self, value: Value) -> Held:
        """The indices of the items that the user holds, in ascending order: one, unless users hold sets."""
        if self.plan.mechanism.holds_sets:
            return tuple(ItemSets.read([value], self.plan.domain).items.tolist())
        return (self.plan.domain.index(value),)

    def _permanent(self, held: Held) -> bytes:
        """The permanent response to a value, once it is paid for."""
        mechanism = self.plan.mechanism
        message = b"".join(index.to_bytes(8, "little") for index in held)
        response = self._single.permanent(held, self._secret.key(message))
        self._budget.pay(self._secret.digest(message), mechanism.epsilon)
        if len(self._responses) >= _MOST_REMEMBERED:
            self.forget()
        self._responses[held] = response
        return response

    def _flush(self, upload: Upload, until: float = math.inf) -> Delivery:
        with self._store.explained("used to send reports", _STILL_WAITING):
            return self._outbox.flush(upload, until)

    def _needed_upload(self) -> Upload:
        if self._upload is None:
            raise InvalidInputError("this client does not know where to send reports: make it with upload=, an address")
        return self._upload

    def __repr__(self) -> str:
        return f"<Client of {self.plan!r}, spent {self.spent:.6g} of {self.most:g}>"


def _accepted(plan: Any, most_epsilon: float, most_report_bytes: int, most_items: int, needs_other: bool) -> Plan:
    """The plan, if it asks no more of this device than these limits."""
    if isinstance(plan, str | bytes):
        return Plan.from_json(
            plan,
            most_epsilon=most_epsilon,
            most_report_bytes=most_report_bytes,
            most_items=most_items,
            needs_other=needs_other,
        )
    if not isinstance(plan, Plan):
        raise InvalidInputError(f"a client needs a plan, or the JSON of one, not {type(plan).__name__}")
    limits = Limits(most_epsilon, most_report_bytes, most_items, needs_other)
    limits.check_document({"domain": {} if plan.domain.other is None else {"other": plan.domain.other}})
    limits.check(plan.mechanism)
    return plan
