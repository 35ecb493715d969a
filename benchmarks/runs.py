"""Run many seeded runs on two cores, average their measurements, and write the page that shows them."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import secrets
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

Cell = tuple
Measurements = dict[str, float]
"""The measured numbers of one run, by name; NaN where a run has nothing to measure."""


def workers(processes: int, **options: Any) -> ProcessPoolExecutor:
    """Processes with one thread each: threads of several processes on the same cores wait for each other."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    return ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"), **options)


def trials(
    cells: list[Cell],
    runs: int,
    run: Callable[[Cell], Measurements],
    processes: int = 2,
    at_once: int = 4,
    first: int = 0,
) -> dict[Cell, list[Measurements]]:
    """For every cell, the runs `run((*cell, seed))`, whose seeds begin with `first`.

    A process is handed `at_once` runs at a time: fewer share long runs out more evenly.
    """
    tasks = [(*cell, first + number) for cell in cells for number in range(runs)]
    found = []
    with workers(processes) as pool:
        for done, measured in enumerate(pool.map(run, tasks, chunksize=at_once), 1):
            found.append(measured)
            _show_progress(done, len(tasks))
    return {cell: found[place * runs : (place + 1) * runs] for place, cell in enumerate(cells)}


def means(by_cell: dict[Cell, list[Measurements]]) -> dict[Cell, Measurements]:
    """For every cell, the mean of each measurement over its runs. NaN is left out."""
    return {cell: {key: _mean([one[key] for one in runs]) for key in runs[0]} for cell, runs in by_cell.items()}


def doubt(runs: list[Measurements], above: str, below: str) -> float:
    """The standard error of a ratio of two mean errors, which have the same runs, so that they go together."""
    over, under = (np.array([one[key] for one in runs]) for key in (above, below))
    ratio = over.mean() / under.mean()
    return float((over - ratio * under).std(ddof=1) / np.sqrt(len(runs)) / under.mean()) if len(runs) > 1 else np.nan


def publish(description: str | None, path: Path, write: Callable[[argparse.Namespace], str]) -> None:
    """Read the options and write the page `write(options)` to `path`; with --quick, print it instead."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=None, help="of the first run; a new one unless given")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="fewer epsilons, printed instead of written")
    arguments = parser.parse_args()
    if arguments.seed is None:
        arguments.seed = secrets.randbits(31)
    text = write(arguments)
    if arguments.quick:
        print(text)
    else:
        path.write_text(text)


def _show_progress(done: int, total: int) -> None:
    """Count up on one line of a terminal; in a log, write a line for every twentieth of the runs."""
    terminal = sys.stderr.isatty()
    if terminal or done == total or done * 20 // total > (done - 1) * 20 // total:
        end = "\n" if done == total or not terminal else ""
        print(f"{chr(13) if terminal else ''}{done} of {total} runs", end=end, file=sys.stderr, flush=True)


def _mean(numbers: list[float]) -> float:
    known = [number for number in numbers if number == number]
    return float(np.mean(known)) if known else float("nan")
