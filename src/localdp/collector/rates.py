"""A limit on the requests of each address.

A household or a machine on the net has 2^64 addresses of IPv6, so all with the same first 64 bits count as one.

Addresses are kept in memory only, under a random key of this process, and are forgotten after some seconds of silence.
They are written nowhere.
"""

from __future__ import annotations

import ipaddress
import secrets
import time

_BURST = 10.0  # seconds' worth of requests that may come at once
_MOST_ADDRESSES = 100_000
BYTES = 1 << 16
"""Bytes of a body that count as one request."""


class Rate:
    """Requests a second for each address, with bursts of ten times as many; 0 means no limit.

    A long body counts as several requests: one more for every `BYTES` of it.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._salt = secrets.token_bytes(16)
        self._buckets: dict[int, tuple[float, float]] = {}

    def wait(self, address: str, now: float | None = None, cost: float = 1.0) -> int:
        """0 if a request that counts as `cost` requests may go on, or else the seconds to wait."""
        moment = time.monotonic() if now is None else now
        key = hash((self._salt, _sender(address)))
        left, seen = self._buckets.get(key, (self.rate * _BURST, moment))
        left = min(self.rate * _BURST, left + (moment - seen) * self.rate)
        if len(self._buckets) >= _MOST_ADDRESSES:
            self._forget(moment)
        needed = min(cost, self.rate * _BURST)
        if left < needed:
            self._buckets[key] = (left, moment)
            return max(1, int((needed - left) / self.rate))
        self._buckets[key] = (left - needed, moment)
        return 0

    def _forget(self, moment: float) -> None:
        """Forget the addresses whose bursts are whole again, or all of them if these are too few."""
        kept = {key: one for key, one in self._buckets.items() if moment - one[1] < _BURST}
        self._buckets = kept if len(kept) < _MOST_ADDRESSES else {}


def _sender(address: str) -> str:
    """Whom an address stands for: itself, or the network of an address of IPv6."""
    if ":" not in address:
        return address
    try:
        found = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    return str(found.ipv4_mapped or int(found) >> 64)
