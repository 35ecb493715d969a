"""Plans of many items: the time to make, name, write and read one, in units of one `json.dumps` of the items.

`python benchmarks/many_items.py` takes half a minute; `--items 20000` tries it out. The times are the best of several
rounds, and every round measures each step once, so that a busy moment of the machine slows all of them alike. Every
step works on a plan that has not been written before: a plan keeps its text.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import localdp as ldp

KINDS: dict[str, Callable[[int], str | int]] = {
    "ASCII": lambda place: f"item-{place:06d}",
    "letters beyond ASCII": lambda place: f"item-{place:06d}-ü",
    "quotes and backslashes": lambda place: f'it"m-{place:06d}\\-ü',
    "beyond the BMP": lambda place: f'it"m-{place:06d}\\-日本🍵',
    "whole numbers": lambda place: 7 * place,
}
STEPS = ("make", "fingerprint", "to_json", "from_json", "round trip", "compare")


def one_round(items: list[str | int]) -> dict[str, float]:
    """The seconds of each step, and of one `json.dumps` of the items."""
    seconds: dict[str, float] = {}

    def timed(step: str, work: Callable[[], object]) -> object:
        started = time.perf_counter()
        result = work()
        seconds[step] = time.perf_counter() - started
        return result

    def make() -> ldp.Plan:
        return ldp.Plan(items, mechanism="oue", epsilon=1.0)

    timed("dumps", lambda: json.dumps(items))
    plan, other = timed("make", make), make()
    timed("fingerprint", lambda: other.fingerprint)
    text = timed("to_json", plan.to_json)
    again = timed("from_json", lambda: ldp.Plan.from_json(text))
    fresh = make()
    timed("round trip", lambda: ldp.Plan.from_json(fresh.to_json()))
    assert timed("compare", lambda: plan.domain == again.domain)
    return seconds


def main() -> None:
    """Print a row of ratios for each kind of items."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--items", type=int, default=200_000)
    arguments.add_argument("--rounds", type=int, default=9)
    given = arguments.parse_args()
    print(f"{given.items:,} items; times in units of one json.dumps of their list, best of {given.rounds} rounds\n")
    print(f"{'items':<24}{'dumps':>9}" + "".join(f"{step:>13}" for step in STEPS))
    for kind, item in KINDS.items():
        items = [item(place) for place in range(given.items)]
        rounds = [one_round(items) for _ in range(given.rounds)]
        best = {step: min(seconds[step] for seconds in rounds) for step in rounds[0]}
        ratios = "".join(f"{best[step] / best['dumps']:>12.2f}x" for step in STEPS)
        print(f"{kind:<24}{1000 * best['dumps']:>6.1f} ms{ratios}")


if __name__ == "__main__":
    main()
