"""The recipe site of docs/browser.md with many visitors in Chromium: `python benchmarks/recipe_site.py --visitors 300`.

The page and its script are those of the documentation, on a server with its strict policy, and the collector is a real
one. Every visitor has a new profile, answers two questions, reloads the page and opens a second tab. Then the collector
is asked how many reports it has, and for estimates. A line for each answer says what it found and how many gave it.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_ROOT / "tests"), str(_ROOT / "tests" / "collector")]

from js.chromium import browser, driver  # noqa: E402
from recipe_site import DIETS, FEATURES, files, questions, site, visit  # noqa: E402
from running import running  # noqa: E402

LEVEL = 0.9


def people(number: int, seed: int) -> list[dict[str, Any]]:
    """What the visitors hold: some answers are frequent."""
    chance = random.Random(seed)  # noqa: S311 (made-up visitors)
    return [
        {
            "diet": chance.choices(DIETS, (6, 3, 1, 1))[0],
            "stars": chance.choices(range(1, 6), (1, 1, 2, 4, 3))[0],
            "features": chance.sample(FEATURES, chance.choices((0, 1, 2), (3, 5, 2))[0]),
            "search": chance.choice(["soup", "pie", "müsli"]),
        }
        for _ in range(number)
    ]


def estimates(collector: Any, route: str) -> dict[str, list[Any]]:
    """The estimates of a plan. A collector on a busy machine may ask to be asked again."""
    for _ in range(100):
        answer = collector.ask("GET", f"{route}/estimates", "read", params={"level": str(LEVEL)}, timeout=600)
        if answer.status_code == 200:
            found: dict[str, list[Any]] = answer.json()["items"]
            return found
        print(f"  {answer.status_code}: {answer.json().get('detail')}")
        time.sleep(5)
    raise RuntimeError("the collector gave no estimates")


def run(number: int, seed: int, at_once: int) -> int:
    """Let them visit, and print what the collector knows; return how many intervals and counts are wrong."""
    held, complaints, requests = people(number, seed), [], Counter[int]()
    # The estimate of a rating takes seconds of the processor. Stopped after a minute, as collectors do, it would begin
    # anew each time that it is asked for, and never end on a busy machine.
    with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "x.db", longest_answer=600.0) as collector:
        names = questions(collector)
        with site(collector, files(collector, names)) as address:
            waiting, started = iter(list(held)), time.monotonic()
            lock = threading.Lock()

            def visits() -> None:
                with driver() as playwright, browser(playwright) as chromium:
                    while True:
                        with lock:
                            one = next(waiting, None)
                        if one is None:
                            return
                        loaded, said = visit(chromium, address, one)
                        with lock:
                            complaints.extend(said)
                            first = loaded[: loaded.index(address, 1)]  # until the reload
                            requests[sum("/client/localdp-0" in url for url in first)] += 1

            threads = [threading.Thread(target=visits) for _ in range(at_once)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            print(f"{number} visitors in {time.monotonic() - started:.0f} s; requests for the client: {dict(requests)}")
        wrong = len(complaints) + (requests != {1: number})
        print(f"complaints of the pages: {complaints[:3] or 'none'}\n")
        shared = {
            "DIET": Counter(one["diet"] for one in held),
            "STARS": Counter(str(one["stars"]) for one in held),
            "FEATURES": Counter(feature for one in held for feature in one["features"]),
        }
        inside = total = 0
        for name, truth in shared.items():
            route = f"/v1/plans/{names[name]}"
            reports = collector.ask("GET", route, "read").json()["reports"]
            wrong += reports != number
            print(f"{name}: {reports} reports")
            found = estimates(collector, route)
            for item, guess, low, high in zip(
                *(found[column] for column in ("item", "frequency", "low", "high")), strict=True
            ):
                is_inside = low <= truth[str(item)] <= high
                inside, total = inside + is_inside, total + 1
                verdict = "inside" if is_inside else "outside"
                print(f"  {item!s:<16}{guess:>6.1f} [{low:.1f} to {high:.1f}], held by {truth[str(item)]}: {verdict}")
        parts = collector.ask("GET", f"/v1/studies/{names['SEARCH']}", "read").json()["parts"]
        print(f"SEARCH: {sum(part['reports'] for part in parts)} reports of those whom the round under way asks")
        print(f"\n{inside} of {total} intervals ({LEVEL:.0%}) hold the truth; wrong counts and complaints: {wrong}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--visitors", type=int, default=300)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--at-once", type=int, default=2, help="browsers at a time (default: %(default)s)")
    asked = parser.parse_args()
    seed = random.SystemRandom().randrange(2**31) if asked.seed is None else asked.seed
    print(f"seed {seed}")
    sys.exit(run(asked.visitors, seed, asked.at_once) > 0)


if __name__ == "__main__":
    main()
