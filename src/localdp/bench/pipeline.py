"""The whole pipeline with a report for every user, not a simulation: eight million people, 41,270 items, `llh`.

Every user of the Kosarak surrogate makes a report with secure randomness; the reports are counted, and the frequencies
are estimated and calibrated. The reports are also written to the wire format and read back. For comparison, one
`np.bincount` of the same values shows what a single pass over the data costs. `localdp bench` runs this in a process of
its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import time
from pathlib import Path

import numpy as np

import localdp as ldp

STEPS = ("privatize", "aggregate", "estimate", "calibrate")


def run(plan: ldp.Plan, values: np.ndarray) -> tuple[dict[str, float], ldp.Reports, ldp.Estimate]:
    """Run all steps once; return the seconds of each step, the reports and the estimate."""
    marks = [time.perf_counter()]
    reports = plan.privatize(values)
    marks.append(time.perf_counter())
    aggregate = plan.aggregate(reports)
    marks.append(time.perf_counter())
    estimate = aggregate.estimate()
    marks.append(time.perf_counter())
    estimate.calibrate().frequencies.sum()
    marks.append(time.perf_counter())
    return dict(zip(STEPS, np.diff(marks).tolist(), strict=True)), reports, estimate


def peak_memory() -> int:
    """The largest number of bytes that this process has held in memory."""
    if platform.system() == "Linux":  # getrusage would begin with the peak of the process that started this one
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    unit = 1 if platform.system() == "Darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    """Print the seconds of each step, the peak memory, and the measured noise beside the stated noise."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--dataset", default="kosarak")
    arguments.add_argument("--mechanism", default="llh")
    arguments.add_argument("--epsilon", type=float, default=1.0)
    arguments.add_argument("--times", type=int, default=3)
    arguments.add_argument("--json", action="store_true", help="print one JSON object")
    chosen = arguments.parse_args()

    data = ldp.datasets.load(chosen.dataset)
    plan = ldp.Plan(data.d, chosen.mechanism, chosen.epsilon)
    values = np.repeat(np.arange(data.d), data.frequencies)
    np.random.default_rng(0).shuffle(values)
    measured: dict[str, float] = {}
    for turn in range(chosen.times):
        started = time.perf_counter()
        np.bincount(values)
        counting = time.perf_counter() - started
        steps, reports, estimate = run(plan, values)
        steps |= {"total": sum(steps.values()), "bincount": counting}
        measured |= {f"first {step}": took for step, took in steps.items() if turn == 0}
        measured |= {step: min(took, measured.get(step, took)) for step, took in steps.items()}
    measured["peak bytes"] = peak_memory()
    started = time.perf_counter()
    wire = reports.to_bytes()
    measured["write"] = time.perf_counter() - started
    started = time.perf_counter()
    plan.read(wire)
    measured["read"] = time.perf_counter() - started
    measured["sent bytes"] = len(wire)
    # each item's noise in units of its stated standard error
    standard = (estimate.frequencies - data.frequencies) / estimate.std_error_at(data.frequencies)
    measured |= {"stated deviation": estimate.std_error, "mean": standard.mean(), "deviation": standard.std()}
    if chosen.json:
        print(json.dumps(measured))
        return

    print(f"{data.n:,} users, {data.d:,} items, {plan.mechanism!r}")
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}; best of {chosen.times}\n")
    for step in (*STEPS, "total", "bincount", "write", "read"):
        print(f"{step:<12}{measured[step]:8.3f} s")
    print(f"{'peak memory':<12}{measured['peak bytes'] / 2**30:8.3f} GiB")
    print(f"{'sent':<12}{measured['sent bytes'] / 2**20:8.1f} MiB\n")
    print(f"stated standard error of an item that nobody holds: {estimate.std_error:,.1f} users")
    print(f"noise / stated standard error: mean {standard.mean():+.4f}, deviation {standard.std():.4f}")
    print(f"(expected: 0 and 1, with standard errors {1 / np.sqrt(data.d):.4f} and {1 / np.sqrt(2 * data.d):.4f})")


if __name__ == "__main__":
    main()
