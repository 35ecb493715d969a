"""Vectors of devices: the words of a keystream, and the key, digest and permanent response of a value or a set."""

from __future__ import annotations

import base64
from typing import Any

from localdp.client.permanent import Held, permanent_response
from localdp.client.secret import Secret
from localdp.item_sets import ItemSets
from localdp.plan.plan import Plan
from localdp.questions import Scale
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
    (16_470, "slh", 0.5, {}),
    (100, "cms", 2.0, {}),
    (16_470, "hcms", 2.0, {}),
]

DRINKS = ["tea", "coffee", "wäter", "milk"]
SETS: list[tuple[Any, str, float, int, Any, list[list[Any]]]] = [
    (DRINKS, "grr", 1.0, 2, None, [[], ["tea"], ["milk", "tea"], ["wäter", "milk", "wäter", "tea"], DRINKS]),
    (DRINKS, "grr", 4.0, 1, "milk", [["cocoa"], ["cocoa", "milk", "rice"], ["tea", "cocoa"]]),
    (100, "sue", 2.0, 3, None, [[99], [2, 1, 0]]),
    (1_024, "oue", 4.0, 4, None, [[], [1_000, 31, 32, 33, 64]]),  # few bits are set: drawn by jumps
    (100, "ss", 1.0, 2, 99, [[0], [100, 7]]),
    (16_470, "olh", 1.0, 5, None, [[16_469], list(range(20, 0, -1))]),
    (16_470, "blh", 1.0, 1, None, [[], [1, 2]]),
    (16_470, "llh", 4.0, 4, None, [[0], [16_469, 8, 8, 8]]),
    (100, "hr", 0.5, 2, None, [[], [50, 51, 49]]),
    (100, "privset", 1.0, 3, 99, [[], [7], [5, 4, 5, 200, 3], list(range(30, 10, -1))]),
    (16_470, "slh", 0.5, 2, None, [[], [16_469, 3]]),
]
"""Domain, mechanism, epsilon, set size, catch-all, and sets: in any order, with repetitions and unlisted items."""


def wave_vectors() -> list[dict[str, Any]]:
    """What a device derives under plans that ask for a number on a scale."""
    responses = []
    for number, scale in enumerate((Scale(0, 100), Scale(0, 120, 5, other="no answer"))):
        plan, secret = Plan(scale, "wave", 1.0), seeded(200 + number).words(4).tobytes()
        for index in (0, 1, plan.domain.size - 1):
            responses.append({**_of(secret, plan), "index": index, **_derived(secret, plan, (index,))})
    return responses


def device_vectors() -> dict[str, Any]:
    """The first words of a few keys, and what a device derives under plans of every mechanism, also with sets."""
    keys = [bytes(16), bytes(range(16)), b"\xff" * 16]
    words = [{"key": key.hex(), "words": [str(word) for word in Keystream(key).words(40).tolist()]} for key in keys]
    responses, sets = [], []
    for number, (domain, name, epsilon, options) in enumerate(PLANS):
        plan = Plan(domain, name, epsilon, **options)
        secret = seeded(number).words(4).tobytes()
        for index in (0, 1, plan.domain.size - 1):
            responses.append({**_of(secret, plan), "index": index, **_derived(secret, plan, (index,))})
    for number, (domain, name, epsilon, set_size, other, held) in enumerate(SETS):
        plan = Plan(domain, name, epsilon, set_size=set_size, other=other)
        secret = seeded(100 + number).words(4).tobytes()
        for values in held:
            indices = ItemSets.read([values], plan.domain).items.tolist()
            named = {"values": values, "indices": indices}
            sets.append({**_of(secret, plan), **named, **_derived(secret, plan, tuple(indices))})
    return {"words": words, "responses": responses, "sets": sets}


def _of(secret: bytes, plan: Plan) -> dict[str, Any]:
    """Who answers."""
    return {"secret": secret.hex(), "plan": plan.to_json()}


def _derived(secret: bytes, plan: Plan, held: Held) -> dict[str, Any]:
    """What the device derives for what its user holds."""
    derived = Secret(secret, plan.fingerprint)
    message = b"".join(index.to_bytes(8, "little") for index in held)
    key = derived.key(message)
    response = permanent_response(plan.mechanism, held, key)
    return {
        "key": key.hex(),
        "digest": derived.digest(message).hex(),
        "response": base64.b64encode(response).decode(),
    }
