"""Kill a collector (kill -9) while everything is under way: what it acknowledged is stored and counted exactly once.

python audits/killed_collectors.py                 200 kills on SQLite, and 200 on PostgreSQL (if pgserver is installed)
python audits/killed_collectors.py --kills 5 --only sqlite

Eight threads send uploads to a collector in a process of its own, which is killed after a random time. Meanwhile they
are counted, estimates are released, an operator imports aggregates, takes uploads back and in, and ends rounds of
discoveries, and retention drops bodies of the days before. After each kill the database is compared with what the
threads were told. What was sent and not answered is sent again to the next collector, with the same ids. After the last
kill everything is counted, and the aggregates must equal a recount of what was sent.

Then collectors are killed while they bring a database of version 2 up to date: every row must be there afterwards.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import secrets
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

import localdp as ldp
from localdp.collector.collections import Collections, Terms
from localdp.collector.storage import Database, aggregates, open_database, tokens
from localdp.collector.storage.database import Where
from localdp.collector.tokens import digest_of, new_token

sys.path.insert(0, str(Path(__file__).resolve().parent))
import recount as recount
from traffic import PLAN, Traffic

_DAYS = 4  # uploads are stored under today and three days before, so that retention has something to drop


def serve(url: str, pipe: Connection) -> None:
    """A collector, in a process of its own; its port goes through the pipe."""
    from localdp.collector.server import bound, run
    from localdp.collector.service import Service
    from localdp.collector.settings import Settings

    listening = bound("127.0.0.1", 0)
    service = Service(Settings(database=url, fold_every=0.02, rate=0.0))
    pipe.send(listening.getsockname()[1])
    run(service, listening)


def serve_busy(url: str, pipe: Connection) -> None:
    """A collector whose uploads belong to several days, and whose retention runs all the time."""
    from localdp.collector import retention
    from localdp.collector.collections import day_of
    from localdp.collector.routes import uploads as route
    from localdp.collector.server import bound, run
    from localdp.collector.service import Service
    from localdp.collector.settings import Settings

    route.day_of = lambda now: day_of(now) - random.randrange(_DAYS)  # type: ignore[attr-defined] # noqa: S311
    retention._EVERY = 0.05
    listening = bound("127.0.0.1", 0)
    service = Service(Settings(database=url, fold_every=0.02, rate=0.0, keep_days=1))
    pipe.send(listening.getsockname()[1])
    run(service, listening)


def lost(database: Database, acknowledged: dict[bytes, int]) -> int:
    """How many acknowledged uploads are not in the database with their number of reports."""
    with database.reading() as session:
        stored = {bytes(key): count for key, count in session.execute("SELECT key, count FROM uploads")}
    return sum(stored.get(key) != n for key, n in acknowledged.items())


def counted_again(database: Database, traffic: Traffic) -> list[str]:
    """What differs between the aggregates and a recount of what was sent, by day and standing, and in each round."""
    wrong: list[str] = []
    expected: dict[tuple[int, str, int, int], ldp.Aggregate] = {}
    rounds: dict[tuple[int, str], int] = defaultdict(int)
    with database.reading() as session:
        kinds = dict(session.execute("SELECT id, kind FROM collections"))
        for key, collection, part, day, standing, count in session.execute(
            "SELECT key, collection, part, day, standing, count FROM uploads"
        ):
            plan, body = traffic.bodies[bytes(key)]
            if kinds[collection] != "plan":
                rounds[collection, part] += count
                continue
            aggregate = (
                ldp.Aggregate.from_bytes(body) if body.startswith(b"LDPAGG") else plan.aggregate(plan.read(body))
            )
            whole = expected.setdefault((collection, part, day, standing), ldp.Aggregate(plan))
            whole.merge(aggregate, repeated=True)
        ((collection,),) = session.execute("SELECT id FROM collections WHERE fingerprint = ?", (PLAN.fingerprint,))
        where = Where(collection)
        rows = aggregates.days(session, where)
        for day, standing in {(row.day, row.standing) for row in rows}:
            both = [row for row in rows if (row.day, row.standing) == (day, standing)]
            n, counts = aggregates.merged(session, where, both, PLAN.domain.size)
            again = expected.pop((collection, "", day, standing), ldp.Aggregate(PLAN))
            if again.n != n or not np.array_equal(again.counts, counts):
                wrong.append(f"day {day}, standing {standing}: {n} counted, and {again.n} were sent")
        wrong += [f"day {key[2]}: {one.n} are not counted" for key, one in expected.items() if one.n]
        for collection, key, reports, suspect in session.execute(
            "SELECT collection, key, reports, suspect FROM parts WHERE reports IS NOT NULL"
        ):
            if reports + suspect != rounds[collection, key]:
                wrong.append(
                    f"a round counted {reports} and {suspect} reports, and {rounds[collection, key]} are stored"
                )
        size = session.execute("SELECT COUNT(*), COUNT(DISTINCT key) FROM uploads")[0]
    return wrong if size[0] == size[1] else [*wrong, f"{size[0]} uploads have {size[1]} keys"]


def kill(url: str, kills: int, seed: int = 1, serve: Callable[[str, Connection], None] = serve_busy) -> str:
    """Kill so many collectors on one database; return a sentence about it, or raise an `AssertionError`."""
    started = time.perf_counter()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["localdp.collector.server"])
    database, token = open_database(url), new_token()
    with database.writing() as session:
        Collections(database).add(session, PLAN, Terms(minimum=50), 1)
        tokens.add(session, digest_of(token), "audit", "admin", None, 1)
    traffic = Traffic(seed, token)
    for number in range(kills):
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(url, theirs), daemon=True)
        process.start()
        port = ours.recv()
        traffic.until_killed(process, port, traffic.random.uniform(0, 0.6), serve is serve_busy)
        if traffic.wrong:
            raise AssertionError(traffic.wrong[0])
        missing = lost(database, traffic.acknowledged)
        if missing:
            raise AssertionError(f"after kill {number + 1}, {missing} acknowledged uploads are not stored as they were")
    _count_all(url)
    wrong = counted_again(database, traffic)
    if wrong:
        raise AssertionError("; ".join(wrong))
    with database.reading() as session:
        ((rows, reports, dropped),) = session.execute(
            "SELECT COUNT(*), SUM(count), SUM(CASE WHEN body IS NULL THEN 1 ELSE 0 END) FROM uploads"
        )
        ((ended,),) = session.execute("SELECT COUNT(*) FROM parts WHERE reports IS NOT NULL")
    database.close()
    moved = traffic.done["POST uploads"]
    return (
        f"{kills} kills: {len(traffic.acknowledged):,} acknowledged uploads are stored once, and the aggregates equal "
        f"a recount of {int(reports):,} reports in {rows:,} uploads; meanwhile {int(dropped):,} bodies were dropped, "
        f"{traffic.done['POST aggregates']:,} aggregates imported, uploads moved {moved:,} times, {ended} rounds ended "
        f"and {traffic.done['GET estimates']:,} estimates released; {time.perf_counter() - started:.0f} s"
    )


def _count_all(url: str) -> None:
    """Let one more collector count what waits."""
    from localdp.collector.service import Service
    from localdp.collector.settings import Settings

    service = Service(Settings(database=url))
    service.start()
    for collection in service.collections.every():
        assert service.folder.fold_all(collection, time.monotonic() + 60)
    service.stop()


def _kill(new_url: Callable[[], str], kills: int) -> str:
    return kill(new_url(), kills)


def _open(url: str) -> None:
    open_database(url).close()


def kill_steps(new_url: Callable[[], str], kills: int, seed: int = 1) -> str:
    """Kill collectors that bring a database of version 2 up to date; a sentence, or an `AssertionError`."""
    from older_tables import WRITTEN, as_written, differences_from

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["localdp.collector.storage.sqlite", "localdp.collector.storage.postgres"])
    coin, midway = random.Random(seed), 0  # noqa: S311
    for _ in range(kills):
        url = new_url()
        written = WRITTEN["sqlite" if url.startswith("sqlite") else "postgresql"]
        as_written(url, written, copies=300)
        process = context.Process(target=_open, args=(url,), daemon=True)
        process.start()
        process.join(coin.uniform(0.0, 0.25))
        midway += process.is_alive()
        process.kill()
        process.join()
        database = open_database(url)
        wrong = differences_from(database, written)
        database.close()
        if wrong:
            raise AssertionError(f"after a kill during the step: {wrong[0]}")
    return f"{kills} kills at the step from version 2 ({midway} before it was done): every row is there"


@contextmanager
def urls(only: str | None) -> Iterator[dict[str, Callable[[], str]]]:
    """Functions that make a new database, for those that can be tried here."""
    server = None
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, Callable[[], str]] = {}
        if only != "postgresql":
            found["SQLite"] = lambda: f"sqlite:///{folder}/{secrets.token_hex(4)}.db"
        if only != "sqlite":
            try:
                import pgserver
                import psycopg

                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    server = pgserver.get_server(Path(folder, "postgres"))
                running = server

                def new_database() -> str:
                    name = f"killed_{secrets.token_hex(4)}"
                    with psycopg.connect(running.get_uri(), autocommit=True) as connection:
                        connection.execute(f"CREATE DATABASE {name}".encode())
                    return str(running.get_uri(database=name))

                found["PostgreSQL"] = new_database
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
        for name, new_url in found.items():
            for audit in (_kill, kill_steps):
                try:
                    print(f"{name}: {audit(new_url, kills if audit is _kill else max(1, kills // 4))}", flush=True)
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
