"""Estimates by pure-ldp's fast local hashing; runs in an environment that has pure-ldp and imports nothing of localdp.

`other_libraries.py --peer` starts it. It reads true frequencies (a NumPy file), runs one report for every user as the
library documents it, and writes the library's unbiased estimates and its own projection on the simplex for every seed.
"""

from __future__ import annotations

import random
import sys

import numpy as np
from pure_ldp.frequency_oracles.local_hashing import FastLHClient, FastLHServer


def same(value: int) -> int:
    """The library numbers its items from a function of the value; ours are numbers already."""
    return value


def main(truth_file: str, result_file: str, epsilon: float, functions: int, runs: int) -> None:
    """Write an array of shape (runs, 2, items): the unbiased and the projected estimates of every run."""
    truth = np.load(truth_file)
    items = list(range(truth.size))
    client = FastLHClient(epsilon, truth.size, functions, use_olh=True, index_mapper=same)
    server = FastLHServer(epsilon, truth.size, functions, use_olh=True, index_mapper=same)
    found = np.empty((runs, 2, truth.size))
    for seed in range(runs):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 (the library draws from NumPy's global generator)
        server.reset()
        server.hash_counts[:] = 0  # `reset` leaves them as they are
        for item, holders in enumerate(truth.tolist()):
            for _ in range(holders):
                server.aggregate(client.privatise(item))
        for place, normalization in enumerate((0, 2)):
            found[seed, place] = server.estimate_all(items, suppress_warnings=True, normalization=normalization)
    np.save(result_file, found)


if __name__ == "__main__":
    given = sys.argv[1:]
    main(given[0], given[1], float(given[2]), int(given[3]), int(given[4]))
