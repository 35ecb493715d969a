"""Baskets: which items are found when users hold sets, and what Calibrate gives; writes docs/results/sets.md.

`python benchmarks/sets.py kosarak-100k.dat.gz retail.dat.gz` takes some minutes. The files are those of the FIMI
repository, one basket of numbers on each line; any other file of that form will do.
"""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from runs import Measurements
from worst import deliver, measure, parser, table

import localdp as ldp
from localdp.item_sets import ItemSets

PAGE = Path(__file__).parent.parent / "docs" / "results" / "sets.md"
EPSILONS = (1.0, 2.0, 4.0)
SET_SIZES = (1, 2, 4, 8, 16)
TOP = 32


class Cell(NamedTuple):
    """One plan on one file of baskets."""

    path: str
    epsilon: float
    set_size: int


@cache
def baskets(path: str) -> tuple[ItemSets, int]:
    """The baskets in a file, and the number of different items."""
    text = gzip.decompress(Path(path).read_bytes()).decode() if path.endswith(".gz") else Path(path).read_text()
    lines = [np.array(line.split(), np.int64) for line in text.splitlines()]
    names, items = np.unique(np.concatenate(lines), return_inverse=True)
    return ItemSets.of(items, np.array([line.size for line in lines])), names.size


def run(task: tuple[str, float, int, int]) -> Measurements:
    """One seeded run: the normalised cumulative rank of the top items, and the errors before and after Calibrate."""
    path, epsilon, set_size, seed = task
    sets, items = baskets(path)
    truth = np.bincount(sets.items, minlength=items)
    plan = ldp.Plan(items, "auto", epsilon, set_size=set_size)
    estimate = plan.aggregate(plan.privatize_sets(sets, seed=seed)).estimate()
    calibrated = estimate.calibrate()
    low, high = calibrated.interval(0.9)
    # What the estimates estimate: holders of more than `set_size` items count for less.
    weights = np.repeat(np.minimum(1, set_size / np.maximum(sets.sizes, 1)), sets.sizes)
    seen = np.bincount(sets.items, weights, minlength=items)
    return {
        "ncr": cumulative_rank(calibrated.frequencies, truth),
        "raw": ldp.metrics.estimation_error(estimate.frequencies, truth),
        "calibrated": ldp.metrics.estimation_error(calibrated.frequencies, truth),
        "seen": float(seen.sum() / truth.sum()),
        "coverage": float(np.mean((low <= seen) & (seen <= high))),
    }


def cumulative_rank(estimates: np.ndarray, truth: np.ndarray) -> float:
    """NCR (Wang, Li & Jha, 2018): a true top item counts k for the first place, k - 1 for the second, and so on."""
    worth = np.zeros(truth.size)
    worth[np.argsort(-truth, kind="stable")[:TOP]] = np.arange(TOP, 0, -1)
    return float(worth[np.argsort(-estimates, kind="stable")[:TOP]].sum() / worth.sum())


def page(measured: dict[Cell, Measurements], runs: int) -> list[str]:
    """The table, as a section of the page."""
    head = (
        "baskets",
        "epsilon",
        "set size",
        "mechanism",
        "seen",
        f"rank of the top {TOP}",
        "error: raw",
        "calibrated",
        "90% hold",
    )
    rows = [
        (
            Path(cell.path).name.partition(".")[0],
            f"{cell.epsilon:g}",
            cell.set_size,
            ldp.Plan(baskets(cell.path)[1], "auto", cell.epsilon, set_size=cell.set_size).mechanism.name,
            f"{found['seen']:.0%}",
            f"{found['ncr']:.2f}",
            f"{found['raw']:,.0f}",
            f"{found['calibrated']:,.0f}",
            f"{found['coverage']:.3f}",
        )
        for cell, found in measured.items()
    ]
    return [f"Means of {runs} runs:", "", *table(head, rows)]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("baskets", nargs="+", help="files of baskets, one basket of numbers on each line")
    given = options.parse_args()
    some = slice(1, 2) if given.quick else slice(None)
    cells = [
        Cell(path, epsilon, size) for path in given.baskets for epsilon in EPSILONS[some] for size in SET_SIZES[some]
    ]
    deliver("sets", page(measure(cells, given, run), given.runs), given, PAGE)


if __name__ == "__main__":
    main()
