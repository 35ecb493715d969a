"""Keys and digests of one device under one plan, derived from the secret of the device.

The permanent response to a value must be the same whenever it is asked for, without being stored, and must look random
to everybody else. So the key of the keystream that it is drawn from is derived by a pseudorandom function:

    F(label, message) = HMAC-SHA-256(secret, label, 0x00, the plan's fingerprint (32 bytes), message)

    key of the permanent response   the first 16 bytes of F("localdp permanent/1", value)
    digest of a payment             the first 16 bytes of F("localdp spent/1", value)

where the value is the index of the item as 8 bytes, little-endian. A value that is not listed is the catch-all item. If
users hold sets, the value is the indices of all its items, in ascending order, one after the other.
The permanent response is what `Mechanism.permanent` draws from AES-128-CTR under that key, with the counter at zero.
Where values share responses (`llh+llh`), the hash function is drawn under the key of "function of all values", and the
value is "bucket" and the number of the function and the symbol as 8 bytes.

Every key serves one response only. Keys of other values, plans and devices are independent of it, as far as
HMAC-SHA-256 is a pseudorandom function.
"""

from __future__ import annotations

import hmac
from hashlib import sha256

from localdp.client.record import DIGEST_BYTES

KEY_BYTES = 16


class Secret:
    """The secret of a device, for one plan."""

    def __init__(self, secret: bytes, fingerprint: str) -> None:
        plan = bytes.fromhex(fingerprint)
        self._permanent = hmac.new(secret, b"localdp permanent/1\0" + plan, sha256)
        self._spent = hmac.new(secret, b"localdp spent/1\0" + plan, sha256)

    def key(self, message: bytes) -> bytes:
        """The key of the keystream that a permanent response is drawn from."""
        derived = self._permanent.copy()
        derived.update(message)
        return derived.digest()[:KEY_BYTES]

    def digest(self, message: bytes) -> bytes:
        """What is recorded when something is paid for."""
        derived = self._spent.copy()
        derived.update(message)
        return derived.digest()[:DIGEST_BYTES]
