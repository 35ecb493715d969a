"""One device in a discovery: it knows which round it answers, and answers once.

The place of a device (see `places`), which decides which round it answers, is drawn from a keystream whose key is the
first 16 bytes of HMAC-SHA-256(secret of the device, "localdp place/1", 0x00, the discovery's fingerprint). So it is the
same whenever it is asked for, and never depends on the value.

The first report that a device makes in a discovery is the only one (`localdp.client.one_answer`).
"""

from __future__ import annotations

import hmac
import os
from hashlib import sha256
from typing import Any

import numpy as np

from localdp.client.budget import Budget
from localdp.client.one_answer import OneAnswer
from localdp.client.outbox import Delivery
from localdp.client.secret import KEY_BYTES
from localdp.client.store import Store
from localdp.client.upload import Upload
from localdp.discovery import places
from localdp.discovery.codes import code_named
from localdp.discovery.delivery import RoundPost
from localdp.discovery.rounds import Round
from localdp.errors import PlanError, PlanLimitError, PlanMismatchError
from localdp.formats import batch, canonical_json
from localdp.randomness.keystream import Keystream
from localdp.validation import checked_epsilon

_LONGEST_REPORT = 4_096  # bytes, as for `Client`; the longest report of a discovery of ours has 513


class DiscoveryClient:
    """One device: `report(value, document)` is its report, if the round in the document asks it, and None otherwise.

    `place` decides which round that is.

    `discovery` is the JSON of a discovery (`Discovery.to_json`), `store` the folder of the device, as for `Client`;
    `most` is its cap, over everything that it ever reports. A discovery that asks for a larger epsilon than
    `most_epsilon` is a `PlanLimitError`. `upload` is the address of the collector, or a function that takes a batch and
    an upload id; `token` is sent with uploads. With it, `send(value)` fetches the round under way and answers it.

    >>> import tempfile
    >>> from localdp import Discovery
    >>> discovery = Discovery(bits=16, epsilon=2.0, users=10_000)
    >>> client = DiscoveryClient(discovery.to_json(), store=tempfile.mkdtemp())
    >>> answer = client.report(12_345, discovery.round.to_json())
    >>> (answer is None) == (client.place >= discovery.round.span.end)
    True
    """

    def __init__(
        self,
        discovery: str | bytes,
        *,
        store: str | os.PathLike[str],
        most: float = 8.0,
        most_epsilon: float = 4.0,
        upload: str | Upload | None = None,
        token: str | None = None,
    ) -> None:
        document, self.fingerprint = _read(discovery)
        self.epsilon = checked_epsilon(document["epsilon"])
        if self.epsilon > checked_epsilon(most_epsilon):
            raise PlanLimitError(
                f"this discovery asks for epsilon {self.epsilon:g}, and this device gives at most {most_epsilon:g}"
            )
        self.code = code_named(document["values"])
        self._store = Store(store)
        self._budget = Budget(self._store, most)
        self._answer = OneAnswer(self._store, self._budget, self.fingerprint, self.epsilon, "discovery", "discoveries")
        key = hmac.new(self._store.secret, b"localdp place/1\0" + bytes.fromhex(self.fingerprint), sha256).digest()
        self.place = int(places.draw(1, Keystream(key[:KEY_BYTES]))[0])
        """The place of this device: it answers the round whose span holds it."""
        self._post = RoundPost(self._store, self.fingerprint, self._answer.path, upload, token)

    @property
    def spent(self) -> float:
        """The epsilon that this device has spent, in this and in everything else that its store knows of."""
        return self._budget.spent

    def report(self, value: str | int | None, document: str | bytes) -> bytes | None:
        """A batch of one report for the round in the document; None if it does not ask this device.

        A value that the discovery cannot find (too long, out of range, None) is reported as the catch-all. A device
        that has answered gives the same bytes again; another document for the same round is a `PlanMismatchError`. What
        this spends is on the disk before it returns; a `BudgetError` says that the cap is reached.
        """
        asked = Round.from_json(document, most_epsilon=self.epsilon, most_report_bytes=_LONGEST_REPORT)
        if asked.discovery != self.fingerprint:
            raise PlanMismatchError("this round belongs to another discovery")
        encoded = self.code.encode([value])
        if not asked.span.holds(np.array([self.place]))[0]:
            return None
        cell = asked.candidates.indices(encoded)

        def made(stream: Keystream) -> bytes:
            return batch.pack(asked.plan.fingerprint, asked.plan.mechanism.privatize(cell, stream))

        return self._answer.to(asked.fingerprint, cell.tolist(), made)

    def send(self, value: str | int | None, document: str | bytes | None = None) -> Delivery:
        """Answer the round under way if it asks this device, keep the report until it is delivered, and try to send it.

        Without a document, that of the round under way is fetched from the collector. A device that is not asked sends
        nothing; call this again in a later round. Once it has answered, this only sends what still waits: the same
        bytes with the same upload id.
        """
        if not self._post.posted:
            asked = self._post.fetch() if document is None else document
            if isinstance(asked, Delivery):
                return asked
            report = self.report(value, asked)
            if report is None:
                return Delivery()
            self._post.put(report, Round.from_json(asked).fingerprint)
        return self._post.flush()

    def flush(self) -> Delivery:
        """Try to send what waits."""
        return self._post.flush()

    def __repr__(self) -> str:
        return f"<DiscoveryClient of {self.fingerprint[:12]}, place {self.place}, spent {self.spent:.6g}>"


def _read(discovery: Any) -> tuple[dict[str, Any], str]:
    """The document of a discovery, and its fingerprint."""
    try:
        document = canonical_json.loads(discovery)
        fingerprint = sha256(canonical_json.dumps(document).encode()).hexdigest()
    except (ValueError, TypeError, RecursionError):
        raise PlanError("this is not a discovery: it is not text in JSON") from None
    keys = {"format", "name", "values", "epsilon", "users", "top", "design"}
    if not isinstance(document, dict) or set(document) != keys or document["format"] != "localdp-discovery/1":
        raise PlanError('this is not a discovery: it is not a document "localdp-discovery/1"')
    return document, fingerprint
