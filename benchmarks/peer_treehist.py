"""TreeHist as pure-ldp 1.2.0 has it; runs in an environment that has that library and imports nothing of localdp.

`treehist.py` starts it. It reads a task in JSON from its input (keys, their bits, epsilon, how many are wanted, the
bits of a fragment) and writes the keys that TreeHist finds, and the seconds that it took.

The library numbers prefixes by their bits alone, so that 01 and 0001 are the same to it. It gets a numbering that tells
them apart, and the size of the domain that this numbering needs.
"""

from __future__ import annotations

import json
import sys
import time

from pure_ldp.heavy_hitters import TreeHistClient, TreeHistServer


def number_of(bits: str) -> int:
    """A number for a prefix, different for every prefix of any length."""
    return int("1" + bits, 2)


def main() -> None:
    task = json.load(sys.stdin)
    bits, fragment = task["bits"], task["fragment"]
    start = time.perf_counter()
    client = TreeHistClient(task["epsilon"], fragment, bits, index_mapper=number_of)
    server = TreeHistServer(task["epsilon"], bits, fragment, index_mapper=number_of)
    for side in (client, server):
        for estimator in (side.word_estimator, side.fragment_estimator):
            estimator.update_params(d=2 << bits)
    for key in task["keys"]:
        server.aggregate(client.privatise(f"{key:0{bits}b}"))
    found, _ = server.find_heavy_hitters(k=task["top"])
    json.dump({"found": [int(text, 2) for text in found], "seconds": time.perf_counter() - start}, sys.stdout)


if __name__ == "__main__":
    main()
