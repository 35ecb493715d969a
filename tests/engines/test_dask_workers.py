"""Dask with a real scheduler and two worker processes: the same counts, also if a worker dies in the middle."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from command import localdp

import localdp as ldp
from localdp import files

pytest.importorskip("distributed")

SCRIPT = Path(__file__).with_name("killed_dask_worker.py")
WORKER = ("--nthreads", "1", "--no-nanny", "--no-dashboard")


@contextmanager
def _cluster(folder):
    """The address of a scheduler with two workers, which are stopped at the end."""
    place = folder / "scheduler.json"
    started = []

    def start(*arguments):
        command = [sys.executable, "-m", *map(str, arguments)]
        with (folder / "cluster.log").open("ab") as log:
            started.append(subprocess.Popen(command, stdout=log, stderr=log))  # noqa: S603

    try:
        start(
            "distributed.cli.dask_scheduler", "--host", "tcp://127.0.0.1:0", "--no-dashboard", "--scheduler-file", place
        )
        for _ in range(2):
            options = ("--scheduler-file", place, "--local-directory", folder)
            start("distributed.cli.dask_worker", *WORKER, *options)
        yield place
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.mark.slow
def test_a_real_cluster_gives_the_same_counts_and_survives_a_killed_worker(tmp_path):
    plan = ldp.Plan(300, "llh", 2.0)
    (tmp_path / "plan.json").write_text(plan.to_json())
    expected = ldp.Aggregate(plan)
    names = [f"r{number}.parquet" for number in range(4)]
    for name in names:
        reports = plan.privatize(np.arange(2_000) % 300)
        expected.add(reports)
        with files.reports_writer(tmp_path / name, plan) as write:
            write(reports)
    with _cluster(tmp_path) as place:
        done = subprocess.run(  # noqa: S603
            [sys.executable, SCRIPT, place, tmp_path], capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
        address, died, same = done.stdout.split()
        assert (died, same) == ("True", "True")
        # One of the two workers is left.
        counted = localdp(
            "aggregate",
            *names,
            "-p",
            "plan.json",
            "-o",
            "c.agg",
            "--engine",
            "dask",
            "--cluster",
            address,
            cwd=tmp_path,
        )
    assert counted.returncode == 0, counted.stderr
    assert ldp.Aggregate.load(tmp_path / "c.agg") == expected


def test_bytes_that_dask_made_text_of_are_refused_with_the_remedy():
    dd = pytest.importorskip("dask.dataframe")
    plan = ldp.Plan(4, "grr", 1.0)
    frame = dd.from_pandas(pd.DataFrame({"report": ["\x01", "\x02"]}), npartitions=1)
    with pytest.raises(ldp.errors.InvalidInputError, match=r"is text, and reports are bytes.*convert-string"):
        ldp.engines.dask.aggregate(frame, plan)
    with pytest.raises(ldp.errors.InvalidInputError, match="expected a Dask data frame, not Table"):
        ldp.engines.dask.aggregate(pa.table({"report": [b"\x01"]}), plan)
