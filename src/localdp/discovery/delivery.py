"""From a device to the collector: the round under way is fetched, and the one report is kept until it is delivered.

    GET  <collector>/v1/discoveries/<discovery>/round                       the document of the round under way
    POST <collector>/v1/discoveries/<discovery>/rounds/<round>/reports      the report

A device makes one report in a discovery, so it has one upload, whose id is derived from the secret of the device: the
first 16 bytes of HMAC-SHA-256(secret, "localdp upload/1", 0x00, the discovery's fingerprint). However often the report
is put into the outbox and sent, the collector counts it once. A file beside the answer says that it was put there.
"""

from __future__ import annotations

import hmac
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

from localdp.client.outbox import Delivery, Outbox
from localdp.client.private_files import content, write_private
from localdp.client.store import Store
from localdp.client.upload import HttpUpload, Upload, to_route
from localdp.errors import InvalidInputError

_ID_BYTES = 16
_LONGEST_ROUND = 1 << 24  # bytes of the document of a round
_LONGEST_SEND = 30.0
_NOT_SENT = "the answer was paid for, and was not sent"


class RoundPost:
    """What sends the report of one device in one discovery. `answer` is the file with its answer."""

    def __init__(
        self, store: Store, fingerprint: str, answer: Path, upload: str | Upload | None, token: str | None
    ) -> None:
        self._store, self._fingerprint, self._posted = store, fingerprint, answer.with_name(f"{answer.name}.posted")
        self._base = upload.rstrip("/") if isinstance(upload, str) else None
        self._token = token
        self._upload: Any = upload if self._base is None else self._to(f"/v1/discoveries/{fingerprint}/round")
        if isinstance(self._upload, HttpUpload) and not self._upload.address.endswith("/round"):
            raise InvalidInputError("upload, the address of the collector, has no path: https://collector.example")
        if self._upload is not None and not callable(self._upload):
            raise InvalidInputError(f"upload is an address or a function, not {type(upload).__name__}")
        self._outbox = Outbox(store.kept("outbox"), fingerprint, 1_000)

    @property
    def posted(self) -> bool:
        """Whether the report was put into the outbox before, from where it is sent."""
        with self._store.explained("read"):
            return content(self._posted) is not None

    def fetch(self) -> str | Delivery:
        """The document of the round under way; what became of the attempt if there is none."""
        if not isinstance(self._needed(), HttpUpload):
            raise InvalidInputError("give the document of the round: a function cannot be asked for it")
        from localdp.client.http_post import get  # this loads more than all the rest of the client

        headers = {"User-Agent": "localdp"}
        try:
            status, _, said = get(f"{self._base}/v1/discoveries/{self._fingerprint}/round", headers, _LONGEST_ROUND)
        except OSError as error:
            return Delivery(trouble=f"the round could not be fetched: {error}"[:300])
        if status != 200:
            words = " ".join(said.decode("utf-8", "replace").split())
            return Delivery(trouble=f"the round could not be fetched: the server answered {status}: {words}"[:300])
        return said.decode("utf-8", "replace")

    def put(self, body: bytes, asked: str) -> None:
        """Put the report of the round with this fingerprint into the outbox, once."""
        upload = self._needed()
        if self._base is not None:
            upload = self._to(f"/v1/discoveries/{self._fingerprint}/rounds/{asked}/reports")
        key = hmac.new(self._store.secret, b"localdp upload/1\0" + bytes.fromhex(self._fingerprint), sha256)
        with self._store.explained("written", _NOT_SENT), self._store.locked():
            if content(self._posted) is None:
                self._outbox.put(body, upload, key.digest()[:_ID_BYTES])
                write_private(self._posted, b"")

    def flush(self) -> Delivery:
        """Try to send what waits."""
        upload = self._needed()
        with self._store.explained("used to send reports", "reports that were not delivered are still waiting"):
            if isinstance(upload, HttpUpload) and self._outbox.address is not None:
                upload = upload.at(self._outbox.address) or upload
            return self._outbox.flush(upload, time.monotonic() + _LONGEST_SEND)

    def _to(self, route: str) -> HttpUpload:
        return to_route(self._base or "", route, self._token)

    def _needed(self) -> Upload:
        upload: Upload | None = self._upload
        if upload is None:
            raise InvalidInputError("this client does not know where to send reports: make it with upload=, an address")
        return upload
