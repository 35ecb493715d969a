"""Many small batches in one process, as a collector sees them: 10,000 batches of 100 OUE reports over 1,024 items.

`python benchmarks/small_batches.py` takes ten seconds. Each choice of kernels is measured in a fresh process, first
with the time of everything that has to be loaded, then once more. `auto` is what users get: it starts with NumPy and
loads Numba when that pays (`localdp.kernels.dispatch`).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import localdp as ldp

USERS, ITEMS, DIFFERENT = 100, 1024, 50
KERNELS = ("auto", "numpy", "fast")


def measure(batches: int) -> None:
    """Print the time of adding batches that were read before, and of reading, aggregating and merging them."""
    plan = ldp.Plan(ITEMS, "oue", 1.0)
    values = np.random.default_rng(0).integers(0, ITEMS, (DIFFERENT, USERS))
    received = [plan.privatize(value).to_bytes() for value in values]
    read = [plan.read(data) for data in received]
    total = ldp.Aggregate(plan)

    def add(number: int) -> None:
        total.add(read[number % DIFFERENT])

    def read_aggregate_merge(number: int) -> None:
        total.merge(plan.aggregate(plan.read(received[number % DIFFERENT])))

    steps: dict[str, Callable[[int], None]] = {"add": add, "read, aggregate, merge": read_aggregate_merge}
    for when in ("at first", "later"):
        for name, step in steps.items():
            started, worked = time.perf_counter(), time.process_time()
            for number in range(batches):
                step(number)
            seconds, processor = time.perf_counter() - started, time.process_time() - worked
            print(
                f"{name:24} {when:10} {seconds:7.3f} s ({processor:.3f} s of processor) {seconds / batches * 1e6:7.1f} "
                f"microseconds a batch{'   Numba is loaded' if 'numba' in sys.modules else ''}"
            )


def main() -> None:
    """Measure each choice of kernels in a fresh process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=10_000)
    parser.add_argument("--kernels", choices=KERNELS, help="measure this choice only, in this process")
    arguments = parser.parse_args()
    if arguments.kernels:
        print(f"kernels: {arguments.kernels}")
        measure(arguments.batches)
        return
    for kernels in KERNELS:
        line = [sys.executable, __file__, "--batches", str(arguments.batches), "--kernels", kernels]
        subprocess.run(line, check=True, env={**os.environ, "LOCALDP_KERNELS": kernels})


if __name__ == "__main__":
    main()
