"""Hashing beside the least possible variance, and how long counting takes.

    python benchmarks/hashing.py --write

Variances are exact. Times are those of the processor, the least of several turns with compiled kernels in one thread.
"""

from __future__ import annotations

import argparse
import os
from time import process_time

os.environ.setdefault("LOCALDP_KERNELS", "fast")

import literature_page as page
import numpy as np

from localdp.mechanisms import MECHANISMS, LinearLocalHashing
from localdp.randomness.keystream import seeded

EPSILONS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0)


def seconds(mechanism: LinearLocalHashing, reports: int, turns: int) -> float:
    """The least time that counting so many reports took."""
    values = np.random.default_rng(1).integers(0, mechanism.size, reports)
    rows = mechanism.randomize(values, seeded(1))
    mechanism.count(rows)
    times = []
    for _ in range(turns):
        start = process_time()
        mechanism.count(rows)
        times.append(process_time() - start)
    return min(times)


def everywhere(size: int) -> str:
    """How far `slh` is from the least variance, at every hundredth of epsilon from 0.25 to 6."""
    found = {}
    for hundredths in range(25, 601):
        least, slh = (MECHANISMS[name](size, hundredths / 100).variance(1) for name in ("ss", "slh"))
        found[hundredths / 100] = slh / least
    worst, ratios = max(found, key=found.__getitem__), np.array(list(found.values()))
    return (
        f"At the hundredths of epsilon from 0.25 to 6, `slh` has {np.median(ratios):.4f} times the least variance in "
        f"the median and {ratios.max():.4f} at worst (epsilon {worst:g}); it has more than 1.005 at "
        f"{(ratios > 1.005).mean():.0%} of them."
    )


def table(size: int, reports: int, turns: int) -> str:
    rows = []
    for epsilon in EPSILONS:
        least = MECHANISMS["ss"](size, epsilon).variance(1)
        llh, slh = (MECHANISMS[name](size, epsilon) for name in ("llh", "slh"))
        assert isinstance(llh, LinearLocalHashing)
        assert isinstance(slh, LinearLocalHashing)
        before, after = (seconds(mechanism, reports, turns) for mechanism in (llh, slh))
        of = f"{slh.response.among} of {slh.response.symbols}"
        rows.append(
            (
                f"{epsilon:g}",
                f"{llh.variance(1) / least:.4f}",
                llh.response.symbols,
                f"{slh.variance(1) / least:.4f}",
                of,
                f"{before * 1e3:.0f} ms",
                f"{after * 1e3:.0f} ms",
                f"{after / before:.1f}",
            )
        )
    header = ("epsilon", "`llh`", "g", "`slh`", "s of g", f"counting {reports:,} reports: `llh`", "`slh`", "times")
    return page.table(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=41_270)
    parser.add_argument("--reports", type=int, default=4_000_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="write the table into docs/results/literature.md")
    parser.add_argument("--variances", action="store_true", help="only the variances, at every hundredth of epsilon")
    given = parser.parse_args()
    part = "hashing everywhere" if given.variances else "hashing"
    found = everywhere(given.size) if given.variances else table(given.size, given.reports, given.turns)
    print(found)
    if given.write:
        page.write(part, found)


if __name__ == "__main__":
    main()
