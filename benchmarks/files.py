"""Large files in little memory: measure the commands on files of 8 GB, and compare them with the counting kernel.

`python benchmarks/files.py` makes the files itself and needs 9 GB of disk for a few minutes; `--gigabytes 0.2` is a
short trial.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import localdp as ldp
from localdp import files

COMMAND = Path(sys.executable).parent / "localdp"
BLOCK_USERS = 20_000


def child(*arguments: object) -> tuple[float, float]:
    """Run a `localdp` command; return its seconds and its peak memory in GiB."""
    measure = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
    measure += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", measure, COMMAND, *map(str, arguments)], check=True, capture_output=True, text=True
    )
    return time.perf_counter() - started, int(done.stdout.splitlines()[-1]) / 2**20


def aggregate(folder: Path, size: float, retail: ldp.datasets.Dataset) -> None:
    """Measure `localdp aggregate` on OUE reports of 2,059 bytes in Parquet and Arrow, and the kernel alone."""
    plan = ldp.Plan(retail.d, "oue", 4.0)
    (folder / "plan.json").write_text(plan.to_json())
    values = np.random.default_rng(0).choice(retail.d, BLOCK_USERS, p=retail.frequencies / retail.n)
    block = plan.privatize(values)
    blocks = int(np.ceil(size / block.rows.nbytes))
    counts = blocks * plan.aggregate(block).counts
    for kind in ("parquet", "arrow"):
        path, out = folder / f"reports.{kind}", folder / f"{kind}.agg"
        with files.reports_writer(path, plan) as write:
            for _ in range(blocks):
                write(block)
        kernel = kernel_speed(plan, np.tile(block.rows, (min(blocks, 12), 1)))
        seconds, memory = child("aggregate", path, "-p", folder / "plan.json", "-o", out)
        assert np.array_equal(ldp.Aggregate.load(out).counts, counts)
        total = path.stat().st_size
        path.unlink()
        print(f"aggregate  {total / 1e9:6.2f} GB of {kind}, {blocks * BLOCK_USERS:,} reports: {seconds:6.1f} s,")
        print(f"           peak {memory:.2f} GiB, {total / seconds / 1e9:.2f} GB/s,", end=" ")
        print(f"{total / seconds / kernel:.2f} of the plain kernel's {kernel / 1e9:.2f}")


def kernel_speed(plan: ldp.Plan, rows: np.ndarray) -> float:
    """Bytes a second of the counting kernel on one thread. The rows are in memory, and too many for the cache."""

    def seconds() -> float:
        started = time.perf_counter()
        plan.mechanism.count(rows)
        return time.perf_counter() - started

    return rows.nbytes / min(seconds() for _ in range(5))


def privatize(folder: Path, size: float, retail: ldp.datasets.Dataset) -> None:
    """Measure `localdp privatize` on a CSV file of text values, with LLH."""
    plan = ldp.Plan([f"product {place}" for place in range(retail.d)], "llh", 4.0)
    (folder / "plan.json").write_text(plan.to_json())
    values = np.repeat(np.arange(retail.d), retail.frequencies)
    block = "\n".join(f"product {place}" for place in values.tolist()) + "\n"
    blocks = int(np.ceil(size / len(block)))
    with (folder / "values.csv").open("w") as file:
        file.write("product\n")
        for _ in range(blocks):
            file.write(block)
    seconds, memory = child("privatize", folder / "values.csv", "-p", folder / "plan.json", "-o", folder / "r.parquet")
    total = (folder / "values.csv").stat().st_size
    users = blocks * retail.n
    print(f"privatize  {total / 1e9:6.2f} GB, {users:,} values: {seconds:6.1f} s, peak {memory:.2f} GiB,")
    print(f"           {users / seconds / 1e6:.1f} million values a second")


def main() -> None:
    """Measure both commands and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=8.2)
    size = parser.parse_args().gigabytes * 1e9
    retail = ldp.datasets.load("retail")
    with tempfile.TemporaryDirectory() as folder:
        aggregate(Path(folder), size, retail)
        privatize(Path(folder), size / 2, retail)


if __name__ == "__main__":
    main()
