"""Many seeded runs on all cores, the mean of what each found, and the page that shows them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

Cell = tuple
Figures = dict[str, float]


def means(cells: list[Cell], runs: int, run: Callable[[Cell], Figures]) -> dict[Cell, Figures]:
    """For every cell the mean of each figure over the runs `run((*cell, seed))` that have it (are not NaN)."""
    tasks = [(*cell, seed) for cell in cells for seed in range(runs)]
    found = []
    with ProcessPoolExecutor(2) as pool:
        for done, figures in enumerate(pool.map(run, tasks, chunksize=4), 1):
            found.append(figures)
            print(f"\r{done} of {len(tasks)} runs", end="", flush=True)
    print()
    several = {cell: found[place * runs : (place + 1) * runs] for place, cell in enumerate(cells)}
    return {cell: {key: _mean([one[key] for one in some]) for key in some[0]} for cell, some in several.items()}


def publish(description: str | None, path: Path, write: Callable[[int, bool], str]) -> None:
    """Read the options, and put the page `write(runs, quick)` in its place; a quick one is printed."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="fewer epsilons, printed instead of written")
    arguments = parser.parse_args()
    text = write(arguments.runs, arguments.quick)
    if arguments.quick:
        print(text)
    else:
        path.write_text(text)


def _mean(numbers: list[float]) -> float:
    known = [number for number in numbers if number == number]
    return float(np.mean(known)) if known else float("nan")
