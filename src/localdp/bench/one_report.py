"""How long one report takes in a call of its own, as on a device: by a plan, and by a client.

A client that was asked before answers from memory. Otherwise it derives the permanent response: two HMACs, a keystream
of its own, and the mechanism on arrays of one element. Writing to the store, which happens once for every new value and
takes as long as the disk takes, is not part of it.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from typing import Any

import localdp as ldp
from localdp.bench.timing import Timings, interleaved, seconds
from localdp.client import Client

CALLS = 20
"""Calls that are timed together. Few, so that the best of many runs is free of interruptions by other work."""

SIDES = ("privatize", "derived", "remembered")
_CASES: tuple[tuple[str, int, float, dict[str, Any]], ...] = (
    ("grr", 100, 1.0, {}),
    ("llh", 16_470, 1.0, {}),
    ("olh", 16_470, 1.0, {}),
    ("hr", 16_470, 0.5, {}),
    ("oue", 1_024, 1.0, {}),
    ("grr+grr", 100, 2.0, {"once": 1.0}),
    ("oue+sue", 1_024, 2.0, {"once": 1.0}),
)


@dataclass(frozen=True)
class OneReport:
    """Seconds for one report of a mechanism, by side."""

    mechanism: str
    size: int
    epsilon: float
    took: Timings


def measure_one_report(rounds: int) -> list[OneReport]:
    """Time one report in a call, for every mechanism."""
    return [_measured(*case, rounds) for case in _CASES]


def _measured(name: str, size: int, epsilon: float, options: dict[str, Any], rounds: int) -> OneReport:
    plan = ldp.Plan(size, name, epsilon, **options)
    with tempfile.TemporaryDirectory() as store:
        client = Client(plan, store=store)
        client.report(1)  # paid for before the clock starts

        def privatize() -> None:
            for _ in range(CALLS):
                plan.privatize([1]).to_bytes()

        def derived() -> None:
            for _ in range(CALLS):
                client.clear_cache()
                client.report(1)

        def remembered() -> None:
            for _ in range(CALLS):
                client.report(1)

        sides = {
            side: lambda run=run: {"one": seconds(run) / CALLS}
            for side, run in zip(SIDES, (privatize, derived, remembered), strict=True)
        }
        best = interleaved(sides, rounds)
    return OneReport(name, size, epsilon, {side: best[side]["one"] for side in SIDES})
