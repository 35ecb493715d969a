"""How long a structure takes on large tables: `python benchmarks/structures_at_scale.py` takes a few minutes.

One thread; processor time, because other programs may run. `--print` prints instead of writing the page.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from worst import deliver, parser, table

import localdp as ldp

PAGE = Path(__file__).parent.parent / "docs" / "results" / "structures.md"


def cases(rng: np.random.Generator) -> dict[str, tuple[np.ndarray, int, ldp.Structure]]:
    """The shares of large tables, the number of users, and the structure."""
    t = np.arange(100_000) / 100_000
    hills = np.exp(-(((t - 0.3) / 0.1) ** 2)) + 0.5 * np.exp(-(((t - 0.7) / 0.03) ** 2)) + 0.05
    product = np.outer(rng.dirichlet(np.ones(1000)), 1 / np.arange(1, 1001))
    earlier = 1 / np.arange(1, 100_001.0)
    return {
        "1,000 ordered cells": (hills[::100], 10**6, ldp.Ordered()),
        "100,000 ordered cells": (hills, 10**9, ldp.Ordered()),
        "100 x 100 table": (product[::10, ::10].ravel(), 10**7, ldp.Crossed((100, 100))),
        "1,000 x 1,000 table": (product.ravel(), 10**9, ldp.Crossed((1000, 1000))),
        "100,000 items like an earlier release": (earlier, 10**8, ldp.Like(earlier)),
    }


def main() -> None:
    given = parser(__doc__).parse_args()
    rng = np.random.default_rng(1)
    rows = []
    for name, (shares, n, structure) in cases(rng).items():
        if not all(part in name for part in given.only):
            continue
        truth = rng.multinomial(n, shares / shares.sum())
        variance = 4 * np.e / (np.e - 1) ** 2 * n
        estimate = ldp.Estimate(truth + rng.normal(0, np.sqrt(variance), truth.size), n=n, variance=variance)
        begun = time.process_time()
        found = estimate.calibrate(structure=structure, warn=False)
        errors = [ldp.metrics.estimation_error(found, truth)]
        between = time.process_time()
        found.interval()
        done = time.process_time()
        errors.append(ldp.metrics.estimation_error(estimate.calibrate(found.prior, warn=False), truth))
        rows.append((name, between - begun, done - between, errors[0] / errors[1]))
        print(rows[-1], flush=True)
    head = ("table", "frequencies, seconds", "intervals, seconds", "error beside auto")
    deliver("scale", table(head, rows), given, PAGE)


if __name__ == "__main__":
    main()
