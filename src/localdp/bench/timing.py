"""Time several sides in turn and keep the smallest time of each.

The sides take turns so that other work on the machine disturbs all of them alike. The smallest time counts, not the
mean or the median, because other work can only add time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter

Timings = dict[str, float]
"""Maps each step to its seconds. If a function returns seconds for each user instead, its docstring says so."""

TURN_SECONDS = 0.25
"""How long one side runs before the next has its turn. An idle processor needs about this long to reach full speed."""


def seconds(action: Callable[[], object]) -> float:
    started = perf_counter()
    action()
    return perf_counter() - started


def interleaved(sides: Mapping[str, Callable[[], Timings]], rounds: int) -> dict[str, Timings]:
    """Let every side have one turn in each round; return the smallest time of each step of each side.

    In its turn a side runs once, and again until `TURN_SECONDS` have passed.

    >>> interleaved({"ours": lambda: {"privatize": 2.0}}, rounds=1)
    {'ours': {'privatize': 2.0}}
    """
    best: dict[str, Timings] = {name: {} for name in sides}
    for _ in range(rounds):
        for name, run in sides.items():
            until = perf_counter() + TURN_SECONDS
            while True:
                for step, took in run().items():
                    best[name][step] = min(took, best[name].get(step, took))
                if perf_counter() >= until:
                    break
    return best
