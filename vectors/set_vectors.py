"""Vectors of plans whose users hold sets: plan, set and random bytes -> report."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from replay import Replay

from localdp.item_sets import ItemSets
from localdp.plan.plan import Plan, Reports
from localdp.randomness.keystream import seeded

PLANS: list[tuple[Any, str, float, int]] = [
    (["tea", "coffee", "wäter"], "grr", 1.0, 2),
    (1_000, "grr", 4.0, 7),
    (100, "oue", 1.0, 3),
    (100, "sue", 2.0, 1),
    (40, "ss", 1.0, 3),
    (1_000, "olh", 1.0, 5),
    (1_000, "blh", 1.0, 2),
    (16_470, "llh", 2.0, 4),
    (100, "hr", 0.5, 2),
    (["tea", "coffee", "wäter"], "privset", 1.0, 2),
    (40, "privset", 0.5, 1),
    (500, "privset", 2.0, 4),
    (64, "privset", 4.0, 12),
]

SPOILED = ("ss", "olh", "llh", "privset")
"""Beside the first plan, those whose malformed reports are refused: the others have none, or the same."""


def spoiled_plans() -> list[Plan]:
    """Plans of which malformed batches are among the vectors."""
    some = [PLANS[0], *(case for case in PLANS if case[1] in SPOILED)]
    return [Plan(domain, name, epsilon, set_size=set_size) for domain, name, epsilon, set_size in some]


def set_vectors() -> dict[str, Any]:
    """Reports of an empty set, of a short one, of one with `set_size` items, and of larger ones."""
    good = []
    for case, (domain, name, epsilon, set_size) in enumerate(PLANS):
        plan = Plan(domain, name, epsilon, set_size=set_size)
        size = plan.domain.size
        larger = min(size, 2 * set_size + 1)
        for turn, held in enumerate(([], [size - 1], range(set_size), range(size - larger, size))):
            words = seeded(1_000 * case + turn).words(4 * size + 64)
            if turn == 1:
                words[::3] = ~np.uint64(0)  # forces rejected and tied draws
            source = Replay(words.tobytes())
            rows = plan.mechanism.privatize_sets(ItemSets(np.array(held, np.int64), np.array([len(held)])), source)
            good.append(
                {
                    "plan": plan.to_json(),
                    "fingerprint": plan.fingerprint,
                    "values": [plan.domain.items[index] for index in held],
                    "random": words.tobytes()[: source.used].hex(),
                    "report": base64.b64encode(rows.tobytes()).decode(),
                    "batch": base64.b64encode(Reports(plan, rows).to_bytes()).decode(),
                }
            )
    return {"good": good}
