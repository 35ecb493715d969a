"""Minima of interleaved runs: whatever else the machine does then hits all sides alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

Steps = dict[str, float]
TURN = 0.25


def seconds(action: Callable[[], object]) -> float:
    """How long the action takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def interleaved(sides: Mapping[str, Callable[[], Steps]], times: int) -> dict[str, Steps]:
    """Run the sides in turn, several times; for each step of each side, the least.

    A turn takes `TURN` seconds, or one run: a processor that was idle takes that long to be as fast as it can be.
    """
    best: dict[str, Steps] = {name: {} for name in sides}
    for _ in range(times):
        for name, run in sides.items():
            until = time.perf_counter() + TURN
            while True:
                for step, took in run().items():
                    best[name][step] = min(took, best[name].get(step, took))
                if time.perf_counter() >= until:
                    break
    return best
