"""Vectors of devices: the words of a keystream, and the key, digest and permanent response of a value."""

from __future__ import annotations

import base64
from typing import Any

from localdp.client.secret import Secret
from localdp.client.single import Single
from localdp.plan.plan import Plan
from localdp.randomness.keystream import Keystream, seeded

PLANS: list[tuple[Any, str, float, dict[str, Any]]] = [
    (["tea", "coffee", "wäter"], "grr", 1.0, {}),
    (100, "sue", 2.0, {}),
    (1_024, "oue", 1.0, {}),
    (1_024, "oue", 4.0, {}),  # few bits are set: drawn by jumps
    (100, "ss", 1.0, {}),
    (16_470, "olh", 1.0, {}),
    (16_470, "blh", 1.0, {}),
    (16_470, "llh", 4.0, {}),
    (100, "hr", 0.5, {}),
    (100, "dbit", 1.0, {"answers": 4}),
    (100, "grr+grr", 2.0, {"once": 1.0}),
    (100, "sue+sue", 2.0, {"once": 1.0}),
    (100, "oue+oue", 2.0, {"once": 1.0}),
    (1_024, "oue+sue", 4.0, {"once": 1.0}),
    (100, "sue+oue", 2.0, {"once": 1.0}),
]


def device_vectors() -> dict[str, Any]:
    """The first words of a few keys, and responses of three values under a plan of every mechanism."""
    keys = [bytes(16), bytes(range(16)), b"\xff" * 16]
    words = [{"key": key.hex(), "words": [str(word) for word in Keystream(key).words(40).tolist()]} for key in keys]
    responses = []
    for number, (domain, name, epsilon, options) in enumerate(PLANS):
        plan = Plan(domain, name, epsilon, **options)
        secret = seeded(number).words(4).tobytes()
        derived = Secret(secret, plan.fingerprint)
        for index in (0, 1, plan.domain.size - 1):
            message = index.to_bytes(8, "little")
            key = derived.key(message)
            responses.append(
                {
                    "secret": secret.hex(),
                    "plan": plan.to_json(),
                    "index": index,
                    "key": key.hex(),
                    "digest": derived.digest(message).hex(),
                    "response": base64.b64encode(Single(plan.mechanism).permanent((index,), key)).decode(),
                }
            )
    return {"words": words, "responses": responses}
