"""One device in a discovery, by its older name: `localdp.Client` takes discoveries too."""

from __future__ import annotations

import os

from localdp.client import Client
from localdp.client.addresses import DISCOVERIES
from localdp.client.upload import Upload
from localdp.discovery.codes import Code
from localdp.discovery.discovery import Discovery


class DiscoveryClient(Client):
    """One device: `report(value, document)` is its report, if the round in the document asks it, and None otherwise.

    `place` decides which round that is.

    `discovery` is the JSON of a discovery (`Discovery.to_json`), `store` the folder of the device, as for `Client`;
    `most` is its cap, over everything that it ever reports. A discovery that asks for a larger epsilon than
    `most_epsilon` is a `PlanLimitError`. `upload` is the address of the collector, or a function that takes a batch and
    an upload id; `token` is sent with uploads. With it, `send(value)` fetches the round under way and answers it. A
    value that the discovery cannot find (too long, out of range, None) is reported as the catch-all.

    >>> import tempfile
    >>> from localdp import Discovery
    >>> discovery = Discovery(bits=16, epsilon=2.0, users=10_000)
    >>> client = DiscoveryClient(discovery.to_json(), store=tempfile.mkdtemp())
    >>> answer = client.report(12_345, discovery.round.to_json())
    >>> (answer is None) == (client.place >= discovery.round.span.end)
    True
    """

    _routes = DISCOVERIES
    study: Discovery

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
        made = Discovery.from_json(discovery)
        super().__init__(made, store=store, most=most, most_epsilon=most_epsilon, upload=upload, token=token)

    @property
    def code(self) -> Code:
        """How values become bits."""
        return self.study.code

    def __repr__(self) -> str:
        return f"<DiscoveryClient of {self.fingerprint[:12]}, place {self.place}, spent {self.spent:.6g}>"
