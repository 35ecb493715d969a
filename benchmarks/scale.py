"""What one core does, for a plan of one billion reports a day: `python benchmarks/scale.py`. docs/scale.md quotes it.

Measured on one thread, in seconds of its processor, so that other work on the machine matters little: making, checking,
counting and hashing reports, transforming sums into counts for 10^7 items, and adding up the sums of many tasks in a
tree. The last part simulates the merge tree: where the sums of all tasks fit into 1 GiB, every node of the tree is run
and its result is checked; else one node is, and the others are counted.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

import numpy as np

import localdp as ldp
from localdp.engines.partial import partial_counts
from localdp.plan.identity import Identity

DAY = 10**9  # reports
FAN_IN = 8


def rate(work: Callable[[], object], amount: int, runs: int = 3) -> float:
    """How much of the amount is done in a second, in the best of some runs."""
    taken = []
    for _ in range(runs):
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return amount / min(taken)


def one_core(name: str, plan: ldp.Plan, users: int) -> None:
    """Print the rates of one mechanism."""
    values = np.random.default_rng(0).integers(0, plan.domain.size, users)
    reports = plan.privatize_indices(values)
    rows = reports.rows
    made = rate(lambda: plan.privatize_indices(values), users)
    checked = rate(lambda: plan.mechanism.validate(rows), users)
    partial_counts(plan, rows)
    counted = rate(lambda: partial_counts(plan, rows), users)
    hashed = rate(lambda: Identity(plan).add(reports), users)
    task = 1 / (1 / checked + 1 / counted + 1 / hashed)
    size = plan.mechanism.report_bytes
    print(f"{name}: {size} bytes a report, {DAY * size / 1e9:.1f} GB a day")
    print(f"  million a second: make {made / 1e6:.1f}, check {checked / 1e6:.1f}, count {counted / 1e6:.1f}, ", end="")
    print(f"hash {hashed / 1e6:.1f}")
    print(f"  a task checks, counts and hashes {task / 1e6:.1f}: {DAY / task:.0f} core-seconds a day")


def decode(size: int, users: int) -> None:
    """Print what it takes to turn the sums of LLH over many items into counts."""
    plan = ldp.Plan(size, "llh", 1.0)
    mechanism = plan.mechanism
    rows = plan.privatize_indices(np.random.default_rng(0).integers(0, size, users)).rows
    started = time.process_time()
    sums = partial_counts(plan, rows)
    counted = time.process_time() - started
    started = time.process_time()
    mechanism.complete(sums, users)
    transformed = time.process_time() - started
    print(f"llh over {size:,} items: {mechanism.report_bits} bits in {mechanism.report_bytes} bytes;")
    print(f"  sums of {sums.nbytes / 2**20:.0f} MiB, {users:,} reports counted in {counted:.1f} s,")
    print(f"  the sums made into counts, once a day, in {transformed:.2f} s")


def merge_tree(size: int, tasks: int) -> None:
    """Print what it takes to add up the sums of all tasks: in a tree, and in an exchange of slices."""
    numbers = ldp.Plan(size, "llh", 1.0).mechanism.partial_size
    parts = [np.full(numbers, place, np.int64) for place in range(FAN_IN)]
    total = np.zeros(numbers, np.int64)

    def add() -> None:
        for part in parts:
            np.add(total, part, out=total)

    each = 1 / rate(add, 1)
    levels, nodes, left = 0, 0, tasks
    while left > 1:
        left = -(-left // FAN_IN)
        levels, nodes = levels + 1, nodes + left
    moved = (tasks + nodes - 1) * numbers * 8
    if tasks * numbers * 8 <= 2**30:
        run_tree(numbers, tasks)
    print(f"merging the sums of {tasks:,} tasks over {size:,} items, {numbers * 8 / 2**20:.1f} MiB each:")
    print(
        f"  a tree of fan-in {FAN_IN}: {levels} levels, {nodes} nodes of {each:.3f} s, {nodes * each:.1f} core-seconds,"
    )
    print(f"  {levels * each:.2f} s one after the other, {moved / 2**30:.1f} GiB moved in all, ", end="")
    print(f"{FAN_IN * numbers * 8 / 2**30:.2f} GiB into one node")


def run_tree(numbers: int, tasks: int) -> None:
    """Run every node of a merge tree and compare the top with the sum."""
    rng = np.random.default_rng(0)
    parts = [rng.integers(-(10**6), 10**6, numbers) for _ in range(tasks)]
    expected = np.sum(parts, axis=0)
    started = time.process_time()
    while len(parts) > 1:
        parts = [np.sum(parts[start : start + FAN_IN], axis=0) for start in range(0, len(parts), FAN_IN)]
    assert np.array_equal(parts[0], expected)
    print(f"the tree of {tasks:,} tasks, run on one core, gives the sum in {time.process_time() - started:.2f} s")


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="less data, to try it")
    scale = 20 if parser.parse_args().small else 1
    os.environ["LOCALDP_THREADS"] = "1"
    one_core("llh, 41,270 items, epsilon 1", ldp.Plan(41_270, "llh", 1.0), 10_000_000 // scale)
    one_core("llh, 10,000,000 items, epsilon 1", ldp.Plan(10_000_000, "llh", 1.0), 10_000_000 // scale)
    one_core("oue, 1,024 items, epsilon 1", ldp.Plan(1_024, "oue", 1.0), 1_000_000 // scale)
    one_core("grr, 1,000 items, epsilon 4", ldp.Plan(1_000, "grr", 4.0), 10_000_000 // scale)
    decode(10_000_000, 20_000_000 // scale)
    for size in (41_270, 10_000_000):
        merge_tree(size, tasks=400)


if __name__ == "__main__":
    main()
