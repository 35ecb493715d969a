"""From a device to the collector: the part under way is fetched, and reports are kept until they are delivered."""

from __future__ import annotations

import math
from collections.abc import Callable

from localdp.client.addresses import Addresses
from localdp.client.outbox import Delivery, Outbox
from localdp.client.store import Store
from localdp.client.upload import shown
from localdp.client.wording import Wording, wording_in

LONGEST_SEND = 30.0
"""Seconds after which `send` begins no further upload."""
_LONGEST_PART = 1 << 24  # bytes of the document of a part
_LONGEST_WORDING = 1 << 20
_STILL_WAITING = "reports that were not delivered are still waiting"


class Post:
    """What sends the reports of one device in the study with this fingerprint."""

    def __init__(
        self, store: Store, study: str, addresses: Addresses, most_waiting: int, is_out: Callable[[], bool]
    ) -> None:
        self._store, self._addresses, self._is_out = store, addresses, is_out
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
        status, said = _got(self._addresses.part(), _LONGEST_PART)
        if status != 200:
            answered = f"the server answered {status}: " if status else ""
            return Delivery(trouble=f"the part could not be fetched: {answered}{shown(said)}"[:300])
        return said

    def fetch_wording(self) -> Wording | None:
        """What people are to read now; None if the collector does not say."""
        status, said = _got(self._addresses.wording(), _LONGEST_WORDING)
        return wording_in(said) if status == 200 else None

    def put(self, body: bytes, part: str, upload_id: bytes | None = None, wording: int | None = None) -> None:
        """Keep a report of this part until it is sent. The caller holds the lock of the store."""
        self._outbox.put(body, self._addresses.reports(part), upload_id, wording)

    def empty(self) -> None:
        """Give up everything that waits. The caller holds the lock of the store."""
        self._outbox.empty()

    def flush(self, part: str | None, until: float = math.inf) -> Delivery:
        """Try to send what waits. `part` is the one that the device's own reports are of, if it is known.

        After an opt-out nothing is sent, also not what another process has put there meanwhile.
        """
        if self._is_out():
            with self._store.explained("written"), self._store.locked():
                self.empty()
            return Delivery()
        with self._store.explained("used to send reports", _STILL_WAITING):
            return self._outbox.flush(self._addresses.reports(part, self._outbox.address), until)


def _got(address: str, most: int) -> tuple[int, str]:
    """The status and the text that a collector answers; 0 and the reason if there was no answer."""
    from localdp.client.http_post import get  # this loads more than all the rest of the client

    try:
        status, _, said = get(address, {"User-Agent": "localdp"}, most)
    except OSError as error:
        return 0, str(error)
    return status, said.decode("utf-8", "replace")
