"""The count mean sketch of pure-ldp 1.2.0; runs in an environment that has that library and imports nothing of localdp.

`sketches.py --peer` starts it. It reads a task in JSON from its input (the value of each user, the number of items,
epsilon, whether it is the Hadamard form) and writes the estimates.
"""

from __future__ import annotations

import json
import sys

from pure_ldp.frequency_oracles import CMSClient, CMSServer

FUNCTIONS = CELLS = 1024


def main() -> None:
    task = json.load(sys.stdin)
    server = CMSServer(task["epsilon"], FUNCTIONS, CELLS, is_hadamard=task["hadamard"])
    client = CMSClient(task["epsilon"], server.get_hash_funcs(), CELLS, is_hadamard=task["hadamard"])
    for value in task["values"]:
        server.aggregate(client.privatise(value))
    found = server.estimate_all(range(1, task["items"] + 1), suppress_warnings=True)
    json.dump([float(one) for one in found], sys.stdout)


if __name__ == "__main__":
    main()
