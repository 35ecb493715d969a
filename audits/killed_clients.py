"""Kill a client (kill -9) after any line it executes: what its store says it has spent is never less than it released.

python audits/killed_clients.py               after every line, in a new store and in one that was hit before
python audits/killed_clients.py --runs 200    after 200 lines, spread evenly
python audits/killed_clients.py --study       the same for a device in a study, which answers once

A child process opens a store, reports three values and one of them twice, and sends a report. In a study it is asked
three times, each time with another value, and must give one answer. It is killed after a given number of lines of the
client. Files are written 16 bytes at a time, so that it is also killed in the middle of a
file. What it had released by then comes through a pipe. Then the store is opened again, as after a restart.

A process that is killed loses nothing that the operating system has taken. That files also survive a power cut rests on
`fsync`, which the client calls before it renames a file; this program cannot show it.
"""

from __future__ import annotations

import argparse
import os
import signal
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import localdp as ldp
from localdp import client as package
from localdp.discovery.rounds import Round
from localdp.formats import atomic_write
from localdp.studies.places import PLACES, Span

PLAN = ldp.Plan(["tea", "coffee", "water"], "grr", 1.0)
VALUES = ("tea", "coffee", "tea", "water")
SENT = "upload"
STUDY = ldp.Discovery(bits=12, epsilon=2.0, users=10_000)
PART = Round.make(STUDY.fingerprint, 0, STUDY.round.candidates, 2.0, Span(0, PLACES)).to_json()
"""The first round, which asks everybody here."""
TRACED = (str(Path(package.__file__).parent), atomic_write.__file__)

Release = Callable[[str, bytes], None]
Released = list[tuple[str, bytes]]
Use = Callable[[Path, Release], None]


def use(store: Path, release: Release) -> None:
    """What the client does until it is killed; everything that leaves the device is released first."""
    client = ldp.Client(PLAN, store=store, upload=lambda body, name: release(SENT, name + body))
    for value in VALUES:
        release(value, client.report(value))
    client.send("tea")


def use_in_study(store: Path, release: Release) -> None:
    """The same in a study: the device is asked with one value after the other."""
    client = ldp.Client(STUDY, store=store, upload=lambda body, name: release(SENT, name + body))
    for value in (77, 78):
        release("report", client.report(value, PART) or b"")
    client.send(79, PART)


def killed_after(use: Use, store: Path, lines: int | None) -> tuple[Released, int]:
    """What a client releases that is killed after so many lines (or lives, if None), and how many it executed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        executed = _child(use, store, lines, writing)
        _send(writing, "lines", executed.to_bytes(8, "little"))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        released = _received(pipe.read())
    _, status = os.waitpid(child, 0)
    if lines is not None and not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
        raise AssertionError(f"the client was not killed after {lines} lines, but ended with status {status}")
    executed = int.from_bytes(released.pop()[1], "little") if lines is None else lines
    return released, executed


def _child(use: Use, store: Path, lines: int | None, writing: int) -> int:
    """Use the client, and kill this process after the given number of lines of its code."""
    executed, write = 0, os.write

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal executed
        if event == "call":
            return trace if frame.f_code.co_filename.startswith(TRACED) else None
        executed += event == "line"
        if executed == lines:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    os.write = lambda handle, data: write(handle, data[:16])  # type: ignore[assignment]
    try:
        sys.settrace(trace)
        use(store, lambda what, data: _send(writing, what, data, write))
    finally:
        sys.settrace(None)
        os.write = write
    return executed


def _send(writing: int, what: str, data: bytes, write: Callable[[int, bytes], int] = os.write) -> None:
    content = what.encode().ljust(8) + data
    write(writing, struct.pack("<I", len(content)) + content)  # at once: less than a pipe takes in one piece


def _received(data: bytes) -> Released:
    released = []
    while data:
        (length,) = struct.unpack_from("<I", data)
        content, data = data[4 : 4 + length], data[4 + length :]
        released.append((content[:8].decode().strip(), content[8:]))
    return released


def check(store: Path, released: Released) -> None:
    """Open the store as after a restart. Raise an `AssertionError` if it knows of less than was released."""
    again: Released = []
    client = ldp.Client(PLAN, store=store, upload=lambda body, name: again.append((SENT, name + body)))
    reports = {(what, data) for what, data in released if what != SENT}
    uploads = {data[:16]: data[16:] for what, data in released if what == SENT}
    known = {value for value, _ in reports} | ({"tea"} if uploads else set())
    if client.spent < len(known) * PLAN.mechanism.epsilon:
        raise AssertionError(f"the store knows of {client.spent:g}, and {len(known)} values were released")
    for value, report in reports:
        if client.report(value) != report:
            raise AssertionError(f"another permanent response for {value} after a restart")
    client.flush(wait=10)
    for _, data in again:
        if uploads.get(data[:16], data[16:]) != data[16:]:
            raise AssertionError("an upload id was used for two different bodies")
    if client.waiting:
        raise AssertionError("a report was left in the outbox")


def check_in_study(store: Path, released: Released) -> None:
    """The same for a device in a study: whatever it was asked with, it has given one answer, and gives no other."""
    again: Released = []
    client = ldp.Client(STUDY, store=store, upload=lambda body, name: again.append((SENT, name + body)))
    spent = client.spent
    again.append(("report", client.report(4_000, PART) or b""))
    client.send(4_001, PART)
    client.flush(wait=10)
    everything = released + again
    answers = {data[16:] if what == SENT else data for what, data in everything}
    if len(answers) != 1:
        raise AssertionError(f"a device gave {len(answers)} different answers in one study")
    if len({data[:16] for what, data in everything if what == SENT}) > 1:
        raise AssertionError("one answer was sent under two upload ids")
    if released and spent != STUDY.epsilon:
        raise AssertionError(f"the store knows of {spent:g}, and an answer was released")
    if client.waiting:
        raise AssertionError("a report was left in the outbox")


def kill(runs: int | None, use: Use = use, check: Callable[[Path, Released], None] = check) -> str:
    """Kill clients after this many lines, spread evenly, or after every line; return a sentence about it.

    Half of them have a new store each, the other half share one, which is hit again and again.
    """
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        collected: Released = []
        alive, shared = Path(folder, "alive"), Path(folder, "shared")
        _, executed = killed_after(use, alive, None)
        _, least = killed_after(use, alive, None)  # a client that finds everything paid for executes fewer lines
        runs = runs or 2 * executed
        for run in range(0, runs, 2):
            lines = 1 + run * executed // runs
            alone = Path(folder, str(run))
            check(alone, killed_after(use, alone, lines)[0])
            collected += killed_after(use, shared, min(lines, least))[0]
            check(shared, collected)
    took = time.perf_counter() - started
    return f"{runs} kills of a client that executes {executed} lines, in {took:.0f} s: no store lost spending"


def main() -> None:
    """Kill clients after the lines that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, help="how many kills (twice for every line, unless given)")
    parser.add_argument("--study", action="store_true", help="kill devices that answer in a study")
    given = parser.parse_args()
    print(kill(given.runs, use_in_study, check_in_study) if given.study else kill(given.runs))


if __name__ == "__main__":
    main()
