"""The whole pipeline on real users, not a simulation: eight million people, 41,270 items, linear local hashing.

Every user of the Kosarak surrogate is privatized with secure randomness, written to the wire format, read back,
counted and estimated. Run by `make bench`.
"""

from __future__ import annotations

import argparse
import platform
import resource
import time

import numpy as np

import localdp as ldp


def main() -> None:
    """Print the seconds of each step, the peak memory, and the noise found beside the noise stated."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--dataset", default="kosarak")
    arguments.add_argument("--mechanism", default="llh")
    arguments.add_argument("--epsilon", type=float, default=1.0)
    chosen = arguments.parse_args()

    data = ldp.datasets.load(chosen.dataset)
    plan = ldp.Plan(data.d, chosen.mechanism, chosen.epsilon)
    values = np.repeat(np.arange(data.d), data.frequencies)
    np.random.default_rng(0).shuffle(values)
    print(f"{data.n:,} users, {data.d:,} items, {plan.mechanism!r}")
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}\n")

    marks = [time.perf_counter()]
    reports = plan.privatize(values)
    marks.append(time.perf_counter())
    wire = reports.to_bytes()
    marks.append(time.perf_counter())
    aggregate = plan.aggregate(plan.read(wire))
    marks.append(time.perf_counter())
    estimate = aggregate.estimate()
    marks.append(time.perf_counter())

    for step, seconds in zip(("privatize", "write", "read and aggregate", "estimate"), np.diff(marks), strict=True):
        print(f"{step:<20}{seconds:8.3f} s")
    print(f"{'in all':<20}{marks[-1] - marks[0]:8.3f} s")
    print(f"{'peak memory':<20}{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:8.3f} GiB")
    print(f"{'sent':<20}{len(wire) / 2**20:8.1f} MiB\n")

    noise = estimate.frequencies - data.frequencies
    standard = noise / estimate.std_error_at(data.frequencies)
    print(f"noise stated: mean 0, deviation {estimate.std_error:,.1f} for an item nobody holds")
    print(f"noise found:  mean {noise.mean():+.1f}, deviation {noise.std():,.1f} over all items")
    print(f"standardized by its stated deviation: mean {standard.mean():+.4f}, deviation {standard.std():.4f}")
    print(f"(by chance alone: 0 and 1, give or take {1 / np.sqrt(data.d):.4f} and {1 / np.sqrt(2 * data.d):.4f})")


if __name__ == "__main__":
    main()
