"""Measure what one report costs a collector, in processor time and on the disk, and say what that means for a day.

python benchmarks/collector_sizes.py                 the figures on docs/deploy.md
python benchmarks/collector_sizes.py --seconds 2     a first look
python benchmarks/collector_sizes.py --postgres      the same on a PostgreSQL server, which is started for it

The collector runs in a process of its own. Its processor time is what the system counts for that process, with the
counting of the reports and without the sender; with PostgreSQL, the server of the database comes on top and is not in
the figure. The disk is what the database takes when the collector has stopped, less what an empty one takes, and less
the counts themselves, which take 8 bytes for each item of a plan and day. Figures for a day are these multiplied by the
reports of a day, so they are extrapolated.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import tempfile
import time
import urllib.error
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from collector_load import LIMITS, api, load, memory, request, serving

import localdp as ldp

if TYPE_CHECKING:
    from collections.abc import Iterator

ITEMS = 41_270
DAYS = (10**4, 10**6, 10**8)
PEAK = 5  # how many times busier the busiest second of a day is than its average second: an assumption


@dataclass(frozen=True)
class Cost:
    """What was measured with uploads of `reports` reports each."""

    reports: int
    uploads: int
    rate: float
    p99: float
    seconds: float
    size: float
    memory: float

    def row(self) -> str:
        """A row of the table of what was measured."""
        number = self.uploads * self.reports
        return _row(
            f"{self.reports:,}",
            f"{self.uploads:,}",
            f"{self.rate:,.0f}",
            f"{self.p99:.0f} ms",
            f"{1e6 * self.seconds / number:.3g} µs",
            f"{self.size / number:.3g} bytes",
            f"{self.memory:.0f} MiB",
        )

    def day(self, reports: int) -> str:
        """A row of the table of days."""
        uploads = reports / self.reports
        size = uploads * self.size / self.uploads
        return _row(
            f"{reports:,}",
            f"{self.reports:,}",
            _number(PEAK * uploads / 86_400),
            f"{PEAK * uploads / 86_400 / self.rate:.2%}",
            _time(uploads * self.seconds / self.uploads),
            _bytes(size),
            _bytes(365 * size),
        )


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _time(seconds: float) -> str:
    return (
        f"{seconds:.2g} s"
        if seconds < 100
        else f"{seconds / 60:.0f} min"
        if seconds < 7200
        else f"{seconds / 3600:.1f} h"
    )


def _bytes(size: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def processor(pid: int) -> float:
    """The processor time of a process so far, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def databases(postgres: bool) -> Iterator[Iterator[str]]:
    """New databases, one after the other."""
    if not postgres:
        with tempfile.TemporaryDirectory() as folder:
            yield (f"{folder}/{number}.db" for number in range(9))
        return
    import pgserver
    import psycopg

    with tempfile.TemporaryDirectory() as folder:
        server = pgserver.get_server(folder)

        def made() -> Iterator[str]:
            for number in range(9):
                with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                    connection.execute(f"CREATE DATABASE sizes_{number}")
                yield server.get_uri(database=f"sizes_{number}")

        yield made()
        server.cleanup()


def size_of(database: str) -> int:
    """The bytes of a database that no collector uses."""
    if "://" not in database:
        return Path(database).stat().st_size
    import psycopg

    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("VACUUM FULL")  # without rows that were replaced, whose space is used again sooner or later
        return int(connection.execute("SELECT pg_database_size(current_database())").fetchone()[0])  # type: ignore[index]


def measured(database: str, reports: int, seconds: float) -> Cost:
    """Send uploads of so many reports for so many seconds, and wait until all are counted."""
    command = ("-m", "localdp", "serve", "--db", database, "--port", "0", *LIMITS)
    plan = ldp.Plan(ITEMS, "llh", 2.0)
    with serving(*command) as (port, _):
        api(port, "/v1/plans", {"plan": json.loads(plan.to_json()), "minimum": 10**15})
    empty = size_of(database)
    bodies = [plan.privatize(np.arange(start, start + reports) % ITEMS).to_bytes() for start in range(64)]
    with serving(*command) as (port, pid):
        make = request(plan.fingerprint, bodies)
        load(port, make, 1.0)  # loops are compiled, and connections are made
        _wait(port, plan)
        before, there = processor(pid), _counted(port, plan)
        answers = load(port, make, seconds)
        _wait(port, plan)
        used, more = processor(pid) - before, _counted(port, plan) - there
        resident = memory(pid)
        total = there + more
    aggregate = 8 * ITEMS  # the counts of this day, however many reports there are
    size = (size_of(database) - empty - aggregate) * more / total
    return Cost(reports, more // reports, answers["rate"], answers["p99"], used, size, resident)


def _counted(port: int, plan: ldp.Plan) -> int:
    return int(json.loads(api(port, f"/v1/plans/{plan.fingerprint}"))["counted"])


def _wait(port: int, plan: ldp.Plan) -> None:
    """Let the collector count what waits. It does so before it answers; the minimum of the plan refuses the answer."""
    while json.loads(api(port, f"/v1/plans/{plan.fingerprint}"))["uploads_waiting"]:
        with suppress(urllib.error.HTTPError):
            api(port, f"/v1/plans/{plan.fingerprint}/estimates")


def backup(database: str) -> str:
    """How long a backup of this file takes."""
    copy = f"{database}.copy"
    started = time.perf_counter()
    sqlite3.connect(database).execute(f"VACUUM INTO '{copy}'")
    return f"A backup of {_bytes(Path(database).stat().st_size)} took {time.perf_counter() - started:.1f} s."


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--postgres", action="store_true")
    asked = parser.parse_args()
    with databases(asked.postgres) as new:
        first, second = next(new), next(new)
        costs = [measured(first, 1, asked.seconds), measured(second, 1000, asked.seconds)]
        print(
            _row("reports in an upload", "uploads", "a second", "slowest 1%", "processor, a report", "disk", "memory")
        )
        print(_row(*["---"] * 7))
        print("\n".join(cost.row() for cost in costs), end="\n\n")
        print(_row("reports a day", "in an upload", f"requests a second, {PEAK} times the average",
                   "of the measured rate", "processor, a day", "disk, a day", "disk, a year"))  # fmt: skip
        print(_row(*["---"] * 7))
        print("\n".join(cost.day(number) for number in DAYS for cost in costs), end="\n\n")
        if not asked.postgres:
            print(backup(first))
    print(f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}")


if __name__ == "__main__":
    main()
