"""Seven attacks on a collector, each bounded: honest senders go on, the memory stays small, other answers are right.

`audits/hostile_requests.py` runs them. A collector with its usual limits runs in a process of its own. Honest devices,
each with an address of its own, send a steady stream of uploads to one plan, and an analyst asks for the estimates of
that plan, first without and then during the attack. The figures are of one run, so the ratios can be trusted where the
times cannot.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import re
import secrets
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

import localdp as ldp
from localdp.collector.collections import Collections, Terms, add_study
from localdp.collector.storage import Database, aggregates, open_database, parts, tokens, uploads
from localdp.collector.storage.collections import find
from localdp.collector.storage.database import NewUpload, Where
from localdp.collector.storage.uploads import key_of
from localdp.collector.studies import StudyTerms
from localdp.collector.tokens import digest_of, new_token
from localdp.discovery.rounds import Round

HONEST = ldp.Plan(["tea", "coffee", "water", "milk"], "oue", 1.0)
DEVICES, EACH = 4, 25.0
"""Honest devices, and the uploads that each of them sends in a second."""
SECONDS = 8.0
"""How long is measured, without and with the attack."""
LEAST_SHARE, MOST_MEMORY, MOST_WAIT = 0.8, 512.0, 2.0
"""What must hold: the share of honest uploads that are acknowledged, MiB, and seconds for an answer."""


def serve(url: str, pipe: Connection, settings: dict[str, Any]) -> None:
    """A collector, in a process of its own; its port goes through the pipe."""
    from localdp.collector.server import bound, run
    from localdp.collector.service import Service
    from localdp.collector.settings import Settings

    listening = bound("127.0.0.1", 0)
    service = Service(Settings(database=url, **settings))
    pipe.send(listening.getsockname()[1])
    run(service, listening)


@dataclass
class Target:
    """The collector that is attacked."""

    port: int
    pid: int
    token: str
    database: Database

    def connect(self, address: str = "127.0.0.1", timeout: float = 60.0) -> http.client.HTTPConnection:
        """A connection from an address of this machine."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout, source_address=(address, 0))

    def ask(self, path: str, address: str = "127.0.0.9") -> tuple[int, bytes]:
        """The answer to an analyst."""
        with closing(self.connect(address)) as connection:
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def memory(self) -> float:
        """The most memory that the process had so far, in MiB."""
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{self.pid}/status").read_text())
        return int(found[1]) / 1024 if found else 0.0


class Honest:
    """Honest devices and an analyst, for some seconds."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.acknowledged = 0
        self.waits: list[float] = []
        self.wrong: list[str] = []
        self._lock = threading.Lock()
        self._end = 0.0

    def run(self, seconds: float) -> float:
        """Send and ask; return the uploads that were acknowledged in a second."""
        before, self._end = self.acknowledged, time.monotonic() + seconds
        work = [threading.Thread(target=self._device, args=(f"127.0.1.{n + 1}",)) for n in range(DEVICES)]
        work.append(threading.Thread(target=self._analyst))
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
        return (self.acknowledged - before) / seconds

    def _device(self, address: str) -> None:
        path, body = f"/v1/plans/{HONEST.fingerprint}/reports", HONEST.privatize(["tea"]).to_bytes()
        with closing(self.target.connect(address)) as connection:
            due = time.monotonic()
            while time.monotonic() < self._end:
                try:
                    connection.request("POST", path, body, {"Upload-Id": secrets.token_hex(16)})
                    answer = connection.getresponse()
                    answer.read()
                    taken = answer.status == 201
                except (OSError, http.client.HTTPException):
                    connection.close()
                    taken = False
                with self._lock:
                    self.acknowledged += taken
                due = max(due + 1 / EACH, time.monotonic() - 1.0)
                time.sleep(max(0.0, due - time.monotonic()))

    def _analyst(self) -> None:
        while time.monotonic() < self._end:
            known, started = self.acknowledged, time.monotonic()
            status, content = self.target.ask(f"/v1/plans/{HONEST.fingerprint}/estimates")
            self.waits.append(time.monotonic() - started)
            found = json.loads(content)
            n, late = found.get("n", 0), found.get("released", {}).get("counted_until")
            if known and (status != 200 or (n < known and late is None)):  # an older answer says that it is one
                self.wrong.append(f"estimates of {n} reports with {status}, where {known} were acknowledged")
            time.sleep(0.25)


Attack = Callable[[Target, threading.Event], str]  # until the event is set; a sentence about the attacker


DOCUMENT = ldp.Plan([f"item number {n:08} of a long list" for n in range(200_000)], "llh", 1.0)
COSTLY = ldp.Plan(100_000, "olh", 1.0)
MANY = ldp.Plan(1_000_000, "llh", 1.0)
FORGED = ldp.Plan(1_000, "llh", 2.0)


def slow_readers(target: Target, stop: threading.Event) -> str:
    """300 connections ask for a long document, and read nothing."""
    request = f"GET /v1/plans/{DOCUMENT.fingerprint}/document HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    with ExitStack() as held:
        for number in range(300):
            connection = socket.create_connection(
                ("127.0.0.1", target.port), timeout=60, source_address=(f"127.0.2.{number % 8 + 1}", 0)
            )
            held.enter_context(connection)
            connection.sendall(request)
        stop.wait()
    return f"300 connections that do not read {len(DOCUMENT.to_json()) / 1e6:.1f} MB"


def stalled_uploads(target: Target, stop: threading.Event) -> str:
    """32 uploads of 8 MiB without their last byte, and one of 30 bytes, again and again."""
    refused = [0]
    whole = bytes(8 << 20)

    def stall(number: int, size: int) -> None:
        head = f"POST /v1/plans/{HONEST.fingerprint}/reports HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n"
        while not stop.is_set():
            with (
                suppress(OSError),
                socket.create_connection(
                    ("127.0.0.1", target.port), timeout=0.5, source_address=(f"127.0.2.{number + 1}", 0)
                ) as connection,
            ):
                connection.sendall(f"{head}Upload-Id: {secrets.token_hex(16)}\r\n\r\n".encode() + whole[: size - 1])
                while not stop.is_set():
                    try:
                        if not connection.recv(1024):
                            break
                        refused[0] += 1
                    except TimeoutError:
                        continue
            stop.wait(0.2)

    threads = [threading.Thread(target=stall, args=(n, 8 << 20 if n < 32 else 30)) for n in range(33)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return f"33 senders that stall; {refused[0]} of their uploads were ended"


def costly_counts(target: Target, stop: threading.Event) -> str:
    """5 uploads of 100,000 reports to a plan of 100,000 items whose reports are compared with every item."""
    rng = np.random.default_rng(1)
    body = COSTLY.privatize_indices(rng.integers(0, 100_000, 100_000)).to_bytes()
    taken = 0
    for number in range(5):
        with closing(target.connect(f"127.0.2.{number + 1}")) as connection:
            path = f"/v1/plans/{COSTLY.fingerprint}/reports"
            connection.request("POST", path, body, {"Upload-Id": secrets.token_hex(16)})
            taken += connection.getresponse().status == 201
    asked = []
    while not stop.is_set():
        status, _ = target.ask(f"/v1/plans/{COSTLY.fingerprint}", "127.0.2.9")
        asked.append(status)
        stop.wait(1.0)
    return f"{taken} uploads of 100,000 reports, each to be compared with 100,000 items"


def slow_questions(target: Target, stop: threading.Event) -> str:
    """Five questions about a million items, with a prior that takes long."""
    statuses: list[int] = []

    def ask(number: int) -> None:
        with suppress(OSError, http.client.HTTPException):
            status, _ = target.ask(f"/v1/plans/{MANY.fingerprint}/estimates?prior=npmle", f"127.0.2.{number + 1}")
            statuses.append(status)

    threads = [threading.Thread(target=ask, args=(n,), daemon=True) for n in range(5)]
    for thread in threads:
        thread.start()
    waits = []
    while not stop.is_set():
        for path in ("/metrics", "/v1/plans", "/v1/discoveries"):
            started = time.monotonic()
            target.ask(path, "127.0.2.9")
            waits.append(time.monotonic() - started)
        stop.wait(0.5)
    return f"5 questions about 1,000,000 items; metrics and lists took {max(waits):.2f} s at most"


def ended_round(target: Target, stop: threading.Event) -> str:
    """The end of a round with 240 MB of reports."""
    with target.database.reading() as session:
        ((name,),) = session.execute("SELECT fingerprint FROM collections WHERE kind = 'discovery'")
    started = time.monotonic()
    with closing(target.connect("127.0.2.1", 300)) as connection:
        headers = {"Authorization": f"Bearer {target.token}"}
        connection.request("POST", f"/v1/discoveries/{name}/advance?round=0", headers=headers)
        status = connection.getresponse().status
    took = time.monotonic() - started
    stop.wait()
    return f"a round with 240 MB of reports ended with {status} after {took:.1f} s"


def filled_storage(target: Target, stop: threading.Event) -> str:
    """One address sends uploads of 100,000 reports as fast as it can, to a plan that takes 20 MiB a day."""
    body = FORGED.privatize_indices(np.arange(100_000) % 1_000).to_bytes()
    size, taken, refused, started = len(body), 0, 0, time.monotonic()
    with closing(target.connect("127.0.2.1")) as connection:
        while not stop.is_set():
            try:
                path = f"/v1/plans/{FORGED.fingerprint}/reports"
                connection.request("POST", path, body, {"Upload-Id": secrets.token_hex(16)})
                answer = connection.getresponse()
                answer.read()
                taken += answer.status == 201
                refused += answer.status in (429, 507)
            except (OSError, http.client.HTTPException):
                connection.close()
    sent = (taken + refused) * size / (time.monotonic() - started) / 1e6
    return f"of {sent:.1f} MB a second {taken * size / 1e6:.1f} MB were stored in all, and {refused} uploads refused"


def forged_upload(target: Target, stop: threading.Event) -> str:
    """100,000 identical reports on top of 21,000 honest ones, which are taken in and back."""
    path = f"/v1/plans/{FORGED.fingerprint}"
    held = np.repeat([0, 1, 2], [15_000, 5_000, 1_000])

    def send(reports: ldp.Reports) -> int:
        with closing(target.connect("127.0.2.1")) as connection:
            connection.request("POST", f"{path}/reports", reports.to_bytes(), {"Upload-Id": secrets.token_hex(16)})
            return connection.getresponse().status

    def shown(query: str = "") -> dict[str, Any]:
        found: dict[str, Any] = json.loads(target.ask(f"{path}/estimates{query}", "127.0.2.2")[1])
        return found

    for some in np.array_split(held, 21):
        send(FORGED.privatize_indices(some))
    before = shown()["items"]["raw"]
    send(ldp.Reports(FORGED, np.repeat(FORGED.privatize_indices([500]).rows, 100_000, axis=0)))
    after = shown()
    with_them = shown("?suspects=in")
    stop.wait()
    same = "unchanged" if after["items"]["raw"] == before else "CHANGED"
    return (
        f"the estimates are {same}; {after['released']['suspect']:,} reports are aside, and with them item 500 would "
        f"have {max(with_them['items']['raw']):,.0f} of {with_them['n']:,} users"
    )


ATTACKS: tuple[tuple[str, Attack], ...] = (
    ("slow readers", slow_readers),
    ("stalled uploads", stalled_uploads),
    ("costly counts", costly_counts),
    ("slow questions", slow_questions),
    ("an ended round", ended_round),
    ("filled storage", filled_storage),
    ("a forged upload", forged_upload),
)


_NEEDED: dict[Attack, tuple[ldp.Plan, ...]] = {
    slow_readers: (DOCUMENT,),
    costly_counts: (COSTLY,),
    slow_questions: (MANY,),
    filled_storage: (FORGED,),
    forged_upload: (FORGED,),
}


def _prepare(database: Database, token: str, attack: Attack) -> None:
    """The plans, and for some attacks what has been stored before."""
    with database.writing() as session:
        tokens.add(session, digest_of(token), "audit", "admin", None, 1)
        for plan in (HONEST, *_NEEDED.get(attack, ())):
            Collections(database).add(session, plan, Terms(minimum=1), 1)
    if attack is slow_questions:
        _prepare_many(database)
    if attack is ended_round:
        _prepare_round(database)


def _prepare_many(database: Database) -> None:
    rng = np.random.default_rng(1)
    counted = MANY.simulate(rng.multinomial(3_000_000, 1 / np.arange(1, 1_000_001) / 14.4), seed=1)
    with database.writing() as session:
        stored = find(session, MANY.fingerprint)
        assert stored is not None
        key = key_of(bytes.fromhex(MANY.fingerprint), bytes(16))
        uploads.import_aggregate(session, key, Where(stored.id), 20_000, counted.n, counted.to_bytes())
        aggregates.add(session, Where(stored.id), 20_000, counted.n, counted.counts)


def _prepare_round(database: Database) -> None:
    asked = ldp.Discovery(bits=32, epsilon=2.0, users=200_000_000, top=20)
    with database.writing() as session:
        add_study(session, asked, StudyTerms(automatic=False), 1)
        stored = find(session, asked.fingerprint)
        assert stored is not None
        (part,) = parts.of(session, stored.id)
        plan = Round.from_json(part.document).plan
        size = plan.mechanism.report_bytes
        rng = np.random.default_rng(1)
        rows = plan.privatize_indices(rng.integers(0, plan.domain.size, (8 << 20) // size)).rows
        for _ in range(30):
            group = [NewUpload(secrets.token_bytes(16), stored.id, part.key, 20_000, len(rows), rows.tobytes())]
            session.insert_uploads(group)


def attacked(name: str, attack: Attack) -> list[str]:
    """Run one attack, print its figures, and return what is wrong."""
    token = new_token()
    with tempfile.TemporaryDirectory() as folder:
        database = open_database(str(Path(folder, "attacked.db")))
        _prepare(database, token, attack)
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        settings = {"day_bytes": 20 << 20} if attack is filled_storage else {}
        process = context.Process(target=serve, args=(str(Path(folder, "attacked.db")), theirs, settings), daemon=True)
        process.start()
        try:
            target = Target(ours.recv(), process.pid or 0, token, database)
            time.sleep(1.0)
            honest = Honest(target)
            honest.run(3.0)  # warm up
            honest.waits.clear()
            usual = honest.run(SECONDS)
            calm, said, stop = max(honest.waits), list[str](), threading.Event()
            attacker = threading.Thread(target=lambda: said.append(attack(target, stop)), daemon=True)
            attacker.start()
            time.sleep(1.0)
            honest.waits.clear()
            during = honest.run(SECONDS)
            stop.set()
            attacker.join(120)
            waits, share, memory = sorted(honest.waits), during / usual, target.memory()
        finally:
            process.kill()
            process.join(30)
            database.close()
    middle = waits[len(waits) // 2]
    print(
        f"{name}: honest uploads {during:.0f} a second, {share:.2f} of those without; memory {memory:.0f} MiB at most; "
        f"answers of another plan {middle:.2f} s (median), {waits[-1]:.2f} s (slowest; {calm:.2f} s without). "
        f"{said[0] if said else 'The attacker did not end'}",
        flush=True,
    )
    wrong = [f"{name}: {one}" for one in honest.wrong[:3]]
    if share < LEAST_SHARE:
        wrong.append(f"{name}: only {share:.2f} of the honest uploads were acknowledged")
    if memory > MOST_MEMORY:
        wrong.append(f"{name}: the collector took {memory:.0f} MiB")
    if middle > MOST_WAIT:
        wrong.append(f"{name}: answers took {middle:.1f} s")
    return wrong
