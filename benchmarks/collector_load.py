"""Measure a collector under load beside a bare route of the same framework, in one run.

python benchmarks/collector_load.py           the figures
python benchmarks/collector_load.py --seconds 2 --rounds 1 --quick   a first look
python benchmarks/collector_load.py --write   the same, written into docs/results/collector.md

Everything runs on this machine, over loopback: one process serves, this one sends over 128 connections. The bare route
is Starlette's, served by uvicorn, and answers 204 without reading the body. So the processors are shared between the
server and the sender, as they are for both routes.

A machine is not equally fast all the time. So the two routes are measured in turns, for two seconds each, in changing
order, and the figures are medians over all turns. Before a turn of the bare route the collector has counted all that it
took, so that its counting slows nobody but itself. The first turn is thrown away: it compiles the loops that count.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import re
import secrets
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import localdp as ldp
from localdp.formats.batch import HEADER_BYTES

CONNECTIONS = 128
LIMITS = ("--rate", "1000000")
"""All requests come from one address. A rate that nobody reaches costs as much as one that somebody does."""
ADMIN = secrets.token_hex(32)
BEGIN, END = "<!-- figures of benchmarks/collector_load.py -->", "<!-- end of the figures -->"
PAGE = Path(__file__).parent.parent / "docs" / "results" / "collector.md"
BARE = """
import socket, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

async def bare(request):
    return Response(status_code=204)

app = Starlette(routes=[Route("/v1/plans/{plan}/reports", bare, methods=["POST"])])
listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
print(f"listening at http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
config = uvicorn.Config(app, access_log=False, log_level="error", http="httptools", server_header=False)
uvicorn.Server(config).run(sockets=[listening])
"""


@contextmanager
def serving(*command: str) -> Iterator[tuple[int, int]]:
    """A server in a process of its own: its port, and its process id."""
    environment = {**os.environ, "LOCALDP_ADMIN_TOKEN": ADMIN}
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            line = next(line for line in process.stdout or () if "listening" in line)
            yield int(line.strip().rpartition(":")[2]), process.pid
        finally:
            process.terminate()
            process.wait(30)


class Sender(asyncio.Protocol):
    """One connection: sends a request, waits for the whole answer, and sends the next, until the time is over."""

    def __init__(
        self, make: Callable[[], bytes], until: float, done: asyncio.Future[None], seen: dict[int, int]
    ) -> None:
        self.make, self.until, self.done, self.seen = make, until, done, seen
        self.latencies: list[float] = []
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.send()

    def send(self) -> None:
        self.sent = time.perf_counter()
        if self.sent >= self.until:
            self.transport.close()
            if not self.done.done():
                self.done.set_result(None)
            return
        self.transport.write(self.make())  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, separator, body = self.buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        at = head.find(b"content-length: ")
        length = int(head[at + 16 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        if len(body) < length:
            return
        self.buffer = b""
        status = int(head[9:12])
        self.seen[status] = self.seen.get(status, 0) + 1
        self.latencies.append(time.perf_counter() - self.sent)
        self.send()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or ConnectionError("the server closed the connection"))


def load(port: int, make: Callable[[], bytes], seconds: float, connections: int = CONNECTIONS) -> dict[str, Any]:
    """Send for so many seconds: requests a second, latencies in milliseconds, and the statuses."""

    async def run() -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        seen: dict[int, int] = {}
        until = time.perf_counter() + seconds
        started = time.perf_counter()
        senders = []
        for _ in range(connections):
            done = loop.create_future()
            _, sender = await loop.create_connection(lambda d=done: Sender(make, until, d, seen), "127.0.0.1", port)
            senders.append(sender)
        await asyncio.gather(*(one.done for one in senders))
        took = time.perf_counter() - started
        latencies = sorted(value for one in senders for value in one.latencies)
        return {
            "rate": len(latencies) / took,
            "median": latencies[len(latencies) // 2] * 1e3,
            "p99": latencies[int(len(latencies) * 0.99)] * 1e3,
            "slowest": latencies[-1] * 1e3,
            "statuses": seen,
        }

    try:
        import uvloop

        return uvloop.run(run())
    except ImportError:
        return asyncio.run(run())


def request(fingerprint: str, bodies: list[bytes]) -> Callable[[], bytes]:
    """A function that makes requests with these bodies in turn, each with an upload id of its own."""
    (length,) = {len(body) for body in bodies}
    start = (
        f"POST /v1/plans/{fingerprint}/reports HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Type: application/octet-stream\r\nContent-Length: {length}\r\nUpload-Id: "
    ).encode()
    ends = itertools.cycle([b"\r\n\r\n" + body for body in bodies])
    return lambda: start + secrets.token_hex(16).encode() + next(ends)


def api(port: int, path: str, body: object = None) -> bytes:
    """An answer of the collector."""
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, {"Authorization": f"Bearer {ADMIN}"})
    with urllib.request.urlopen(asked, timeout=120) as answer:  # noqa: S310 (an address of ours)
        return answer.read()


def seconds_of(port: int, path: str) -> float:
    """How long an answer takes."""
    started = time.perf_counter()
    api(port, path)
    return time.perf_counter() - started


def uploads(plan: ldp.Plan, number: int = 1_000_000) -> tuple[list[bytes], list[bytes]]:
    """So many reports of different people: one by one, and a thousand at a time."""
    reports = plan.privatize(np.minimum(np.random.default_rng(1).zipf(1.5, number) - 1, plan.domain.size - 1))
    head, rows, size = reports[:1].to_bytes()[:HEADER_BYTES], reports.rows.tobytes(), plan.mechanism.report_bytes
    ones = [head + rows[start : start + size] for start in range(0, len(rows), size)]
    return ones, [reports[start : start + 1000].to_bytes() for start in range(0, number, 1000)]


def memory(pid: int) -> float:
    """The memory of a process, in MiB."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", text)[1]) / 1024  # type: ignore[index]


def settle(port: int) -> None:
    """Wait until the collector has counted everything."""
    until = time.monotonic() + 300
    while any(plan["uploads_waiting"] for plan in json.loads(api(port, "/v1/plans"))["plans"]):
        if time.monotonic() > until:
            raise AssertionError("the collector did not count what it took within five minutes")
        time.sleep(0.1)


def ratio(bare: int, port: int, make: Callable[[], bytes], asked: argparse.Namespace, size: int) -> list[str]:
    """A row of the table: the bare route and the collector in turns, and the medians of their rates and ratios."""
    pairs = []
    for turn in range(asked.rounds + 1):
        settle(port)
        found = {}
        for side in (bare, port) if turn % 2 else (port, bare):
            found[side] = load(side, make, asked.seconds)
            settle(port)
        pairs.append((found[bare], found[port]))
    for _, one in pairs:
        if set(one["statuses"]) != {201}:
            raise AssertionError(f"not every upload was stored: {one['statuses']}")
    theirs, ours = ([pair[side] for pair in pairs[1:]] for side in (0, 1))
    shares = sorted(own["rate"] / other["rate"] for other, own in zip(theirs, ours, strict=True))
    rate = statistics.median(one["rate"] for one in ours)
    middle, late = (statistics.median(one[name] for one in ours) for name in ("median", "p99"))
    return [
        f"{statistics.median(one['rate'] for one in theirs):,.0f}",
        f"{rate:,.0f}",
        f"{rate * size / 1e6:.1f}",
        f"{statistics.median(shares):.2f} ({shares[0]:.2f} to {shares[-1]:.2f})",
        f"{middle:.0f}, {late:.0f} and {max(one['slowest'] for one in ours):.0f} ms",
    ]


def watch_memory(plan: ldp.Plan, bodies: list[bytes], reports: int, folder: str) -> list[str]:
    """A table of the memory of a new collector, while batches of 1,000 come in until there are so many reports.

    It is a new process: one that has answered analysts holds memory that could hide what uploads take.
    """
    with serving("-m", "localdp", "serve", "--db", str(Path(folder, "memory.db")), "--port", "0", *LIMITS) as (
        port,
        pid,
    ):
        api(port, "/v1/plans", {"plan": json.loads(plan.to_json())})
        make, sent, seen = request(plan.fingerprint, bodies), 0, [(0, memory(pid))]
        while sent < reports:
            sent += 1000 * sum(load(port, make, 1.0, 16)["statuses"].values())
            seen.append((sent, memory(pid)))
    step = max(1, len(seen) // 8)
    rows = [f"| {number:,} | {size:.0f} MiB |" for number, size in (*seen[:-1:step], seen[-1])]
    return ["| reports sent to a new collector | its memory |", "|---|---|", *rows]


def estimates_under_load(
    port: int, fingerprint: str, make: Callable[[], bytes], seconds: float, answers: int
) -> tuple[float, list[float]]:
    """Uploads a second while estimates are asked for again and again, and how long these took, in seconds.

    It goes on until there are so many answers, for three minutes at most.
    """
    took: list[float] = []
    rates: list[float] = []
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            took.append(seconds_of(port, f"/v1/plans/{fingerprint}/estimates?format=arrow"))

    asking = threading.Thread(target=ask)
    asking.start()
    until = time.monotonic() + 180
    while len(took) < answers and time.monotonic() < until:
        rates.append(load(port, make, seconds)["rate"])
    stop.set()
    asking.join()
    return statistics.median(rates), took


def report(asked: argparse.Namespace) -> str:
    """The figures as Markdown."""
    busy, processors, rounds = os.getloadavg()[0], os.cpu_count(), asked.rounds
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        db = asked.db or str(Path(folder, "load.db"))
        with (
            serving("-c", BARE) as (bare, _),
            serving("-m", "localdp", "serve", "--db", db, "--port", "0", *LIMITS) as (port, _),
        ):
            plan, asked_about = (ldp.Plan(41_270, "llh", epsilon) for epsilon in (2.0, 2.25))
            for one in (plan, asked_about):
                api(port, "/v1/plans", {"plan": json.loads(one.to_json())})
            ones, many = uploads(plan)
            send_one, send_many = request(plan.fingerprint, ones), request(plan.fingerprint, many)
            columns = "upload, bare route a second, collector a second, MB a second, share of the bare route, latency"
            lines = [
                f"{processors} processors, a load of {busy:.1f} before the start; medians of {rounds} turns.",
                "",
                f"| {columns.replace(', ', ' | ')} (median, 99%, slowest of all) |",
                "|---|---|---|---|---|---|",
                "| " + " | ".join(["one report", *ratio(bare, port, send_one, asked, len(ones[0]))]) + " |",
                "| " + " | ".join(["1,000 reports", *ratio(bare, port, send_many, asked, len(many[0]))]) + " |",
                "",
            ]
            if asked.quick:
                return "\n".join(lines)
            # To a plan of its own, where no report is sent twice: copies would look like more noise than there can be,
            # and the prior would take ten times as long to fit.
            singles, batches = uploads(asked_about)
            load(port, request(asked_about.fingerprint, batches[:200]), 0.1, 8)
            send = request(asked_about.fingerprint, singles[200_000:])
            settle(port)
            rate, took = estimates_under_load(port, asked_about.fingerprint, send, asked.seconds, 10)
            answers = f"{len(took)} answers, median {statistics.median(took):.1f} s, slowest {max(took):.1f} s"
            load_meanwhile = f"while {rate:,.0f} uploads a second came in"
            lines += [f"Estimates of 41,270 items (Arrow, fitted anew each time) {load_meanwhile}: {answers}.", ""]
            load(port, send, 0.1, 8)
            settle(port)
            first, again = (
                seconds_of(port, f"/v1/plans/{asked_about.fingerprint}/estimates?format=arrow") for _ in "12"
            )
            lines += [f"Without load: {first:.1f} s, and {again:.2f} s when nothing was added since.", ""]
        lines += watch_memory(plan, many, asked.reports, folder)
    return "\n".join(lines)


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each turn")
    parser.add_argument(
        "--rounds", type=int, default=11, help="turns of both routes, after a first one that is left out"
    )
    parser.add_argument("--reports", type=int, default=5_000_000, help="how many to send while memory is watched")
    parser.add_argument("--quick", action="store_true", help="skip the memory and the estimates")
    parser.add_argument("--db", help="another database than a new file of SQLite")
    parser.add_argument("--folder", help="where that file is made; on the disk that is to be measured")
    parser.add_argument("--write", action="store_true", help=f"write the figures into {PAGE.name}")
    asked = parser.parse_args()
    figures = report(asked)
    print(figures)
    if asked.write:
        text = PAGE.read_text("utf-8")
        head, tail = text.split(BEGIN)[0], text.split(END)[1]
        PAGE.write_text(f"{head}{BEGIN}\n{figures}\n{END}{tail}", "utf-8")


if __name__ == "__main__":
    main()
