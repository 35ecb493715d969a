"""Kill a collector (kill -9) while it is taking uploads: whatever it acknowledged is stored and counted exactly once.

python audits/killed_collectors.py                 200 kills on SQLite, and 200 on PostgreSQL (if pgserver is installed)
python audits/killed_collectors.py --kills 5 --only sqlite

Eight threads send uploads to a collector in a process of its own, which is killed after a random time. Then the
database is compared with what the threads were told. What was sent and not answered is sent again to the next
collector, with the same ids. After the last kill everything is counted, and the aggregates must equal a recount of the
stored uploads.
"""

from __future__ import annotations

import argparse
import http.client
import multiprocessing
import random
import secrets
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import localdp as ldp
from localdp.collector import recount
from localdp.collector.collections import Collections, Terms
from localdp.collector.storage import Database, open_database, uploads

PLAN = ldp.Plan(["tea", "coffee", "water"], "grr", 1.0)
FINGERPRINT = bytes.fromhex(PLAN.fingerprint)
THREADS = 8


def serve(url: str, pipe: Connection) -> None:
    """A collector, in a process of its own; its port goes through the pipe."""
    from localdp.collector.server import bound, run
    from localdp.collector.service import Service
    from localdp.collector.settings import Settings

    listening = bound("127.0.0.1", 0)
    service = Service(Settings(database=url, fold_every=0.02))
    pipe.send(listening.getsockname()[1])
    run(service, listening)


class Traffic:
    """What was sent: which uploads were acknowledged, and which were sent without hearing an answer."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 (not for privacy)
        self.acknowledged: dict[bytes, int] = {}
        self.in_doubt: dict[bytes, bytes] = {}
        self.wrong: list[str] = []
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def next(self) -> tuple[bytes, bytes]:
        """An upload to send: a new one, or now and then one that was sent before."""
        with self._lock:
            if self.in_doubt and self.random.random() < 0.3:
                return self.in_doubt.popitem()
            reports = self.random.choice((1, 1, 1, 20))
            return secrets.token_bytes(16), PLAN.privatize(["tea"] * reports).to_bytes()

    def send(self, port: int) -> None:
        """Send uploads, one after the other, until the collector is gone."""
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
            self._send(connection)

    def _send(self, connection: http.client.HTTPConnection) -> None:
        while not self._stopped.is_set():
            name, body = self.next()
            try:
                connection.request("POST", f"/v1/plans/{PLAN.fingerprint}/reports", body, {"Upload-Id": name.hex()})
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                with self._lock:
                    self.in_doubt[name] = body
                return
            with self._lock:
                if answer.status in (200, 201):
                    self.acknowledged[name] = int.from_bytes(body[20:24], "little")
                else:
                    self.wrong.append(f"an upload was answered with {answer.status}")
                    return

    def until_killed(self, process: Any, port: int, seconds: float) -> None:
        """Send from all threads, and kill the process some time after its first answer."""
        threads = [threading.Thread(target=self.send, args=(port,)) for _ in range(THREADS)]
        before, patience = len(self.acknowledged), time.monotonic() + 20
        for thread in threads:
            thread.start()
        while len(self.acknowledged) == before and time.monotonic() < patience:
            time.sleep(0.005)  # the collector is still starting
        time.sleep(seconds)
        process.kill()
        process.join()
        for thread in threads:
            thread.join()


def lost(database: Database, acknowledged: dict[bytes, int]) -> int:
    """How many acknowledged uploads are not in the database with their number of reports."""
    with database.reading() as session:
        stored = {bytes(key): count for key, count in session.execute("SELECT key, count FROM uploads")}
    return sum(stored.get(uploads.key_of(FINGERPRINT, name)) != n for name, n in acknowledged.items())


def kill(url: str, kills: int, seed: int = 1, serve: Callable[[str, Connection], None] = serve) -> str:
    """Kill so many collectors on one database; return a sentence about it, or raise an `AssertionError`."""
    started = time.perf_counter()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["localdp.collector.server"])
    database = open_database(url)
    with database.writing() as session:
        Collections(database).add(session, PLAN, Terms(), 1)
    traffic = Traffic(seed)
    for number in range(kills):
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(url, theirs), daemon=True)
        process.start()
        port = ours.recv()
        traffic.until_killed(process, port, traffic.random.uniform(0, 0.4))
        if traffic.wrong:
            raise AssertionError(traffic.wrong[0])
        missing = lost(database, traffic.acknowledged)
        if missing:
            raise AssertionError(f"after kill {number + 1}, {missing} acknowledged uploads are not stored as they were")
    _count_all(url)
    wrong = recount.differences(database)
    if wrong:
        raise AssertionError("; ".join(wrong))
    with database.reading() as session:
        ((rows, keys, reports),) = session.execute("SELECT COUNT(*), COUNT(DISTINCT key), SUM(count) FROM uploads")
        ((counted,),) = session.execute("SELECT SUM(n) FROM aggregates")
    database.close()
    if rows != keys or int(reports) != int(counted):
        raise AssertionError(f"{rows} uploads with {keys} keys and {reports} reports, of which {counted} are counted")
    took = time.perf_counter() - started
    return (
        f"{kills} kills: {len(traffic.acknowledged):,} acknowledged uploads are stored once, and the aggregates equal "
        f"a recount of {int(reports):,} reports, in {took:.0f} s"
    )


def _count_all(url: str) -> None:
    """Let one more collector count what waits."""
    from localdp.collector.service import Service
    from localdp.collector.settings import Settings

    service = Service(Settings(database=url))
    service.start()
    try:
        while service.folder.round():
            pass
    finally:
        service.stop()


@contextmanager
def urls(only: str | None) -> Any:
    """The databases to try, by name."""
    with tempfile.TemporaryDirectory() as folder:
        found = {} if only == "postgresql" else {"SQLite": str(Path(folder, "killed.db"))}
        server = None
        if only != "sqlite":
            try:
                import pgserver

                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    server = pgserver.get_server(Path(folder, "postgres"))
                found["PostgreSQL"] = server.get_uri()
            except Exception as error:
                print(f"PostgreSQL cannot be started here, and is left out: {error}", file=sys.stderr)
        try:
            yield found
        finally:
            if server is not None:
                server.cleanup()


def kill_collectors(kills: int = 200, only: str | None = None) -> bool:
    """Kill collectors on every database there is; whether nothing was lost."""
    good = True
    with urls(only) as found:
        for name, url in found.items():
            try:
                print(f"{name}: {kill(url, kills)}", flush=True)
            except AssertionError as error:
                print(f"{name}: FAILED: {error}", flush=True)
                good = False
    return good


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--only", choices=["sqlite", "postgresql"])
    asked = parser.parse_args()
    sys.exit(0 if kill_collectors(asked.kills, asked.only) else 1)
