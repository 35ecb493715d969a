"""Run every experiment of the paper on one or several data sets, with one call."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from localdp import plots
from localdp.datasets import Dataset
from localdp.errors import InvalidInputError
from localdp.experiments import runs, webpage
from localdp.experiments.output import is_ours, write
from localdp.experiments.results import ENOUGH_TRIALS, Results, gather
from localdp.experiments.tasks import Measurements
from localdp.types import Progress

TRIALS, QUICK_TRIALS = ENOUGH_TRIALS, 3
EPSILONS, QUICK_EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0), (1.0, 2.0, 4.0, 5.0)


def reproduce(
    datasets: list[Dataset],
    out: str | Path,
    trials: int | None = None,
    quick: bool = False,
    command: str = "localdp reproduce",
    *,
    progress: Progress | None = None,
) -> Results:
    """Run every experiment and write figures, tables, means and two pages (HTML and Markdown) into the folder `out`.

    `progress(done, total)` is called after every trial. The folder appears when everything is done. A folder that
    `reproduce` wrote before is replaced; a folder with any other content is refused. `command` is shown on the pages as
    the command that made them.
    """
    count = (QUICK_TRIALS if quick else TRIALS) if trials is None else trials
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InvalidInputError(f"the number of trials must be a whole number of at least 1, not {trials!r:.40}")
    folder = Path(out).absolute()
    _check_replaceable(folder)
    plots.figure()  # if matplotlib or Jinja2 is missing, say so now and not after minutes of trials
    webpage.environment()
    epsilons = QUICK_EPSILONS if quick else EPSILONS
    tasks = {task: runs.trials_of(task, count) for data in datasets for task in runs.tasks(data, epsilons)}
    seeded = [replace(task, seed=seed) for task, times in tasks.items() for seed in range(times)]
    with _pool() as pool:
        results = gather(tasks, _with_progress(pool.map(runs.run, seeded), len(seeded), progress))
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".localdp-") as unfinished:
        content = Path(unfinished) / folder.name
        content.mkdir()
        write(results, datasets, count, command, content)
        if folder.exists():
            folder.rename(Path(unfinished) / "replaced")
        content.rename(folder)
    return results


def _with_progress(found: Iterator[Measurements], total: int, progress: Progress | None) -> Iterator[Measurements]:
    for done, measured in enumerate(found, 1):
        if progress is not None:
            progress(done, total)
        yield measured


@contextmanager
def _pool() -> Iterator[ProcessPoolExecutor]:
    """One process for each core, each with one thread: the trials already keep all cores busy."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
            try:
                _start_deaf(pool)
                yield pool
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before


def _start_deaf(pool: ProcessPoolExecutor) -> None:
    """Start all processes of the pool with Ctrl-C ignored: this process hears it, and ends them without tracebacks."""
    if threading.current_thread() is not threading.main_thread():
        return  # only the main thread may say what a signal does
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for _ in range(os.cpu_count() or 1):
            pool.submit(int)
    finally:
        signal.signal(signal.SIGINT, before)


def _check_replaceable(folder: Path) -> None:
    if folder.name in ("", ".."):
        raise InvalidInputError(f"{folder} cannot be replaced: name a folder of its own for the output")
    if folder.exists() and not (folder.is_dir() and is_ours(folder)):
        raise InvalidInputError(
            f"{folder} exists and holds files that this command did not write: choose another folder"
        )
