"""Count and privatize on a cluster while a partition kills the worker that reads it first; prints what came of it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import dask
import distributed
import numpy as np
import pyarrow as pa

import localdp as ldp
from localdp.engines.dask import DaskEngine, _to_pandas


def poisoned(table, marker):
    """The table as pandas. The first worker to ask for it dies."""
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return _to_pandas(table)


def main():
    """Use the cluster that the scheduler file describes."""
    place, folder = sys.argv[1:]
    plan = ldp.Plan(300, "llh", 2.0)
    reports = plan.privatize(np.arange(3_000) % 300)
    table = pa.table({"report": [bytes(row) for row in reports.rows]})
    with distributed.Client(scheduler_file=place) as client:
        client.wait_for_workers(2, timeout=200)
        import dask.dataframe as dd

        marker = str(Path(folder) / "died")
        parts = [dask.delayed(_to_pandas)(table.slice(start, 500)) for start in range(0, 2_500, 500)]
        parts.insert(2, dask.delayed(poisoned)(table.slice(2_500), marker))
        frame = dd.from_delayed(parts, meta=_to_pandas(table.slice(0, 0)), verify_meta=False)
        found = DaskEngine().aggregate(frame, plan)
        died = len(client.nthreads()) == 1 and Path(marker).exists()
        print(client.scheduler.address, died, found == plan.aggregate(reports))


if __name__ == "__main__":
    main()
