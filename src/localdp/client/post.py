"""From a device to the collector: the part under way is fetched, and reports are kept until they are delivered."""

from __future__ import annotations

import math

from localdp.client.addresses import Addresses
from localdp.client.outbox import Delivery, Outbox
from localdp.client.store import Store

LONGEST_SEND = 30.0
"""Seconds after which `send` begins no further upload."""
_LONGEST_PART = 1 << 24  # bytes of the document of a part
_STILL_WAITING = "reports that were not delivered are still waiting"


class Post:
    """What sends the reports of one device in the study with this fingerprint."""

    def __init__(self, store: Store, study: str, addresses: Addresses, most_waiting: int) -> None:
        self._store, self._addresses = store, addresses
        self._outbox = Outbox(store.kept("outbox"), study, most_waiting)

    @property
    def waiting(self) -> int:
        """The number of reports that wait to be sent, in all studies of the store."""
        with self._store.explained("read", _STILL_WAITING):
            return self._outbox.waiting

    def check_room(self) -> None:
        """Raise an error if no more reports can wait, or if nobody knows where to send them."""
        self._addresses.reports(None)
        with self._store.explained("read"):
            self._outbox.check_room()

    def fetch(self) -> str | Delivery:
        """The document of the part under way; what became of the attempt if there is none."""
        address = self._addresses.part()
        from localdp.client.http_post import get  # this loads more than all the rest of the client

        try:
            status, _, said = get(address, {"User-Agent": "localdp"}, _LONGEST_PART)
        except OSError as error:
            return Delivery(trouble=f"the part could not be fetched: {error}"[:300])
        if status != 200:
            words = " ".join(said.decode("utf-8", "replace").split())
            return Delivery(trouble=f"the part could not be fetched: the server answered {status}: {words}"[:300])
        return said.decode("utf-8", "replace")

    def put(self, body: bytes, part: str, upload_id: bytes | None = None) -> None:
        """Keep a report of this part until it is sent. The caller holds the lock of the store."""
        self._outbox.put(body, self._addresses.reports(part), upload_id)

    def empty(self) -> None:
        """Give up everything that waits."""
        with self._store.explained("written"), self._store.locked():
            self._outbox.empty()

    def flush(self, part: str | None, until: float = math.inf) -> Delivery:
        """Try to send what waits. `part` is the one that the device's own reports are of, if it is known."""
        with self._store.explained("used to send reports", _STILL_WAITING):
            return self._outbox.flush(self._addresses.reports(part, self._outbox.address), until)
